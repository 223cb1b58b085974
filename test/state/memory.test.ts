import { expect, test } from 'vitest';
import { createMemoryStateStore } from '../../src/state/memory.ts';
import { openStateStore } from '../../src/state/open-state-store.ts';
import type { OpenOptions } from '../../src/state/store.ts';
import { inboxStoreContract } from '../contracts/inbox-store-contract.ts';
import { stateStoreContract } from '../contracts/state-store-contract.ts';

const underTest = { name: 'memory', open: (options: OpenOptions) => openStateStore('memory:', options) };
stateStoreContract(underTest);
inboxStoreContract(underTest);

test('memory holds a bounded number of entries: the least recently written go first', async () => {
  const store = createMemoryStateStore(() => 0, 3);
  for (const key of ['a', 'b', 'c']) await store.set(key, key);
  await store.set('a', 'again');
  await store.set('d', 'd');
  expect((await store.list('', 10)).map(({ key }) => key)).toEqual(['d', 'a', 'c']);
});
