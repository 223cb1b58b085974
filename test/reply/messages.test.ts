import { describe, expect, test } from 'vitest';

import { beliefs } from '../../src/advice/beliefs.ts';
import type { ErrorCode } from '../../src/errors.ts';
import type { Locale } from '../../src/message.ts';
import { composeProblem } from '../../src/reply/compose.ts';
import { wordsOf } from '../../src/reply/messages/index.ts';
import { surfaceTexts } from '../../src/reply/messages/surfaces.ts';

const codes: readonly ErrorCode[] = [
  'invalid-input',
  'unknown-model',
  'unknown-backbone',
  'unsupported-combination',
  'unknown-gpu',
  'out-of-range',
  'too-large',
  'invalid-config',
  'invalid-catalog',
  'store-unavailable',
  'platform-refused',
  'platform-unreachable',
  'overloaded',
  'internal',
];
const locales: readonly Locale[] = ['en', 'zh'];

/** Stands for a figure and for a set of named figures. */
const figures = '1';

/** Every sentence of a message tree, functions called with plausible figures. */
function sentences(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'function') return sentences(value.length === 1 ? value(figures) : value('1', '2', '3', '4'));
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(sentences);
}

describe.each(locales)('messages in %s', (locale) => {
  test.each(codes)('%s is a sentence with a next step', (code) => {
    const { fallback, kind } = composeProblem(locale, { code, details: {} });
    expect(kind).toBe('notice');
    expect(fallback.length).toBeGreaterThan(8);
    expect(fallback).not.toMatch(/undefined|\[object|NaN/);
    expect(/\p{sc=Han}/u.test(fallback)).toBe(locale === 'zh');
  });

  test('details make a message exact', () => {
    const unknown = composeProblem(locale, {
      code: 'unknown-model',
      details: { name: 'foonet', nearest: 'fcn, unet' },
    });
    expect(unknown.fallback).toContain('foonet');
    expect(unknown.choices.map(({ say }) => say)).toEqual(['fcn', 'unet']);
    const range = composeProblem(locale, { code: 'out-of-range', details: { field: 'batchSize' } });
    expect(range.fallback).toMatch(/4,?096/);
  });

  test('every fact of the advice has its sentence', () => {
    const known = Object.keys(wordsOf(locale).tips.beliefs);
    for (const { id } of beliefs) expect(known).toContain(id);
  });
});

test('no Chinese sentence was left in English, no English one holds Chinese', () => {
  const chinese = sentences([
    wordsOf('zh').dialog.ask,
    wordsOf('zh').dialog.declined,
    wordsOf('zh').advice.oom.diagnoses,
  ]);
  for (const text of chinese) expect(text).toMatch(/\p{sc=Han}|torch\.|PYTORCH|detach/u);
  for (const text of sentences(wordsOf('en'))) expect(text).not.toMatch(/\p{sc=Han}/u);
});

test('surfaces have every text in both languages', () => {
  for (const locale of locales) {
    for (const text of sentences(surfaceTexts(locale))) expect(text.trim()).not.toBe('');
  }
  expect(surfaceTexts('zh').formTitle).not.toBe(surfaceTexts('en').formTitle);
});
