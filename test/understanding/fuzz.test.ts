import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { initialState } from '../../src/dialog/reduce.ts';
import { normalize } from '../../src/understanding/normalize.ts';
import { hear } from '../conversations/replay.ts';
import { fuzzConversations } from './fuzzing.ts';
import { anyMessage } from './messages.ts';

describe('any message', () => {
  it('is read without an exception, 5,000 of them', () => fuzzConversations(5000));

  it('is read the same way twice', () => {
    fc.assert(
      fc.property(anyMessage, (text) => {
        const [one, other] = [hear(initialState('zh'), text), hear(initialState('zh'), text)];
        expect(one).toEqual(other);
      }),
      { numRuns: 300 },
    );
  });

  it('is at most about as long as what is read of it, however much it expands', () => {
    expect(normalize('\ufdfa'.repeat(100_000)).text.length).toBeLessThan(60_000);
  });
});

/** Patterns that make careless expressions quadratic. */
const HOSTILE: Readonly<Record<string, string>> = {
  letters: 'a',
  digits: '9',
  numbers: '1 ',
  commas: '1,',
  times: '512x',
  brackets: '(',
  cells: '1MiB / 2MiB ',
  numerals: '一二三四',
  perCard: '每卡',
  words: 'batch ',
  names: 'unet-',
  cards: 'v100 a100 3090 ',
  calls: "dict(type='X',",
  yaml: 'batch_size: 16\n',
  money: '预算1块',
};

describe('hostile repetition', () => {
  /** Work grows with what is read, and what is read is bounded: eight times the text takes no eight times longer. */
  it.each(Object.entries(HOSTILE))('%s', (_name, piece) => {
    const message = piece.repeat(Math.ceil(100_000 / piece.length));
    expect(() => hear(initialState('zh'), message)).not.toThrow();
    expect(normalize(message).text.length).toBeLessThan(60_000);
  });
});
