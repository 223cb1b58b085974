import { describe, expect, test } from 'vitest';
import type { Inbox } from '../../src/inbox/inbox-options.ts';
import type { InboxStore } from '../../src/state/inbox-store.ts';
import { accepted, inboxOn, Platform, replyOf, until } from './harness.ts';
import type { Backend } from './inbox-suite.ts';

/** A store that stops answering, as after `kill -9`: what was written stays, nothing more comes. */
function killable(store: InboxStore): { store: InboxStore; kill: () => void } {
  let dead = false;
  const never = new Promise<never>(() => undefined);
  const alive =
    <A extends unknown[], T>(method: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> =>
      dead ? never : method(...args).then((result) => (dead ? never : result));
  return {
    kill: () => {
      dead = true;
    },
    store: {
      now: store.now,
      owner: store.owner,
      accept: alive(store.accept),
      advance: alive(store.advance),
      takeOver: alive(store.takeOver),
      renew: alive(store.renew),
      release: alive(store.release),
      beginHandling: alive(store.beginHandling),
      endHandling: alive(store.endHandling),
      countWaiting: alive(store.countWaiting),
    },
  };
}

/** Several processes on one backend. */
export function replicasSuite({ name, fresh, open }: Backend): void {
  describe(`replicas on ${name}`, () => {
    test('three of them answer each message once and in order, with redeliveries to all', async () => {
      const address = fresh();
      const platform = new Platform();
      const stores = await Promise.all([open(address), open(address), open(address)]);
      const inboxes: Inbox[] = stores.map((store) => inboxOn(store.inbox, platform).inbox);
      for (const inbox of inboxes) await inbox.start();
      const threads = Array.from({ length: 20 }, (_u, index) => `t${index}`);
      for (let turn = 0; turn < 6; turn += 1) {
        await Promise.all(
          threads.map(async (thread, index) => {
            const [first = 0, second = 1] = [(turn + index) % 3, (turn + index + 1) % 3];
            const outcomes = await Promise.all([
              inboxes[first]?.accept(accepted(`${turn}`, thread)),
              inboxes[second]?.accept(accepted(`${turn}`, thread)),
            ]);
            expect(outcomes.sort()).toEqual(['accepted', 'duplicate']);
          }),
        );
      }
      await until(() => platform.sent.length >= threads.length * 6, 'all answers');
      const expected = ['0', '1', '2', '3', '4', '5'].map((turn) => `re: ${turn}`);
      for (const thread of threads) expect(platform.texts(thread)).toEqual(expected);
      for (const inbox of inboxes) await inbox.stop();
      for (const store of stores) await store.close();
    });

    test('what a killed process left is answered by another, once, and marked as a possible repetition', async () => {
      const address = fresh();
      const [first, second] = await Promise.all([open(address), open(address)]);
      const platform = new Platform();
      const process = killable(first.inbox);
      let killed = false;
      const doomed = inboxOn(process.store, platform, {
        limits: { leaseMs: 300 },
        handle: async ({ text }) => {
          if (text === 'fatal') {
            process.kill();
            killed = true;
          }
          return replyOf(text);
        },
        deliver: (outgoing) =>
          outgoing.message.text === 'fatal' ? new Promise(() => undefined) : platform.deliver(outgoing),
      });
      await doomed.inbox.accept(accepted('fine'));
      await until(() => platform.sent.length === 1);
      await doomed.inbox.accept(accepted('fatal'));
      await until(() => killed);
      void doomed.inbox.accept(accepted('lost with the process'));
      const heir = inboxOn(second.inbox, platform, { limits: { leaseMs: 300 } });
      await heir.inbox.start();
      await heir.inbox.accept(accepted('after'));
      await until(() => platform.sent.length >= 3, 'the answers of the other process');
      expect(platform.texts()).toEqual(['fine', 're: fatal', 're: after']);
      expect(platform.sent.map(({ delivery }) => delivery.repeated)).toEqual([false, true, false]);
      expect(platform.sent[1]?.delivery.key).not.toBe(platform.sent[2]?.delivery.key);
      await heir.inbox.stop();
      await Promise.all([first.close(), second.close()]);
    });

    test('a message that ends its process again and again is given up with an apology', async () => {
      const address = fresh();
      const platform = new Platform();
      const keeper = await open(address);
      for (let crash = 0; crash < 6; crash += 1) {
        const process = killable(keeper.inbox);
        const { inbox } = inboxOn(process.store, platform, {
          limits: { leaseMs: 30 },
          handle: () => {
            process.kill();
            return new Promise(() => undefined);
          },
        });
        let calls = 0;
        const counting = async (): Promise<boolean> => {
          calls += 1;
          return calls > 20;
        };
        if (crash === 0) await inbox.accept(accepted('deadly'));
        else await inbox.start();
        await until(counting);
      }
      const last = inboxOn(keeper.inbox, platform, { limits: { leaseMs: 30 } });
      await last.inbox.start();
      await until(() => platform.sent.length === 1, 'the apology');
      expect(platform.texts()).toEqual(['sorry: internal']);
      await last.inbox.stop();
      await keeper.close();
    });

    test('a message whose delivery is interrupted again and again is answered all the same', async () => {
      const address = fresh();
      const platform = new Platform();
      const keeper = await open(address);
      for (let crash = 0; crash < 8; crash += 1) {
        const process = killable(keeper.inbox);
        let delivering = false;
        const { inbox } = inboxOn(process.store, platform, {
          limits: { leaseMs: 30 },
          deliver: () => {
            delivering = true;
            process.kill();
            return new Promise(() => undefined);
          },
        });
        if (crash === 0) await inbox.accept(accepted('patient'));
        else await inbox.start();
        await until(() => delivering, `delivery ${crash}`);
      }
      const last = inboxOn(keeper.inbox, platform, { limits: { leaseMs: 30 } });
      await last.inbox.start();
      await until(() => platform.sent.length === 1, 'the answer');
      expect(platform.texts()).toEqual(['re: patient']);
      await last.inbox.stop();
      await keeper.close();
    });

    test('a process that was asleep longer than its lease does not answer what others took', async () => {
      const address = fresh();
      const platform = new Platform();
      const [first, second] = await Promise.all([open(address), open(address)]);
      let wake = (): void => undefined;
      const asleep = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const sleeper = inboxOn(first.inbox, platform, {
        limits: { leaseMs: 50 },
        handle: async ({ text }) => {
          await asleep;
          return replyOf(`${text}, late`);
        },
      });
      await sleeper.inbox.accept(accepted('question'));
      const other = inboxOn(second.inbox, platform, { limits: { leaseMs: 60_000 } });
      await other.inbox.start();
      await until(() => platform.sent.length === 1, 'the other process');
      wake();
      await sleeper.inbox.stop();
      expect(platform.texts()).toEqual(['re: question']);
      await other.inbox.stop();
      await Promise.all([first.close(), second.close()]);
    });
  });
}
