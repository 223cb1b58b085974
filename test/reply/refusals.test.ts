import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { builtInModels } from '../../catalog/models.ts';
import { wordsOf } from '../../src/reply/messages/index.ts';
import { converse } from '../contracts/golden-replies.ts';

const last = (locale: 'zh' | 'en', ...turns: readonly string[]) => {
  const reply = converse(locale, turns).at(-1);
  if (reply === undefined) throw new Error('nothing was said');
  return reply;
};

describe('what a network refuses is said with its figures', () => {
  test.each([
    ['sam vit-b 512 batch 2 预算不限', '这个网络只收 1024×1024 的图，按这个算行吗？', ['1024x1024']],
    ['swin-unet 300 batch 4 预算不限', '边长是 224 的倍数，300×300 不行', ['224x224', '448x448']],
    ['transunet 500x512 batch 4 预算不限', '只收正方形的图，边长要是 16 的倍数，500×512 不行', ['512x512']],
    ['mmseg unet 500 batch 4 预算不限', '边长是 16 的倍数，500×500 不行', ['496x496', '512x512']],
    ['lraspp mobilenet v3 mmseg 64x64 batch 4 预算不限', '边长至少要 392', []],
    ["smp.Linknet('mit_b0') 512 batch 4 预算不限", 'smp 的这个解码器不支持 MiT 编码器', null],
    ["smp.Linknet('resnet34', encoder_depth=9) 512 batch 4 预算不限", '编码器深度 9 不行，只能是 1 到 5', []],
    ["smp.Unet('resnet34', activation='gelu') 512 batch 4 预算不限", 'activation 只能是 identity', []],
  ])('%s', (text, sentence, sizes) => {
    const { fallback, choices } = last('zh', text);
    expect(fallback).toContain(sentence);
    expect(fallback).not.toMatch(/[a-z]{3,} [a-z]{3,} [a-z]{3,} [a-z]{3,}/);
    if (sizes !== null) expect(choices.map(({ say }) => say)).toEqual(sizes);
  });

  test('and the size that it takes goes on with the rest', () => {
    expect(last('zh', 'sam vit-b 512 batch 2 预算不限', '行').fallback).toMatch(/^需要 [\d.]+ GiB/);
    expect(last('en', 'mmseg unet 500 batch 4, no limit').fallback).toContain('multiples of 16, not 500×500');
    expect(last('en', 'mmseg unet 500 batch 4, no limit', '512x512').fallback).toMatch(/^Needs [\d.]+ GiB/);
  });
});

test('every rule of the networks and of the catalogue has its sentence', () => {
  const folder = join(import.meta.dirname, '../../src/estimator/networks');
  const sources = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const thrown = sources.flatMap((source) => Array.from(source.matchAll(/\{ rule: '([a-z-]+)'/g), ([, rule]) => rule));
  const rules = new Set([...thrown, ...builtInModels().refused.map(({ rule }) => rule)]);
  expect(rules.size).toBeGreaterThan(10);
  for (const locale of ['zh', 'en'] as const) {
    expect(Object.keys(wordsOf(locale).dialog.refused)).toEqual(expect.arrayContaining([...rules]));
  }
});
