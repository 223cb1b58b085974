import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, describe, expect, test } from 'vitest';
import { openStateStore } from '../../src/state/open-state-store.ts';
import { createOwner } from '../../src/state/owner.ts';
import type { OpenOptions } from '../../src/state/store.ts';
import { inboxStoreContract } from '../contracts/inbox-store-contract.ts';
import { stateStoreContract } from '../contracts/state-store-contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'gpu-size-sqlite-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const fresh = (): string => {
  count += 1;
  return join(folder, `${count}.db`);
};

const underTest = {
  name: 'SQLite',
  open: (options: OpenOptions) => openStateStore(`sqlite:${fresh()}`, options),
};
stateStoreContract(underTest);
inboxStoreContract(underTest);

describe('SQLite', () => {
  test('what was written is there after a restart; missing folders are made', async () => {
    const address = `sqlite:${join(folder, 'deep', 'er', 'state.db')}`;
    const first = await openStateStore(address);
    await first.set('dialog/1', { slots: {} });
    await first.close();
    const second = await openStateStore(address);
    expect((await second.get('dialog/1'))?.value).toEqual({ slots: {} });
    await second.close();
  });

  test('a file that is no database, a folder in its place and an impossible path are clear errors', async () => {
    const garbage = fresh();
    writeFileSync(garbage, 'not a database at all '.repeat(500));
    await expect(openStateStore(`sqlite:${garbage}`)).rejects.toThrow(/damaged or is no SQLite file/);
    await expect(openStateStore(`sqlite:${folder}`)).rejects.toThrow(/cannot be opened; check the path/);
    await expect(openStateStore('sqlite:/proc/none/state.db')).rejects.toMatchObject({ code: 'store-unavailable' });
    await expect(openStateStore(`sqlite:${garbage}/below.db`)).rejects.toMatchObject({ code: 'store-unavailable' });
    await expect(openStateStore('sqlite:')).rejects.toMatchObject({ code: 'invalid-config' });
    await expect(openStateStore('mysql://x')).rejects.toThrow(/DATABASE_URL must be/);
  });

  test('a database damaged in the middle is an error of the operation, not the end of the process', async () => {
    const path = fresh();
    const store = await openStateStore(`sqlite:${path}`);
    for (let index = 0; index < 500; index += 1) await store.set(`k/${index}`, 'x'.repeat(500));
    await store.close();
    const size = statSync(path).size;
    const raw = new Database(path);
    raw.close();
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(size - 8_192, 0xff), 0, size - 8_192, 8_192);
    closeSync(file);
    const attempt = async (): Promise<void> => {
      const damaged = await openStateStore(`sqlite:${path}`);
      await damaged.list('k/', 1_000).finally(() => damaged.close());
    };
    await expect(attempt()).rejects.toMatchObject({ code: 'store-unavailable' });
  });

  test('claims of a process of this machine that ended are dropped at the next start, those of live ones are kept', async () => {
    const path = fresh();
    const first = await openStateStore(`sqlite:${path}`);
    const entry = (messageId: string) => ({
      messageId,
      conversationId: `conversation of ${messageId}`,
      userId: 'u',
      payload: '{}',
      acceptedAt: 0,
    });
    const until = Date.now() + 60_000;
    const dead = createOwner()
      .replace(`:${process.pid}:`, ':999999999:')
      .replace(/:[^:]+:([^:]+)$/, ':otherrun:$1');
    const lease = (owner: string) => ({ owner, claimId: owner, now: Date.now(), until });
    await first.inbox.accept([entry('mine')], lease(createOwner()));
    await first.inbox.accept([entry('left')], lease(dead));
    const second = await openStateStore(`sqlite:${path}`);
    const taken = await second.inbox.takeOver(lease('second'), 10);
    expect(taken.map((one) => one.entry.messageId)).toEqual(['left']);
    await first.close();
    await second.close();
  });

  test('a write-protected file is named as such', async () => {
    const path = fresh();
    await (await openStateStore(`sqlite:${path}`)).close();
    chmodSync(path, 0o444);
    const opened = openStateStore(`sqlite:${path}`).then(async (store) => {
      await store.set('a/b', 1).finally(() => store.close());
    });
    // The superuser may write anywhere.
    if (process.getuid?.() === 0) await expect(opened).resolves.toBeUndefined();
    else await expect(opened).rejects.toThrow(/cannot be written; check owner and mode/);
  });

  test('leaves everything in the one file after a clean end', async () => {
    const [path, copy] = [fresh(), fresh()];
    const store = await openStateStore(`sqlite:${path}`);
    await store.set('a/b', 1);
    await store.close();
    copyFileSync(path, copy);
    const copied = await openStateStore(`sqlite:${copy}`);
    expect((await copied.get('a/b'))?.value).toBe(1);
    await copied.close();
  });
});
