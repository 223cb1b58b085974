import { afterAll, beforeAll } from 'vitest';
import { openStateStore } from '../../src/state/open-state-store.ts';
import { startTestPostgres, type TestPostgres } from '../state/test-postgres.ts';
import { inboxSuite } from './inbox-suite.ts';
import { replicasSuite } from './replicas-suite.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(() => postgres.stop());

const backend = { name: 'PostgreSQL', fresh: () => postgres.address(), open: openStateStore };
inboxSuite(backend);
replicasSuite(backend);
