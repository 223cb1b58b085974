import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/inbox-options.ts';
import type { Store } from '../../src/state/store.ts';
import { accepted, inboxOn, Platform, pause, replyOf, type Started, until } from './harness.ts';

export interface Backend {
  readonly name: string;
  /** An address with nothing in it. */
  readonly fresh: () => string;
  /** Opens the same data again, as another process would. */
  readonly open: (address: string) => Promise<Store>;
}

/** What people at the platform can rely on, on every backend. */
export function inboxSuite({ name, fresh, open }: Backend): void {
  describe(`the inbox on ${name}`, () => {
    let store: Store;
    let platform: Platform;
    const inboxes: Inbox[] = [];
    const start = async (changes: Parameters<typeof inboxOn>[2] = {}): Promise<Started> => {
      const started = inboxOn(store.inbox, platform, changes);
      inboxes.push(started.inbox);
      await started.inbox.start();
      return started;
    };
    beforeEach(async () => {
      store = await open(fresh());
      platform = new Platform();
    });
    afterEach(async () => {
      for (const inbox of inboxes.splice(0)) await inbox.stop();
      await store.close();
    });

    test('answers once, and a redelivery not again', async () => {
      const { inbox, metrics } = await start();
      expect(await inbox.accept(accepted('hello'))).toBe('accepted');
      expect(await inbox.accept(accepted('hello'))).toBe('duplicate');
      await until(() => platform.sent.length > 0);
      await until(() => inbox.waiting() === 0);
      expect(await inbox.accept(accepted('hello'))).toBe('duplicate');
      expect(platform.texts()).toEqual(['re: hello']);
      expect(platform.sent[0]?.delivery).toMatchObject({ repeated: false });
      const text = await metrics.text();
      expect(text).toContain('gpu_size_messages_total{adapter="console"} 1');
      expect(text).toContain('gpu_size_duplicates_total{adapter="console"} 2');
      expect(text).toContain('gpu_size_answers_total{adapter="console",kind="answer"} 1');
    });

    test('keeps order within a conversation while others overtake a slow one', async () => {
      let letGo = (): void => undefined;
      const slow = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      const { inbox } = await start({
        handle: async ({ text }) => {
          if (text === 'slow') await slow;
          return replyOf(text);
        },
      });
      await inbox.accept(accepted('slow', 'one'));
      for (const text of ['2', '3', '4']) await inbox.accept(accepted(text, 'one'));
      for (const text of ['a', 'b']) await inbox.accept(accepted(text, 'two'));
      await until(() => platform.texts('two').length === 2, 'the other conversation');
      expect(platform.texts('one')).toEqual([]);
      letGo();
      await until(() => platform.texts('one').length === 4);
      expect(platform.texts('one')).toEqual(['slow', '2', '3', '4']);
      expect(platform.texts('two')).toEqual(['a', 'b']);
    });

    test('any mix of conversations, redeliveries and delays: each answered once, in order', async () => {
      const { inbox } = await start({
        handle: async ({ text }) => {
          if (text.endsWith('3')) await pause();
          return replyOf(text);
        },
      });
      const steps = fc.array(fc.record({ thread: fc.integer({ min: 0, max: 4 }), again: fc.boolean() }), {
        maxLength: 30,
      });
      let round = 0;
      await fc.assert(
        fc.asyncProperty(steps, async (script) => {
          round += 1;
          const expected = new Map<string, string[]>();
          await Promise.all(
            script.flatMap(({ thread, again }, index) => {
              const id = `${round}-${thread}`;
              const text = `${id}-${index}`;
              expected.set(id, [...(expected.get(id) ?? []), text]);
              const first = inbox.accept(accepted(text, id));
              return again ? [first, inbox.accept(accepted(text, id))] : [first];
            }),
          );
          await until(() => inbox.waiting() === 0);
          for (const [id, texts] of expected) expect(platform.texts(id)).toEqual(texts);
        }),
        { numRuns: 15 },
      );
    });

    test('tries again when the platform is away, saying so, and keeps the order', async () => {
      let failures = 3;
      const tries: boolean[] = [];
      const { inbox } = await start({
        deliver: async (outgoing) => {
          tries.push(outgoing.delivery.repeated);
          failures -= 1;
          if (failures >= 0) throw new AppError('platform-unreachable', 'away');
          await platform.deliver(outgoing);
        },
      });
      await inbox.accept(accepted('first'));
      await inbox.accept(accepted('second'));
      await until(() => platform.sent.length === 2);
      expect(platform.texts()).toEqual(['re: first', 're: second']);
      expect(tries).toEqual([false, true, true, true, false]);
      expect(platform.sent[0]?.delivery.key).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    });

    test('gives up what the platform refuses or what has become too old, and goes on', async () => {
      const { inbox } = await start({
        limits: { giveUpMs: 30 },
        deliver: async (outgoing) => {
          if (outgoing.message.text === 'refused') throw new AppError('platform-refused', 'no');
          if (outgoing.message.text === 'away') throw new AppError('platform-unreachable', 'away');
          if (outgoing.message.text === 'broken') throw new TypeError('a fault of the adapter');
          await platform.deliver(outgoing);
        },
      });
      for (const text of ['refused', 'away', 'broken', 'fine']) await inbox.accept(accepted(text));
      await until(() => platform.sent.length === 1);
      expect(platform.texts()).toEqual(['re: fine']);
      await until(async () => (await store.inbox.countWaiting()) === 0);
    });

    test('apologizes when a message cannot be handled, after a second try', async () => {
      let calls = 0;
      const { inbox } = await start({
        handle: async ({ text }) => {
          calls += 1;
          if (text === 'hard') throw new Error('a fault of the bot');
          if (text === 'flaky' && calls < 4) throw new Error('once');
          return replyOf(text);
        },
      });
      for (const text of ['hard', 'flaky', 'easy']) await inbox.accept(accepted(text));
      await until(() => platform.sent.length === 3);
      expect(platform.texts()).toEqual(['sorry: internal', 'flaky', 'easy']);
    });

    test('sheds what is too much and recovers', async () => {
      let letGo = (): void => undefined;
      const gate = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      const { inbox } = await start({
        limits: { maximumWaiting: 10 },
        handle: async ({ text }) => {
          await gate;
          return replyOf(text);
        },
      });
      const outcomes = await Promise.all(
        Array.from({ length: 100 }, (_u, index) => inbox.accept(accepted(`${index}`, `t${index}`))),
      );
      expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(10);
      expect(outcomes.filter((outcome) => outcome === 'overloaded')).toHaveLength(90);
      letGo();
      await until(() => inbox.waiting() === 0);
      expect(await inbox.accept(accepted('later', 'later'))).toBe('accepted');
      await until(() => platform.sent.length === 11);
    });

    test('refuses a message that is too large, without storing it', async () => {
      const { inbox } = await start({ limits: { maximumBytes: 1_000 } });
      await expect(inbox.accept(accepted('汉'.repeat(400)))).rejects.toMatchObject({ code: 'too-large' });
      expect(await store.inbox.countWaiting()).toBe(0);
    });

    test('any text and any ids survive the way through the store', async () => {
      const { inbox } = await start();
      const odd = 'nul \u0000, half \ud83d, quote " \' \\ %s $1, 汉 🙂';
      await inbox.accept(accepted('first', odd, `${odd}-1`));
      await inbox.accept(accepted(odd, odd, `${odd}-2`));
      expect(await inbox.accept(accepted('again', odd, `${odd}-2`))).toBe('duplicate');
      await until(() => platform.sent.length === 2);
      expect(platform.sent[1]?.message.text.toWellFormed()).toBe(odd.toWellFormed());
    });

    test('a stopping inbox finishes what it began, takes nothing more, and leaves the rest to the next', async () => {
      let letGo = (): void => undefined;
      const gate = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      let away = true;
      const { inbox } = await start({
        handle: async ({ text }) => {
          if (text === 'begun') await gate;
          return replyOf(text);
        },
        deliver: async (outgoing) => {
          if (away && outgoing.message.text === 'unsent') throw new AppError('platform-unreachable', 'away');
          await platform.deliver(outgoing);
        },
      });
      await inbox.accept(accepted('begun', 'one'));
      await inbox.accept(accepted('unsent', 'two'));
      const stopped = inbox.stop();
      expect(await inbox.accept(accepted('late', 'three'))).toBe('overloaded');
      letGo();
      await stopped;
      expect(platform.texts()).toEqual(['begun']);
      away = false;
      await start({ handle: async ({ text }) => replyOf(`${text}, by the next`) });
      await until(() => platform.sent.length === 2);
      expect(platform.texts('two')).toEqual(['unsent, by the next']);
      expect(platform.sent[1]?.delivery.repeated).toBe(true);
    });
  });
}
