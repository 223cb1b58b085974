import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openStateStore } from '../../src/state/open-state-store.ts';
import { inboxSuite } from './inbox-suite.ts';
import { replicasSuite } from './replicas-suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'gpu-size-inbox-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const fresh = (): string => {
  count += 1;
  return `sqlite:${join(folder, `${count}.db`)}`;
};

inboxSuite({ name: 'SQLite', fresh, open: openStateStore });
replicasSuite({ name: 'SQLite', fresh, open: openStateStore });
