import { describe, expect, test } from 'vitest';

import { understand } from '../../src/understanding/understand.ts';
import type { Understanding, UnderstandingContext } from '../../src/understanding/understanding.ts';
import { testCatalog } from '../conversations/replay.ts';

const FRESH: UnderstandingContext = { held: {}, asked: null, answered: false, lastIntent: null, locale: 'zh' };
const hear = (text: string): Understanding => understand(text, FRESH, testCatalog());

const gpuOf = (text: string) => hear(`${text}, unet 512x512 batch 8 够吗`).slots.gpu;

describe('cards of no table', () => {
  test.each([
    ['Foo9000 24G', { name: 'foo9000', memoryGiB: 24 }],
    ['BR100 32GB', { name: 'br100', memoryGiB: 32 }],
    ['T1000 8G', { name: 't1000', memoryGiB: 8 }],
    ['MI250X 128G', { name: 'mi250x', memoryGiB: 128 }],
    ['Gaudi2 96G', { name: 'gaudi2', memoryGiB: 96 }],
    ['CMP 170HX 8g', { name: 'cmp 170hx', memoryGiB: 8 }],
    ['B300', { name: 'b300' }],
    ['GH200', { name: 'gh200' }],
  ])('%s', (text, gpu) => expect(gpuOf(text)).toEqual(gpu));

  test.each([
    'crop512 24G',
    'bs16 24G',
    'resnet101 24G',
    'voc2012 24G',
    'ade20k 24G',
    'torch2 24G',
    'fp16 24G',
    'machine w7 64G 内存',
  ])('%s names no card', (text) => expect(gpuOf(text) ?? {}).not.toHaveProperty('name'));
});

describe('slices of a card', () => {
  test.each([
    ['A100 MIG 3g.20gb', { name: 'MIG 3g.20gb', memoryGiB: 20 }],
    ['40g A100, 1g.5gb', { name: 'MIG 1g.5gb', memoryGiB: 5 }],
    ['a 2g.10gb of an H100', { name: 'MIG 2g.10gb', memoryGiB: 10 }],
    ['1g.10gb+me', { name: 'MIG 1g.10gb', memoryGiB: 10 }],
    ['A100 MIG 20G', { name: 'A100', memoryGiB: 20 }],
  ])('%s', (text, gpu) => expect(gpuOf(text)).toEqual(gpu));
});
