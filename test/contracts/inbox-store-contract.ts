import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Advance, InboxEntry, InboxStore, Lease } from '../../src/state/inbox-store.ts';
import type { Store } from '../../src/state/store.ts';
import type { StoreUnderTest } from './state-store-contract.ts';

const start = 1_800_000_000_000;
const leaseMs = 30_000;

const entry = (messageId: string, conversationId = 'c'): InboxEntry => ({
  messageId,
  conversationId,
  userId: 'adapter:T:U1',
  payload: JSON.stringify({ said: messageId }),
  acceptedAt: start,
});
const lease = (claimId: string, now = start): Lease => ({
  owner: `owner of ${claimId}`,
  claimId,
  now,
  until: now + leaseMs,
});
const done = (messageId: string, claimId: string, conversationId = 'c') => ({
  conversationId,
  claimId,
  done: { messageId, outcome: 'answered' as const, expiresAt: start + 600_000 },
});
const next = (advance: Advance | undefined): string =>
  advance?.kind === 'next' ? advance.entry.messageId : (advance?.kind ?? 'nothing');

/** What every backend of `InboxStore` promises. */
export function inboxStoreContract({ name, open }: StoreUnderTest): void {
  describe(`${name} keeps the contract of InboxStore`, () => {
    let store: Store;
    let inbox: InboxStore;
    beforeEach(async () => {
      store = await open({ now: () => start });
      inbox = store.inbox;
    });
    afterEach(() => store.close());

    test('a first message takes its conversation, later ones queue, a known id is a duplicate', async () => {
      expect(await inbox.accept([entry('m1')], lease('a'))).toEqual(['claimed']);
      expect(await inbox.accept([entry('m2'), entry('m1'), entry('m2')], lease('b'))).toEqual([
        'queued',
        'duplicate',
        'duplicate',
      ]);
      expect(await inbox.countWaiting()).toBe(2);
    });

    test('a list takes several conversations, one claim each, and keeps its order', async () => {
      const list = [entry('z1', 'x'), entry('a2', 'x'), entry('m1', 'y'), entry('m0', 'x')];
      expect(await inbox.accept(list, lease('a'))).toEqual(['claimed', 'queued', 'claimed', 'queued']);
      const [first] = await inbox.advance([done('z1', 'a', 'x')], start);
      expect(first).toEqual({ kind: 'next', entry: entry('a2', 'x') });
      expect(next((await inbox.advance([done('a2', 'a', 'x')], start))[0])).toBe('m0');
      expect(next((await inbox.advance([done('m0', 'a', 'x')], start))[0])).toBe('released');
      expect(next((await inbox.advance([done('m1', 'a', 'y')], start))[0])).toBe('released');
    });

    test('after the last one the conversation is free again', async () => {
      await inbox.accept([entry('m1')], lease('a'));
      expect(await inbox.advance([done('m1', 'a')], start)).toEqual([{ kind: 'released' }]);
      expect(await inbox.accept([entry('m2')], lease('b'))).toEqual(['claimed']);
      expect(await inbox.advance([done('m1', 'a')], start)).toEqual([{ kind: 'lost' }]);
    });

    test('an answered id stays known until its time, and its text is gone at once', async () => {
      await inbox.accept([entry('m1')], lease('a'));
      await inbox.advance([done('m1', 'a')], start);
      expect(await inbox.accept([entry('m1')], lease('b', start + 599_999))).toEqual(['duplicate']);
      expect(await inbox.accept([entry('m1')], lease('c', start + 600_000))).toEqual(['claimed']);
      await inbox.advance([done('m1', 'c')], start);
      await store.sweep(start + 600_000);
      expect(await inbox.accept([entry('m1')], lease('d'))).toEqual(['claimed']);
    });

    test('nobody else gets a conversation while its claim lives; afterwards anybody, at the first waiting message', async () => {
      await inbox.accept([entry('m1'), entry('m2')], lease('a'));
      expect(await inbox.takeOver(lease('b', start + leaseMs), 10)).toEqual([]);
      const late = start + leaseMs + 1;
      expect(await inbox.takeOver(lease('c', late), 10)).toEqual([
        { conversationId: 'c', claimId: 'c', entry: entry('m1') },
      ]);
      expect(await inbox.takeOver(lease('d', late), 10)).toEqual([]);
      expect(await inbox.takeOver(lease('e', late + leaseMs + 1), 10)).toHaveLength(1);
    });

    test('handlings that never ended are counted by message; being taken over is none', async () => {
      await inbox.accept([entry('m1'), entry('m2', 'other')], lease('a'));
      await inbox.takeOver(lease('b', start + leaseMs + 1), 10);
      expect(await inbox.beginHandling('m1')).toBe(1);
      await inbox.takeOver(lease('c', start + 2 * leaseMs + 2), 10);
      expect(await inbox.beginHandling('m1')).toBe(2);
      expect(await inbox.beginHandling('m2')).toBe(1);
      await inbox.endHandling('m1');
      expect(await inbox.beginHandling('m1')).toBe(1);
      expect(await inbox.beginHandling('unknown')).toBe(1);
    });

    test('the old holder is told that it lost, but what it finished counts', async () => {
      await inbox.accept([entry('m1'), entry('m2')], lease('a'));
      await inbox.takeOver(lease('b', start + leaseMs + 1), 10);
      expect(await inbox.advance([done('m1', 'a')], start)).toEqual([{ kind: 'lost' }]);
      expect(next((await inbox.advance([{ conversationId: 'c', claimId: 'b' }], start))[0])).toBe('m2');
    });

    test('a message behind waiting ones of a dead owner comes after them', async () => {
      await inbox.accept([entry('m1'), entry('m2')], lease('a'));
      expect(await inbox.accept([entry('m3')], lease('b', start + leaseMs + 1))).toEqual(['behind']);
      expect(next((await inbox.advance([{ conversationId: 'c', claimId: 'b' }], start))[0])).toBe('m1');
      expect(next((await inbox.advance([done('m1', 'b')], start))[0])).toBe('m2');
      expect(next((await inbox.advance([done('m2', 'b')], start))[0])).toBe('m3');
    });

    test('a renewed claim lives on, a lost one cannot be renewed', async () => {
      await inbox.accept([entry('m1', 'x'), entry('m2', 'y')], lease('a'));
      const mine = [
        { conversationId: 'x', claimId: 'a' },
        { conversationId: 'y', claimId: 'other' },
      ];
      expect(await inbox.renew(mine, start + 90_000)).toEqual(mine.slice(0, 1));
      const taken = await inbox.takeOver(lease('b', start + leaseMs + 1), 10);
      expect(taken.map(({ conversationId }) => conversationId)).toEqual(['y']);
    });

    test('what is given back goes to the next who looks', async () => {
      await inbox.accept([entry('m1')], lease('a'));
      await inbox.release([{ conversationId: 'c', claimId: 'not mine' }]);
      expect(await inbox.takeOver(lease('b'), 10)).toEqual([]);
      await inbox.release([{ conversationId: 'c', claimId: 'a' }]);
      expect((await inbox.takeOver(lease('b'), 10)).map((one) => one.entry.messageId)).toEqual(['m1']);
    });

    test('takes over the longest waiting first, no more than asked', async () => {
      const list = ['c1', 'c2', 'c3', 'c4'].map((id) => entry(`m-${id}`, id));
      await inbox.accept(list, lease('a'));
      const taken = await inbox.takeOver(lease('b', start + leaseMs + 1), 3);
      expect(taken.map(({ conversationId }) => conversationId).sort()).toEqual(['c1', 'c2', 'c3']);
    });

    test('forgets the waiting messages of a person', async () => {
      await inbox.accept([entry('m1')], lease('a'));
      expect(await store.forget('U1')).toBe(1);
      expect(await inbox.countWaiting()).toBe(0);
      expect(next((await inbox.advance([done('m1', 'a')], start))[0])).toBe('released');
    });

    test('empty lists are fine', async () => {
      expect(await inbox.accept([], lease('a'))).toEqual([]);
      expect(await inbox.advance([], start)).toEqual([]);
      expect(await inbox.renew([], start)).toEqual([]);
      await inbox.release([]);
    });

    test('arrivals that race with the last answer are never left without a holder', async () => {
      for (let round = 0; round < 60; round += 1) {
        const [first, second] = [`r${round}-1`, `r${round}-2`];
        await inbox.accept([entry(first)], lease(`a${round}`));
        const [[arrival], [moved]] = await Promise.all([
          inbox.accept([entry(second)], lease(`b${round}`)),
          inbox.advance([done(first, `a${round}`)], start),
        ]);
        let current = moved;
        if (current?.kind === 'raced')
          [current] = await inbox.advance([{ conversationId: 'c', claimId: `a${round}` }], start);
        const outcome = `${arrival} ${next(current)}`;
        expect(['claimed released', 'behind released', `queued ${second}`]).toContain(outcome);
        await inbox.advance([done(second, arrival === 'queued' ? `a${round}` : `b${round}`)], start);
      }
      expect(await inbox.countWaiting()).toBe(0);
    });
  });
}
