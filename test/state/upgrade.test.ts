import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, describe, expect, test } from 'vitest';
import { openStateStore } from '../../src/state/open-state-store.ts';

// Files as each version of the tables left them; the first is described by test/fixtures/state/make.mjs.
const fixtures = join(import.meta.dirname, '..', 'fixtures', 'state');
const folder = mkdtempSync(join(tmpdir(), 'gpu-size-upgrade-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('files of earlier versions', () => {
  test.each(readdirSync(fixtures).filter((name) => name.endsWith('.db')))(
    '%s is upgraded and keeps its content',
    async (name) => {
      const path = join(folder, name);
      copyFileSync(join(fixtures, name), path);
      const store = await openStateStore(`sqlite:${path}`);
      expect((await store.get('dialog/console:T:C:one'))?.value).toEqual({ schema: 1, slots: { model: 'segformer' } });
      const entry = { messageId: 'm', conversationId: 'c', userId: 'u', payload: '{}', acceptedAt: 1 };
      const lease = { owner: store.inbox.owner, claimId: 'x', now: 1, until: 2 };
      expect(await store.inbox.accept([entry], lease)).toEqual(['claimed']);
      await store.close();
      const again = await openStateStore(`sqlite:${path}`);
      expect(await again.inbox.countWaiting()).toBe(1);
      await again.close();
    },
  );

  test('a file of a newer version is refused with a sentence that says so', async () => {
    const path = join(folder, 'newer.db');
    await (await openStateStore(`sqlite:${path}`)).close();
    const raw = new Database(path);
    raw.exec("insert into kysely_migration (name, timestamp) values ('9999-from-the-future', '2030-01-01')");
    raw.close();
    await expect(openStateStore(`sqlite:${path}`)).rejects.toThrow(/newer version of gpu-size/);
  });

  test('an upgrade that was cut short is finished at the next start', async () => {
    const path = join(folder, 'cut.db');
    await (await openStateStore(`sqlite:${path}`)).close();
    const raw = new Database(path);
    raw.exec("delete from kysely_migration where name = '0002-inbox'; drop table claim;");
    raw.close();
    const store = await openStateStore(`sqlite:${path}`);
    expect(await store.inbox.countWaiting()).toBe(0);
    await store.close();
  });
});
