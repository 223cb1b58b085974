import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStateStore } from '../../src/state/open-state-store.ts';
import type { OpenOptions } from '../../src/state/store.ts';
import { inboxStoreContract } from '../contracts/inbox-store-contract.ts';
import { stateStoreContract } from '../contracts/state-store-contract.ts';
import { startTestPostgres, type TestPostgres } from './test-postgres.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(() => postgres.stop());

const underTest = {
  name: 'PostgreSQL',
  open: (options: OpenOptions) => openStateStore(postgres.address(), options),
};
stateStoreContract(underTest);
inboxStoreContract(underTest);

describe('PostgreSQL', () => {
  test('an address that is not served is one clear error without the password', async () => {
    const opened = openStateStore('postgres://bot:pa55word@127.0.0.1:9/none');
    await expect(opened).rejects.toMatchObject({ code: 'store-unavailable' });
    await expect(opened).rejects.toThrow(/PostgreSQL at 127\.0\.0\.1:9: the database server cannot be reached/);
    await expect(opened).rejects.not.toThrow(/pa55word/);
  });

  test('several replicas may upgrade an empty database at once', async () => {
    const address = postgres.address();
    const stores = await Promise.all(Array.from({ length: 4 }, () => openStateStore(address)));
    await stores[0]?.set('a/1', 'written by the first');
    expect((await stores[3]?.get('a/1'))?.value).toBe('written by the first');
    await Promise.all(stores.map((store) => store.close()));
  });

  test('a schema name that is no name is refused', async () => {
    const bad = openStateStore('postgres://127.0.0.1/x?schema=a;drop');
    await expect(bad).rejects.toMatchObject({ code: 'invalid-config' });
  });
});
