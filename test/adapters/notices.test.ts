import { expect, test } from 'vitest';
import { createNotices } from '../../adapters/notices.ts';

test('each person is told three times in ten seconds, also after the clock was set back', () => {
  let now = 1_000_000;
  const mayTell = createNotices(() => now);
  expect([mayTell('a'), mayTell('a'), mayTell('a'), mayTell('a'), mayTell('b')]).toEqual([
    true,
    true,
    true,
    false,
    true,
  ]);
  now += 9_999;
  expect(mayTell('a')).toBe(false);
  now += 1;
  expect(mayTell('a')).toBe(true);
  now -= 3_600_000;
  expect([mayTell('a'), mayTell('a'), mayTell('a'), mayTell('a')]).toEqual([true, true, true, false]);
});

test('a flood of people takes no memory for ever', () => {
  const mayTell = createNotices(() => 0);
  for (let person = 0; person < 10_000; person += 1) for (let said = 0; said < 3; said += 1) mayTell(`p${person}`);
  expect(mayTell('p0')).toBe(false);
  expect(mayTell('one more')).toBe(true);
  expect(mayTell('p0')).toBe(true);
});
