import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStateStore } from '../../src/state/open-state-store.ts';
import type { OpenOptions } from '../../src/state/store.ts';
import { inboxStoreContract } from '../contracts/inbox-store-contract.ts';
import { stateStoreContract } from '../contracts/state-store-contract.ts';
import { until } from '../inbox/harness.ts';
import { startTestPostgres, type TestPostgres } from './test-postgres.ts';

const connectionOf = (url: URL): { connectionString: string } => {
  const plain = new URL(url);
  plain.search = '';
  return { connectionString: plain.toString() };
};

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

  test('connections cut by the server, idle and at work, are an error of the call and replaced by the next', async () => {
    const url = new URL(postgres.address());
    // The in-process server has one backend for all and cannot end it.
    if (postgres.kind === 'in-process') return expect(url.hostname).toBe('127.0.0.1');
    const name = `cut-${process.pid}`;
    url.searchParams.set('application_name', name);
    const store = await openStateStore(url.toString());
    await store.set('a/1', 'before');
    const other = new pg.Client(connectionOf(url));
    await other.connect();
    const calls = Array.from({ length: 200 }, (_unused, index) =>
      store.set(`b/${index}`, index).catch((error: unknown) => error),
    );
    await other.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [name]);
    const failed = (await Promise.all(calls)).filter((result) => result !== undefined);
    for (const error of failed) expect(error).toMatchObject({ code: 'store-unavailable' });
    expect((await store.get('a/1'))?.value).toBe('before');
    await other.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [name]);
    await other.end();
    await until(() =>
      store.ping().then(
        () => true,
        () => false,
      ),
    );
    await store.close();
  });

  test('a message that another replica finishes while its conversation is taken over is not handed out again', async () => {
    const url = new URL(postgres.address());
    // The in-process server has one backend for all: nobody can wait there for somebody else's transaction.
    if (postgres.kind === 'in-process') return expect(url.hostname).toBe('127.0.0.1');
    const schema = url.searchParams.get('schema');
    const name = `taker-${process.pid}`;
    url.searchParams.set('application_name', name);
    const store = await openStateStore(url.toString());
    const { inbox } = store;
    const now = inbox.now();
    const lease = (claimId: string, at: number) => ({ owner: claimId, claimId, now: at, until: at + 10 });
    const entry = { messageId: 'm', conversationId: 'c', userId: 'u', payload: '{}', acceptedAt: now };
    await inbox.accept([entry], lease('old', now));
    const [replica, watcher] = [new pg.Client(connectionOf(url)), new pg.Client(connectionOf(url))];
    await Promise.all([replica.connect(), watcher.connect()]);
    await replica.query('begin');
    await replica.query(`update ${schema}.inbox set payload = null, outcome = 'answered' where message_id = 'm'`);
    let taken = false;
    const taking = inbox.takeOver(lease('new', now + 1_000), 10).finally(() => {
      taken = true;
    });
    const waits = "select 1 from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'";
    await until(async () => taken || (await watcher.query(waits, [name])).rows.length > 0, 'the other transaction');
    await replica.query('commit');
    expect(await taking).toEqual([]);
    await Promise.all([replica.end(), watcher.end(), store.close()]);
  });

  test('a schema name that is no name is refused', async () => {
    const bad = openStateStore('postgres://127.0.0.1/x?schema=a;drop');
    await expect(bad).rejects.toMatchObject({ code: 'invalid-config' });
  });
});
