import { expect, test } from 'vitest';
import { createMemory } from '../../adapters/memory.ts';

let asked = 0;
const answer = (value: string, lifeMs: number) => async () => {
  asked += 1;
  return { value, lifeMs };
};

test('an answer is asked for once, until its life is over or it is dropped', async () => {
  asked = 0;
  let now = 0;
  const memory = createMemory<string>(() => now);
  expect(await Promise.all([memory.get('a', answer('one', 10)), memory.get('a', answer('two', 10))])).toEqual([
    'one',
    'one',
  ]);
  expect(await memory.get('b', answer('other', 10))).toBe('other');
  now = 9;
  expect(await memory.get('a', answer('three', 10))).toBe('one');
  now = 10;
  expect(await memory.get('a', answer('four', 10))).toBe('four');
  memory.drop('a');
  expect(await memory.get('a', answer('five', 10))).toBe('five');
  expect(asked).toBe(4);
});

test('a failure is everybody’s who waits, and is not kept', async () => {
  const memory = createMemory<string>(() => 0);
  const failing = () => memory.get('a', () => Promise.reject(new Error('away')));
  await Promise.all([failing(), failing()].map((one) => expect(one).rejects.toThrow('away')));
  expect(await memory.get('a', answer('back', 1))).toBe('back');
});

test('too many are forgotten at once', async () => {
  asked = 0;
  const memory = createMemory<string>(() => 0, 2);
  for (const key of ['a', 'b', 'c', 'a']) await memory.get(key, answer(key, 1));
  expect(asked).toBe(4);
});
