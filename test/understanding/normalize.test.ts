import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalize } from '../../src/understanding/normalize.ts';

describe('normalize', () => {
  it.each([
    ['５１２×５１２ ｂｓ＝８ 预算￥１０/ｈ', '512x512 bs=8 预算¥10/h'],
    ['1022✘767', '1022x767'],
    ['1024 * 512', '1024x512'],
    ['1024 by 1024', '1024x1024'],
    ['2048乘1024', '2048x1024'],
    ['8*A100', '8xa100'],
    ['512²，bs 8', '512^2 , bs 8'],
    ['bs 4，512x512', 'bs 4, 512x512'],
    ['a\u200bb\ufeffc', 'abc'],
    ['<@U0123ABC> unet &lt;512&gt;', 'unet <512>'],
    ['<https://example.com/a|segformer b2> 512', 'segformer b2 512'],
    ['`unet` **512**', 'unet 512'],
    ['unet\r\n\r\n \t\n\n\u2028512', 'unet\n512'],
    ['bacth size 8', 'batch size 8'],
    ['resoluton 512', 'resolution 512'],
    ['rsenet50', 'resnet50'],
    ['msk2former', 'mask2former'],
  ])('%j → %j', (message, text) => expect(normalize(message).text).toBe(text));

  it('keeps the case beside the lower-case text, position by position', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (message) => {
        const { text, cased } = normalize(message);
        return text.length === cased.length && cased.toLowerCase() === text;
      }),
      { numRuns: 3000 },
    );
  });

  it('never changes, adds or drops a digit of a message without numerals', () => {
    const word = fc.constantFrom(
      'batch',
      'bacth',
      'segfomer',
      'resoluton',
      'deeplabv3',
      'b5',
      'r50',
      '每卡',
      'crop',
      'bs=',
      'memroy',
    );
    const number = fc.integer({ min: 0, max: 99_999 }).map(String);
    fc.assert(
      fc.property(fc.array(fc.oneof(word, number), { maxLength: 20 }), (parts) => {
        const message = parts.join(' ');
        return normalize(message).text.replace(/\D/g, '') === message.replace(/\D/g, '');
      }),
      { numRuns: 3000 },
    );
  });

  it('reads long messages at both ends', () => {
    const { text } = normalize(`unet 512 ${'x y '.repeat(50_000)} bs 8`);
    expect(text.length).toBeLessThan(30_000);
    expect(text.startsWith('unet 512')).toBe(true);
    expect(text.endsWith('bs 8')).toBe(true);
  });

  it('survives lone surrogates and right-to-left marks', () => {
    expect(normalize('unet \ud800 512\u202e').text).toContain('unet');
  });
});
