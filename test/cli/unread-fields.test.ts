import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';

import { createFieldCheck } from '../../src/cli/unread-fields.ts';

function told(...values: readonly unknown[]): string {
  const log = new PassThrough();
  const check = createFieldCheck(log);
  for (const value of values) check(value);
  return String(log.read() ?? '');
}

test('a mistyped field is told once, on the log and not in the answer', () => {
  const line = { id: 1, model: 'unet', imgHeight: 512 };
  expect(told(line, { ...line, id: 2 })).toBe('field not read: imgHeight\n');
});

test('fields of either command are known to both', () => {
  expect(told({ id: 1, model: 'unet', batchSize: 2, budget: { amount: 1 }, norm: 'frozen' })).toBe('');
});

test('what is told is bounded, and values that are no objects pass', () => {
  const names = Array.from({ length: 100 }, (_, index) => [`x${index}`, 1] as const);
  expect(told(Object.fromEntries(names), 'text', null, 5).split('\n')).toHaveLength(21);
});
