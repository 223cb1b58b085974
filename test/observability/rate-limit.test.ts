import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRateLimiter } from '../../src/observability/rate-limit.ts';

const from = (userId: string, conversationId = userId) => ({ userId, conversationId });

test('refuses one message more than the limit and says how long to wait', () => {
  const limiter = createRateLimiter({ perPerson: 2, perConversation: 100 });
  expect(limiter.check(from('a'), 1_000)).toEqual({ allowed: true });
  expect(limiter.check(from('a'), 11_000)).toEqual({ allowed: true });
  expect(limiter.check(from('a'), 21_000)).toEqual({ allowed: false, scope: 'person', retryAfterSeconds: 40 });
  expect(limiter.check(from('b'), 21_000)).toEqual({ allowed: true });
  expect(limiter.check(from('a'), 61_000)).toEqual({ allowed: true });
});

test('limits a conversation over all its people', () => {
  const limiter = createRateLimiter({ perPerson: 100, perConversation: 3 });
  for (const person of ['a', 'b', 'c']) expect(limiter.check(from(person, 'room'), 0).allowed).toBe(true);
  expect(limiter.check(from('d', 'room'), 1)).toMatchObject({ allowed: false, scope: 'conversation' });
  expect(limiter.check(from('d', 'other'), 1).allowed).toBe(true);
});

test('never more than the limit in any window, and a refused message does not count', () => {
  const times = fc
    .array(fc.integer({ min: 0, max: 300_000 }), { maxLength: 200 })
    .map((all) => all.sort((a, b) => a - b));
  fc.assert(
    fc.property(times, fc.integer({ min: 1, max: 10 }), (all, limit) => {
      const limiter = createRateLimiter({ perPerson: limit, perConversation: 1_000 });
      const allowed = all.filter((time) => limiter.check(from('a'), time).allowed);
      for (const time of allowed) {
        expect(allowed.filter((other) => other > time - 60_000 && other <= time).length).toBeLessThanOrEqual(limit);
      }
      const refused = all.find((time) => !allowed.includes(time));
      if (refused !== undefined) {
        expect(allowed.filter((other) => other > refused - 60_000 && other <= refused)).toHaveLength(limit);
      }
    }),
  );
});

test('a clock that is set back locks nobody out for good', () => {
  const limiter = createRateLimiter({ perPerson: 1, perConversation: 10 });
  expect(limiter.check(from('a'), 10_000_000).allowed).toBe(true);
  expect(limiter.check(from('a'), 1_000).allowed).toBe(true);
});

test('remembers a bounded number of people', () => {
  const limiter = createRateLimiter({ perPerson: 1, perConversation: 1 });
  for (let index = 0; index < 50_000; index += 1) limiter.check(from(`u${index}`), 0);
  expect(limiter.check(from('u0'), 1).allowed).toBe(true);
  expect(limiter.check(from('u49999'), 1).allowed).toBe(false);
});
