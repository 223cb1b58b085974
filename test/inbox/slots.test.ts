import { expect, test } from 'vitest';
import { createTurns } from '../../src/inbox/slots.ts';

const aTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('nobody goes while messages arrive, and one a turn afterwards', async () => {
  const turns = createTurns(Number.POSITIVE_INFINITY);
  const gone: number[] = [];
  const waiting = [1, 2, 3].map((caller) => turns.next().then(() => gone.push(caller)));
  for (let turn = 0; turn < 20; turn += 1) {
    turns.arrived();
    await aTurn();
  }
  expect(gone).toEqual([]);
  const seen = new Set<number>();
  while (gone.length < 3) {
    await aTurn();
    seen.add(gone.length);
  }
  await Promise.all(waiting);
  expect(gone).toEqual([1, 2, 3]);
  expect([...seen].filter((count) => count > 0)).toEqual([1, 2, 3]);
});

test('what is stored over two turns is acknowledged before the next caller goes', async () => {
  const turns = createTurns(Number.POSITIVE_INFINITY);
  const events: string[] = [];
  const next = turns.next().then(() => events.push('answer'));
  turns.arrived();
  setImmediate(() => setImmediate(() => events.push('acknowledged')));
  await next;
  expect(events).toEqual(['acknowledged', 'answer']);
});

test('a flood does not hold everybody back for ever', async () => {
  const turns = createTurns(0);
  let flood = true;
  const rain = (): void => {
    turns.arrived();
    if (flood) setImmediate(rain);
  };
  rain();
  await turns.next();
  await turns.next();
  flood = false;
});
