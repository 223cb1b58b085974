import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findModelMentions, parseModelName } from '../../../src/understanding/names/find-mentions.ts';
import { mentionSlots } from '../../../src/understanding/names/mention-slots.ts';

const truth = readFileSync(new URL('../../fixtures/names/names.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) =>
    z
      .object({
        turns: z.tuple([
          z.object({
            user: z.string(),
            expect: z.object({ slots: z.record(z.string(), z.union([z.string(), z.number()])) }),
          }),
        ]),
      })
      .parse(JSON.parse(line)),
  );

const squash = (value: unknown): string =>
  String(value)
    .toLowerCase()
    .replace(/\/(?:8|14|16|32)$/, '')
    .replaceAll(/[\s_-]/g, '');

describe('the truth set of names', () => {
  /** Read against the letter of the truth set: `1x16` and `8x32` are GPUs × images in these names as everywhere else. */
  const SAYS_MORE = /_(?:1x16|8x32)_/;
  const JUDGED = ['model', 'imageHeight', 'batchSize', 'gpus', 'precision', 'optimizer'];

  it.each(truth.map(({ turns: [turn] }) => [turn.user, turn.expect.slots] as const))('%s', (text, expected) => {
    const slots: Record<string, unknown> = { ...mentionSlots(parseModelName(text) ?? failed(text)) };
    for (const [name, value] of Object.entries(expected)) {
      expect(`${name} ${squash(slots[name])}`).toBe(`${name} ${squash(value)}`);
    }
    const invented = JUDGED.filter((name) => expected[name] === undefined && slots[name] !== undefined);
    expect(invented).toEqual(SAYS_MORE.test(text) ? ['batchSize', 'gpus'] : []);
  });
});

function failed(text: string): never {
  throw new Error(`not read: ${text}`);
}

describe('MMSegmentation config names', () => {
  it.each([
    [
      'deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024',
      { architecture: 'deeplabv3plus', gpus: 4, batchSize: 2, imageHeight: 512, imageWidth: 1024, iterations: 40000 },
    ],
    [
      'configs/segformer/segformer_mit-b5_8xb1-160k_cityscapes-1024x1024.py',
      { backbone: 'mit-b5', dataset: 'cityscapes', numClasses: 19, implementation: 'mmseg' },
    ],
    [
      'upernet_swin_large_patch4_window12_512x512_pretrain_384x384_22K_160k_ade20k',
      { backbone: 'swin-l', options: { window: 12 }, imageHeight: 512, iterations: 160000, numClasses: 150 },
    ],
    [
      'resnest_s101-d8_pspnet_4xb2-80k_cityscapes512x1024',
      { backbone: 'resnest101', imageHeight: 512, dataset: 'cityscapes' },
    ],
    ['knet_s3_upernet_swin-t_8x2_512x512_adamw_80k_ade20k', { architecture: 'knet', options: { head: 'upernet' } }],
    ['fcn_unet_s5-d16_64x64_40k_drive', { architecture: 'unet', options: { head: 'fcn' }, imageHeight: 64 }],
    [
      'unet-s5-d16_fcn_4xb4-ce-1.0-dice-3.0-40k_chase-db1-128x128',
      { loss: 'cross-entropy+dice', dataset: 'chase-db1', batchSize: 4, imageWidth: 128 },
    ],
    ['setr_pup_512x512_160k_b16_ade20k', { backbone: 'vit-l/16', options: { head: 'pup' } }],
    ['mobilenet-v3-d8-scratch-s_lraspp_4xb4-320k_cityscapes-512x1024', { backbone: 'mobilenet-v3-small' }],
    ['twins_pcpvt-b_fpn_fpnhead_8x4_512x512_80k_ade20k', { architecture: 'semantic-fpn', backbone: 'twins-pcpvt-b' }],
    ['pspnet_r50-d8_4xb2-40k_cityscapes-512x1024_dark-zurich-1920x1080', { imageHeight: 512, imageWidth: 1024 }],
    ['deeplabv3plus_r101-d8_fp16_512x1024_80k_cityscapes', { precision: 'amp' }],
    ['bisenetv2_fcn_4xb4-amp-160k_cityscapes-1024x1024', { precision: 'amp', architecture: 'bisenetv2' }],
  ])('%s', (name, expected) => {
    expect(parseModelName(name)).toMatchObject({ form: 'config', confidence: 1, ...expected });
  });

  it('never give a batch that the name leaves open', () => {
    expect(parseModelName('pspnet_r101-d8_512x1024_40k_cityscapes')?.batchSize).toBeUndefined();
    expect(parseModelName('ocrnet_r101-d8_512x1024_40k_b8_cityscapes')?.batchSize).toBeUndefined();
  });

  it('with an unknown head are held as typed', () => {
    expect(parseModelName('foonet_r50-d8_512x1024_40k_cityscapes')).toMatchObject({
      architecture: 'foonet',
      backbone: 'resnet50',
      confidence: 0.3,
    });
  });

  it('are found inside a command line', () => {
    const text = '跑 tools/train.py configs/pspnet/pspnet_r50-d8_4xb2-40k_cityscapes-512x1024.py --amp 要多大显存';
    expect(findModelMentions(text).map(({ text: typed }) => typed)).toEqual([
      'configs/pspnet/pspnet_r50-d8_4xb2-40k_cityscapes-512x1024.py',
    ]);
  });
});

describe('other libraries’ config names', () => {
  it.each([
    ['COCO-InstanceSegmentation/mask_rcnn_R_101_FPN_3x.yaml', 'detectron2', 'maskrcnn', 'resnet101'],
    ['panoptic_fpn_R_50_3x', 'detectron2', 'panoptic-fpn', 'resnet50'],
    ['mask-rcnn_r50_fpn_1x_coco', 'mmdetection', 'maskrcnn', 'resnet50'],
    ['mask2former_swin-s-p4-w7-224_8xb2-lsj-50e_coco', 'mmdetection', 'mask2former', 'swin-s'],
    ['maskformer_r50_ms-16xb1-75e_coco', 'mmdetection', 'maskformer', 'resnet50'],
    ['maskformer2_R50_bs16_50ep', 'detectron2', 'mask2former', 'resnet50'],
  ])('%s', (name, implementation, architecture, backbone) => {
    const mention = parseModelName(name);
    expect(mention).toMatchObject({ architecture, backbone });
    expect(mention?.implementation).toBe(implementation);
    expect(mention?.imageHeight).toBeUndefined();
  });
});

describe('names that say more than a network', () => {
  it.each([
    [
      'maskformer2_swin_large_IN21k_384_bs16_160k_res640.yaml',
      { batchSize: 16, batchScope: 'total', backbone: 'swin-l' },
    ],
    [
      'local_configs/segformer/B1/segformer.b1.512x512.ade.160k.py',
      { backbone: 'mit-b1', imageHeight: 512, dataset: 'ade20k' },
    ],
    ['segformer_mit-b0_512x512_160k_ade20k_20210726_101530-8ffa8fda.pth', { backbone: 'mit-b0', iterations: 160000 }],
  ])('%s', (name, expected) => {
    expect(parseModelName(name)).toMatchObject(expected);
  });

  it.each([
    ['ocrnet_hrnetw18_cityscapes_1024x512_160k', 'ocrnet', 'hrnet-w18'],
    ['deeplabv3p_resnet50_os8_cityscapes_1024x512_80k.yml', 'deeplabv3plus', 'resnet50'],
    ['pp_liteseg_stdc1_cityscapes_1024x512_scale0.5_160k', 'pp-liteseg', 'stdc1'],
  ])('PaddleSeg writes width × height: %s', (name, architecture, backbone) => {
    const mention = parseModelName(name);
    expect(mention).toMatchObject({ architecture, backbone, imageHeight: 512, imageWidth: 1024 });
    expect(mention?.implementation).toBeUndefined();
  });
});

describe('hub ids', () => {
  it('are found in the address of their page', () => {
    expect(parseModelName('https://huggingface.co/nvidia/segformer-b0-finetuned-ade-512-512')).toMatchObject({
      checkpoint: 'nvidia/segformer-b0-finetuned-ade-512-512',
      backbone: 'mit-b0',
    });
  });

  it.each([
    [
      'nvidia/segformer-b2-finetuned-ade-512-512',
      { architecture: 'segformer', backbone: 'mit-b2', imageHeight: 512, imageWidth: 512, numClasses: 150 },
    ],
    ['nvidia/mit-b3', { architecture: 'segformer', backbone: 'mit-b3' }],
    ['openmmlab/upernet-swin-tiny', { architecture: 'upernet', backbone: 'swin-t' }],
    ['facebook/mask2former-swin-large-cityscapes-panoptic', { backbone: 'swin-l', numClasses: 19 }],
    ['facebook/maskformer-resnet50-ade', { architecture: 'maskformer', backbone: 'resnet50', numClasses: 150 }],
    ['microsoft/beit-base-finetuned-ade-640-640', { architecture: 'beit', backbone: 'beit-b', imageHeight: 640 }],
    ['Intel/dpt-large-ade', { architecture: 'dpt', backbone: 'vit-l/16', numClasses: 150 }],
    [
      'google/deeplabv3_mobilenet_v2_1.0_513',
      { architecture: 'deeplabv3', backbone: 'mobilenet-v2', imageHeight: 513 },
    ],
    ['apple/deeplabv3-mobilevit-x-small', { architecture: 'deeplabv3', backbone: 'mobilevit-xs' }],
    ['apple/mobilevitv2-1.0-imagenet1k-256-voc-deeplabv3', { backbone: 'mobilevitv2-1.0', numClasses: 21 }],
    ['facebook/sam-vit-base', { architecture: 'sam', backbone: 'vit-b/16' }],
    ['shi-labs/oneformer_ade20k_swin_tiny', { architecture: 'oneformer', backbone: 'swin-t', numClasses: 150 }],
    ['tue-mps/coco_panoptic_eomt_large_640', { architecture: 'eomt', backbone: 'vit-l/16', numClasses: 133 }],
    ['someone/segformer-b4-finetuned-sidewalk', { architecture: 'segformer', backbone: 'mit-b4' }],
  ])('%s', (id, expected) => {
    expect(parseModelName(id)).toMatchObject({
      implementation: 'transformers',
      checkpoint: id,
      form: 'hub',
      ...expected,
    });
  });

  it.each(['vit-b/16', 'configs/segformer', 'unet/segformer-b0', 'A100/segformer-b0'])('%s is none', (text) => {
    expect(parseModelName(text)?.form).not.toBe('hub');
  });
});
