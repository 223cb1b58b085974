import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtInModels } from '../../../catalog/models.ts';
import { findModelMentions, parseModelName } from '../../../src/understanding/names/find-mentions.ts';
import { refineVariant } from '../../../src/understanding/names/refine-variant.ts';
import { spellings } from '../../../src/understanding/names/vocabulary.ts';

describe('letters are forgiven', () => {
  it.each([
    ['mask2fomer swin-L', 'mask2former', 'swin-l'],
    ['maks2former r50', 'mask2former', 'resnet50'],
    ['segfomer b5 ade 512 bacth 2每卡', 'segformer', 'mit-b5'],
    ['segofrmer-b0', 'segformer', 'mit-b0'],
    ['deeplavv3+ resnet101', 'deeplabv3plus', 'resnet101'],
    ['deeplabv3plsu resent50', 'deeplabv3plus', 'resnet50'],
    ['pspent r50', 'pspnet', 'resnet50'],
    ['upernte swni-t', 'upernet', 'swin-t'],
    ['uent resnet34', 'unet', 'resnet34'],
    ['convnxt-tiny upernet', 'upernet', 'convnext-t'],
    ['用 mask2fromer 跑 swin-b', 'mask2former', 'swin-b'],
    ['effcientnet-b3 unet++', 'unetplusplus', 'efficientnet-b3'],
    ['bisentv2', 'bisenetv2', null],
    ['hrent w48 ocr', 'ocrnet', 'hrnet-w48'],
  ])('%s', (text, architecture, backbone) => {
    expect(parseModelName(text)).toMatchObject({ architecture, backbone, confidence: 0.8 });
  });

  it('asks when two names are as near', () => {
    expect(parseModelName('cdnet 512')).toMatchObject({
      architecture: null,
      alternatives: ['ccnet', 'cgnet'],
      confidence: 0.5,
    });
  });

  it.each([
    'segment the images and reset',
    'recent context, converted format',
    'a network on the internet, with performers and transformers',
    'under the planned database',
    'mention the dataset in the caption',
  ])('ordinary words stay words: %s', (text) => {
    expect(findModelMentions(text)).toEqual([]);
  });
});

const rows = new Set(builtInModels().rows.map(({ architecture }) => architecture));
const known = [...spellings(builtInModels().aliases)].filter(
  ([, meaning]) =>
    meaning.architecture !== undefined && rows.has(meaning.architecture) && !meaning.partner && !meaning.ask,
);
const letter = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz');

/** One slip inside a run of letters: a swap, a missing, a doubled or a wrong letter. */
const slip = fc.record({ at: fc.nat(), kind: fc.constantFrom('swap', 'drop', 'double', 'wrong'), letter });

function mistyped(name: string, { at, kind, letter: wrong }: { at: number; kind: string; letter: string }): string {
  const places = [...name].flatMap((character, index) => (/[a-z]/.test(character) ? [index] : []));
  const place = places[at % places.length] ?? 0;
  const [before, here, after] = [name.slice(0, place), name[place] ?? '', name.slice(place + 1)];
  switch (kind) {
    case 'swap':
      return /^[a-z]/.test(after) ? `${before}${after[0]}${here}${after.slice(1)}` : name;
    case 'drop':
      return `${before}${after}`;
    case 'double':
      return `${before}${here}${here}${after}`;
    default:
      return `${before}${wrong}${after}`;
  }
}

interface Named {
  readonly architecture?: string | null | undefined;
  readonly backbone?: string | null | undefined;
}

const canonical = ({ architecture, backbone }: Named): string =>
  `${architecture ?? ''} ${(backbone ?? '').replace(/\/\d+$/, '')}`;
const numbers = (text: string): readonly string[] => text.match(/\d+/g) ?? [];

describe('digits are not', () => {
  it('every number of what is understood was typed', () => {
    // names that imply a number ("unet s5" is S5-D16) aside
    const numbered = known.filter(
      ([name, meaning]) =>
        /\d/.test(name) && numbers(canonical(meaning)).every((number) => numbers(name).includes(number)),
    );
    fc.assert(
      fc.property(fc.constantFrom(...numbered), slip, ([name], one) => {
        const typed = mistyped(name, one);
        const mention = parseModelName(typed);
        if (mention === undefined || mention.alternatives.length > 0) return;
        for (const number of numbers(canonical(mention))) expect(numbers(typed)).toContain(number);
      }),
      { numRuns: 3000 },
    );
  });

  it('b0 … b5 and depths stay what they are, whatever happens to the letters', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5 }), slip, (size, one) => {
        const mention = parseModelName(`${mistyped('segformer', one)} b${size}`);
        if (mention?.backbone != null) expect(mention.backbone).toBe(`mit-b${size}`);
      }),
    );
    fc.assert(
      fc.property(fc.constantFrom(18, 34, 50, 101, 152), slip, (depth, one) => {
        const mention = parseModelName(`deeplabv3plus ${mistyped('resnet', one)}${depth}`);
        if (mention?.backbone?.startsWith('resnet')) expect(mention.backbone).toBe(`resnet${depth}`);
      }),
    );
  });
});

describe('any text', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom(...known.map(([name]) => name)),
    fc.constantFrom(
      'smp.Unet(',
      'UNet(',
      '(',
      ')',
      '"',
      "'",
      '=',
      ',',
      'decode_head=dict(type=',
      '_512x1024_',
      '/',
      '\n',
      '的',
      'ｒ５０',
    ),
  );

  it('is read without failing, and every mention stands where it says', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join(' ');
        let from = -1;
        for (const { start, end, text: typed } of findModelMentions(text)) {
          expect(start).toBeGreaterThanOrEqual(from);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          expect(text.slice(start, end)).toBe(typed);
          from = start;
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('of any length names a bounded number of networks', () => {
    for (const name of [
      'unet ',
      'pspnet_r50-d8_512x1024_40k_cityscapes ',
      "smp.Unet('resnet34') ",
      'UNet(',
      'segfom ',
    ]) {
      expect(findModelMentions(name.repeat(20_000 / name.length)).length).toBeLessThan(300);
    }
  });
});

describe('a size beside what is held', () => {
  it.each([
    ['换成L的呢', 'segnext', 'mscan-t', 'mscan-l'],
    ['b3 呢', 'segformer', 'mit-b2', 'mit-b3'],
    ['换成 b3，batch 4', 'segformer', 'mit-b2', 'mit-b3'],
    ['what about the large one?', 'upernet', 'swin-t', 'swin-l'],
    ['w48 呢', 'ocrnet', 'hrnet-w18', 'hrnet-w48'],
    ['换 101', 'fcn', 'resnet50', 'resnet101'],
    ['换成xl', 'upernet', 'convnext-b', 'convnext-xl'],
    ['b4呢', 'segformer', undefined, 'mit-b4'],
    ['batch 50', 'fcn', 'resnet50', undefined],
    ['18 images', 'ocrnet', 'hrnet-w48', undefined],
    ['a small batch please', 'upernet', 'swin-t', undefined],
    ['b3 呢', 'bisenetv2', undefined, undefined],
  ])('%s after %s %s', (text, model, backbone, expected) => {
    expect(refineVariant(text, { model, backbone })).toBe(expected);
  });
});
