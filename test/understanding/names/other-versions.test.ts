import { describe, expect, test } from 'vitest';

import { findModelMentions } from '../../../src/understanding/names/find-mentions.ts';

const changedIn = (text: string): string | undefined =>
  findModelMentions(text).find(({ changed }) => changed !== undefined)?.changed;

describe('a known network changed', () => {
  test.each([
    ['upernet flatten-swin-t 512 bs 2', 'flatten-swin-t'],
    ['vit-adapter-l upernet', 'vit-adapter-l'],
    ['segformer-lite b0', 'segformer-lite'],
    ['segnext-x 512', 'segnext-x'],
    ['segformer v2 b3', 'segformer v2'],
    ['SwinUNet-v2', 'SwinUNet-v2'],
    ['Sam-HQ vit-l', 'Sam-HQ'],
    ['ghost-unet 256', 'ghost-unet'],
    ['unet with a swin-mlp encoder', 'swin-mlp'],
    ['魔改的 unet', '魔改的 unet'],
    ['改进后的deeplabv3+', '改进后的deeplabv3+'],
    ['our modified PSPNet', 'modified PSPNet'],
    ['unet 魔改版，512', 'unet 魔改版'],
    ["unet's variant", 'unet'],
    ['unet 加了 CBAM', 'cbam'],
    ['deeplabv3+ r50 with SE blocks', 'se blocks'],
    ['segformer b2 + DCNv3', 'dcnv3'],
  ])('%s', (text, changed) => expect(changedIn(text)?.toLowerCase()).toContain(changed.toLowerCase()));

  test.each([
    'segformer-b2',
    'segformer b2 on ade20k-full',
    'swin-large upernet',
    'deeplabv3plus-r50-d8-512',
    'unet-r34-imagenet-pretrained',
    'mmseg-upernet-swin-t',
    'unet-cityscapes-fp16',
    'mit_b2 unet',
    'swin-unetr',
    'vit-base-patch16',
    'SegFormer 用 v100',
    'unet, adam, size 512',
    'unet with attention',
    'HRNet-W48 OCR',
    'unet++ efficientnet-b3',
  ])('published: %s', (text) => expect(changedIn(text)).toBeUndefined());
});

describe('a backbone that no table has is not replaced', () => {
  test.each([
    ['upernet vmamba-tiny 512', 'upernet', 'vmamba-tiny'],
    ['upernet with a revcol-b', 'upernet', 'revcol-b'],
    ['unet + efficientvit-b2', 'unet', 'efficientvit-b2'],
    ['upernet swinv3-large', 'upernet', 'swinv3-large'],
    ['pspnet cspdarknet53', 'pspnet', 'cspdarknet53'],
    ['davit-tiny upernet', 'upernet', 'davit-tiny'],
    ['deeplabv3+ 用 repvgg-a0', 'deeplabv3plus', 'repvgg-a0'],
    ['unet convformer-s18', 'unet', 'convformer-s18'],
  ])('%s', (text, architecture, backbone) => {
    expect(findModelMentions(text)).toMatchObject([{ architecture, backbone, confidence: 0.3 }]);
  });

  test.each([
    ['segformer, lawin', ['segformer', 'lawin']],
    ['segformer vs topformer-b', ['segformer', 'topformer']],
    ['unet imagenet pretrained', ['unet']],
    ['unet batch-4 crop-512', ['unet']],
    ['use a large unet', ['unet']],
    ['unet transformer', ['unet']],
  ])('no backbone: %s', (text, architectures) => {
    const mentions = findModelMentions(text);
    expect(mentions.map(({ architecture }) => architecture)).toEqual(architectures);
    expect(mentions.every(({ backbone }) => backbone === null)).toBe(true);
  });
});
