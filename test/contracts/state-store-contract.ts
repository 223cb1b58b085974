import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OpenOptions, Store } from '../../src/state/store.ts';

export interface StoreUnderTest {
  readonly name: string;
  /** A store with nothing in it. */
  readonly open: (options: OpenOptions) => Promise<Store>;
}

/** What every backend of `StateStore` promises. */
export function stateStoreContract({ name, open }: StoreUnderTest): void {
  describe(`${name} keeps the contract of StateStore`, () => {
    const clock = { now: 1_800_000_000_000 };
    let store: Store;
    let count = 0;
    const fresh = (): string => {
      count += 1;
      return `test/${count}`;
    };
    beforeAll(async () => {
      store = await open({ now: () => clock.now });
    });
    afterAll(() => store.close());

    test('what was written comes back, with a version', async () => {
      const key = fresh();
      expect(await store.get(key)).toBeUndefined();
      const value = { slots: { model: '分割 🙂', sizes: [512, 1024], none: null }, 'odd \u0000 "key"': true };
      const version = await store.compareAndSet(key, 0, value);
      expect(version).toBeGreaterThan(0);
      expect(await store.get(key)).toEqual({ value, version });
    });

    test('any JSON value survives', async () => {
      const key = fresh();
      await fc.assert(
        fc.asyncProperty(fc.jsonValue(), async (value) => {
          await store.set(key, value);
          expect((await store.get(key))?.value).toEqual(JSON.parse(JSON.stringify(value)));
        }),
        { numRuns: 50 },
      );
    });

    test('any key can be used', async () => {
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'binary' }), async (id) => {
          const key = `any/${count}/${id}`;
          await store.set(key, id);
          expect((await store.get(key))?.value).toBe(id.toWellFormed() === id ? id : (await store.get(key))?.value);
          await store.delete(key);
        }),
        { numRuns: 50 },
      );
    });

    test('compare-and-set writes only over the expected version', async () => {
      const key = fresh();
      const first = (await store.compareAndSet(key, 0, 'one')) ?? 0;
      expect(await store.compareAndSet(key, 0, 'again')).toBeUndefined();
      const second = (await store.compareAndSet(key, first, 'two')) ?? 0;
      expect(second).not.toBe(first);
      expect(await store.compareAndSet(key, first, 'late')).toBeUndefined();
      expect(await store.get(key)).toEqual({ value: 'two', version: second });
      expect(await store.compareAndSet(fresh(), 7, 'of nothing')).toBeUndefined();
    });

    test('a value that was deleted and written again is not taken for the old one', async () => {
      const key = fresh();
      const old = (await store.compareAndSet(key, 0, 'old')) ?? 0;
      await store.delete(key);
      await store.compareAndSet(key, 0, 'new');
      expect(await store.compareAndSet(key, old, 'stale')).toBeUndefined();
      expect((await store.get(key))?.value).toBe('new');
    });

    test('of many writers at once exactly one wins each round', async () => {
      const key = fresh();
      const writers = Array.from({ length: 20 }, (_unused, index) => index);
      let version = 0;
      for (let round = 0; round < 5; round += 1) {
        const results = await Promise.all(
          writers.map((writer) => store.compareAndSet(key, version, { writer, round })),
        );
        const won = results.filter((result) => result !== undefined);
        expect(won).toHaveLength(1);
        version = won[0] ?? 0;
      }
      const absent = fresh();
      const written = await Promise.all(writers.map((writer) => store.setIfAbsent(absent, writer)));
      expect(written.filter(Boolean)).toHaveLength(1);
    });

    test('a counter raised by compare-and-set loses no step', async () => {
      const key = fresh();
      const raise = async (): Promise<void> => {
        for (;;) {
          const held = await store.get(key);
          const next = Number(held?.value ?? 0) + 1;
          if ((await store.compareAndSet(key, held?.version ?? 0, next)) !== undefined) return;
        }
      };
      await Promise.all(Array.from({ length: 25 }, raise));
      expect((await store.get(key))?.value).toBe(25);
    });

    test('an expired entry counts as absent everywhere', async () => {
      const key = fresh();
      const version = (await store.compareAndSet(key, 0, 'short', { expiresAt: clock.now + 1_000 })) ?? 0;
      expect(await store.setIfAbsent(key, 'other')).toBe(false);
      clock.now += 1_000;
      expect(await store.get(key)).toBeUndefined();
      expect(await store.list(key, 5)).toEqual([]);
      expect(await store.compareAndSet(key, version, 'late')).toBeUndefined();
      expect(await store.setIfAbsent(key, 'fresh')).toBe(true);
      expect((await store.get(key))?.value).toBe('fresh');
    });

    test('a write without expiry takes away the old one', async () => {
      const key = fresh();
      await store.set(key, 1, { expiresAt: clock.now + 10 });
      await store.set(key, 2);
      clock.now += 100;
      expect((await store.get(key))?.value).toBe(2);
    });

    test('lists by prefix, newest write first, and nothing beside it', async () => {
      const prefix = `${fresh()}-list/`;
      for (const id of ['a', 'b', 'ü', '汉', 'c%_x']) await store.set(prefix + id, id);
      await store.set(`${prefix.slice(0, -1)}0`, 'beside');
      await store.set(`${prefix}a`, 'a again');
      expect(await store.list(prefix, 3)).toEqual([
        { key: `${prefix}a`, value: 'a again' },
        { key: `${prefix}c%_x`, value: 'c%_x' },
        { key: `${prefix}汉`, value: '汉' },
      ]);
      expect(await store.list(prefix, 100)).toHaveLength(5);
    });

    test('the sweep removes what has expired and nothing else', async () => {
      const prefix = `${fresh()}-sweep/`;
      await store.sweep(clock.now);
      for (let index = 0; index < 20; index += 1) {
        await store.set(`${prefix}${index}`, index, index % 2 === 0 ? { expiresAt: clock.now + 5 } : {});
      }
      expect(await store.sweep(clock.now + 4)).toBe(0);
      expect(await store.sweep(clock.now + 5)).toBe(10);
      expect(await store.list(prefix, 100)).toHaveLength(10);
    });

    test('forgets everything about one person and nothing about others', async () => {
      const prefix = `${fresh()}-forget/`;
      await store.set(`${prefix}1`, 'x', { userId: 'adapter:T1:U1' });
      await store.set(`${prefix}2`, 'x', { userId: 'adapter:T1:U1' });
      await store.set(`${prefix}3`, 'x', { userId: 'adapter:T1:U11' });
      await store.set(`${prefix}4`, 'x', { userId: 'adapter:T1:XU1' });
      await store.set(`${prefix}5`, 'x');
      expect(await store.forget('U1')).toBe(2);
      expect(await store.forget('U1')).toBe(0);
      expect(await store.forget('adapter:T1:U11')).toBe(1);
      expect((await store.list(prefix, 10)).map(({ key }) => key.slice(prefix.length)).sort()).toEqual(['4', '5']);
    });

    test('answers a ping', async () => {
      await expect(store.ping()).resolves.toBeUndefined();
    });
  });
}
