import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import aliases from '../../catalog/aliases.json' with { type: 'json' };
import models from '../../catalog/models.json' with { type: 'json' };
import { builtInModels, type ModelSpec, parseModels } from '../../catalog/models.ts';
import { type Resolution, resolveModel } from '../../catalog/resolve-model.ts';
import { parseModelName } from '../../src/understanding/names/find-mentions.ts';
import { spellings } from '../../src/understanding/names/vocabulary.ts';

const catalog = builtInModels();
const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../fixtures/names/${name}`, import.meta.url), 'utf8'));

const modelNames = z.array(
  z.object({
    model: z.string(),
    implementation: z.enum(['mmseg', 'detectron2', 'milesial', 'original']).optional(),
    numClasses: z.number().optional(),
    baseChannels: z.number().optional(),
    norm: z.string().optional(),
    imageHeight: z.number().optional(),
    parameters: z.number().optional(),
  }),
);
const configs = z.array(
  z.object({ name: z.string(), structure: z.number(), crop: z.tuple([z.number(), z.number()]), batch: z.number() }),
);
const combinations = z.object({
  encoders: z.array(z.string()),
  decoders: z.array(z.string()),
  refused: z.array(z.string()),
});

function parsed(model: string) {
  const mention = parseModelName(model);
  if (mention === undefined) throw new Error(`not read: ${model}`);
  return mention;
}

function resolve(model: string, implementation?: ModelSpec['implementation']): Resolution {
  const mention = parsed(model);
  return resolveModel(implementation === undefined ? mention : { ...mention, implementation }, catalog);
}

function specOf(model: string, implementation?: ModelSpec['implementation']): ModelSpec {
  const resolution = resolve(model, implementation);
  if (resolution.kind !== 'model') throw new Error(`${model}: ${JSON.stringify(resolution)}`);
  return resolution.spec;
}

/** What a network is built from; the checkpoint's name is not. */
function structureOf({ options: { checkpoint: _checkpoint, ...options }, ...spec }: ModelSpec): string {
  return JSON.stringify({ ...spec, options });
}

describe('names of the truth set', () => {
  const rows = modelNames.parse(fixture('model-names.json'));

  it('all resolve', () => {
    expect(rows.length).toBeGreaterThan(800);
    const failed = rows.filter(({ model, implementation }) => resolve(model, implementation).kind !== 'model');
    expect(failed).toEqual([]);
  });

  it('never give one spec to networks with different parameters', () => {
    const seen = new Map<string, number>();
    for (const { model, implementation, parameters, ...rest } of rows) {
      if (parameters === undefined) continue;
      const channels = parseModelName(model)?.inputChannels ?? 3;
      const key = structureOf(specOf(model, implementation)) + JSON.stringify({ ...rest, channels });
      expect({ model, parameters }).toEqual({ model, parameters: seen.get(key) ?? parameters });
      seen.set(key, parameters);
    }
  });
});

describe('packaged MMSegmentation configs', () => {
  const rows = configs.parse(fixture('mmseg-configs.json'));
  /** Differences that no tensor's shape depends on: drop-path rate, activation default; and LEVIR's six channels. */
  const SAME_SHAPE = /^knet-s3_swin-l|^setr_.*(?:mla|pup)|levir/;

  it('get one spec per network and one network per spec', () => {
    const structures = new Map<string, number>();
    for (const { name, structure } of rows.filter((row) => !SAME_SHAPE.test(row.name))) {
      const key = structureOf(specOf(name));
      expect({ name, structure }).toEqual({ name, structure: structures.get(key) ?? structure });
      structures.set(key, structure);
    }
    expect(structures.size).toBeGreaterThan(170);
  });

  it('crop to what the name or its recipe says', () => {
    const wrong = rows.filter(({ name, crop }) => {
      const { imageHeight, imageWidth } = parseModelName(name) ?? {};
      const resolution = resolve(name);
      const recipe = resolution.kind === 'model' ? resolution.defaults.recipeSize : null;
      const size = recipe === null ? [imageHeight, imageWidth] : [recipe.height, recipe.width];
      return size[0] !== crop[0] || size[1] !== crop[1];
    });
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  it('hold the images per GPU that the name says, two published slips aside', () => {
    const wrong = rows.filter(({ name, batch }) => {
      const said = parseModelName(name)?.batchSize;
      return said !== undefined && said !== batch;
    });
    expect(wrong.map(({ name }) => name)).toEqual([
      'cgnet_fcn_4xb4-60k_cityscapes-680x680',
      'swin-tiny-patch4-window7_upernet_1xb8-20k_levir-256x256',
    ]);
  });

  it('take the options that the names only hint at', () => {
    expect(specOf('psanet_r50-d8_4xb4-80k_ade20k-512x512').options).toEqual({ maskSize: 66 });
    expect(specOf('setr_vit-l_naive_8xb2-160k_ade20k-512x512').options).toEqual({ auxiliaryConvs: 2, head: 'naive' });
    expect(specOf('fpn_r101_4xb4-160k_ade20k-512x512').backbone).toBe('resnet50');
    expect(specOf('pspnet_r50-d32_rsb_4xb2-adamw-80k_cityscapes-512x1024').options).toEqual({
      outputStride: 32,
      stem: 'v1',
    });
    expect(specOf('deeplabv3_r101-d16-mg124_512x1024_40k_cityscapes').options).toEqual({
      multiGrid: [1, 2, 4],
      outputStride: 16,
    });
  });
});

describe('names of properties that every object has', () => {
  it.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__'])(
    '%s is no encoder and no network',
    (name) => {
      expect(resolve(`smp.Unet('${name}')`)).toMatchObject({ kind: 'unknown', what: 'backbone' });
      const unknown = resolveModel({ ...parsed('unet'), architecture: name }, catalog);
      expect(unknown).toMatchObject({ kind: 'unknown', what: 'architecture', name });
      expect(unknown.kind === 'unknown' && unknown.nearby.every((near) => typeof near === 'string')).toBe(true);
    },
  );
});

describe('segmentation_models_pytorch combinations', () => {
  const { encoders, decoders, refused } = combinations.parse(fixture('smp-combinations.json'));

  it.each(decoders)('%s: builds and refuses what the library does, under the encoder’s own name', (decoder) => {
    for (const encoder of encoders) {
      const resolution = resolve(`smp.${decoder}('${encoder}', classes=2)`);
      const built = resolution.kind === 'model' ? resolution.spec.backbone : null;
      expect(`${encoder} ${built}`).toBe(`${encoder} ${refused.includes(`${decoder} ${encoder}`) ? null : encoder}`);
    }
  });

  it('says why and what works instead', () => {
    expect(resolve("smp.DeepLabV3Plus('vgg16_bn')")).toMatchObject({
      kind: 'unknown',
      what: 'combination',
      reason: expect.stringContaining('VGG'),
      nearby: ['resnet18', 'resnet34', 'resnet50', 'resnet101'],
    });
  });
});

describe('which library a plain name means', () => {
  it.each([
    ['deeplabv3+', 'mmseg', 'resnet50'],
    ['segformer b2', 'mmseg', 'mit-b2'],
    ['unet', 'milesial', null],
    ['unet resnet34', 'smp', 'resnet34'],
    ['unet++', 'smp', 'resnet34'],
    ['deeplabv3+ efficientnet-b4', 'smp', 'efficientnet-b4'],
    ['upernet swin-t', 'mmseg', 'swin-t'],
    ['fpn', 'smp', 'resnet34'],
    ['semantic fpn', 'mmseg', 'resnet50'],
    ['mask rcnn', 'detectron2', 'resnet50'],
    ['hrnet w48', 'mmseg', 'hrnet-w48'],
    ['swin-unet', 'original', null],
    ['oneformer swin-l', 'transformers', 'swin-l'],
  ] as const)('%s', (model, implementation, backbone) => {
    const resolution = resolve(model);
    expect(resolution).toMatchObject({ kind: 'model', spec: { implementation, backbone } });
  });

  it('follows a library that was named, with the others as alternatives', () => {
    const resolution = resolve('smp deeplabv3plus resnet50');
    expect(resolution).toMatchObject({ spec: { implementation: 'smp' }, alternatives: [], assumed: [] });
    expect(resolve('deeplabv3plus resnet50')).toMatchObject({
      alternatives: [{ implementation: 'smp', backbone: 'resnet50' }],
      assumed: ['implementation'],
    });
  });

  it('takes a size alone as the backbone of the family that the network has', () => {
    const sized = (architecture: string) => resolveModel({ architecture, backbone: 'b3' }, catalog);
    expect(sized('segformer')).toMatchObject({ spec: { implementation: 'mmseg', backbone: 'mit-b3' } });
    expect(sized('unetplusplus')).toMatchObject({ spec: { implementation: 'smp', backbone: 'efficientnet-b3' } });
    expect(sized('danet')).toMatchObject({ kind: 'unknown', what: 'backbone' });
  });

  it('knows transformers’ mobile networks by the name DeepLabV3', () => {
    expect(specOf('google/deeplabv3_mobilenet_v2_1.0_513')).toMatchObject({ architecture: 'mobilenet-v2' });
    expect(specOf('apple/deeplabv3-mobilevit-xx-small')).toMatchObject({
      architecture: 'mobilevit',
      backbone: 'mobilevit-xxs',
    });
  });

  it('builds configuration classes at the library’s own sizes', () => {
    expect(specOf('DPTForSemanticSegmentation(DPTConfig(num_labels=150))')).toMatchObject({ backbone: 'vit-b/16' });
    expect(specOf('DPTForSemanticSegmentation.from_pretrained("Intel/dpt-large-ade")')).toMatchObject({
      backbone: 'vit-l/16',
    });
  });
});

describe('what is not known', () => {
  it('a backbone that the head never had is refused with its neighbours', () => {
    expect(resolve('danet swin-t')).toMatchObject({ kind: 'unknown', what: 'backbone', name: 'swin-t' });
    expect(resolve('upernet + foonet')).toMatchObject({ kind: 'unknown', what: 'backbone', name: 'foonet' });
    expect(resolve('upernet_convformer-s18_8xb2-160k_ade20k-512x512')).toMatchObject({
      kind: 'unknown',
      name: 'convformer-s18',
    });
    expect(resolve('segformer resnet50', 'mmseg')).toMatchObject({
      kind: 'unknown',
      nearby: ['mit-b0', 'mit-b1', 'mit-b2', 'mit-b3'],
    });
  });

  it('a network without a row names the nearest that has one', () => {
    expect(resolve('segnet 512')).toMatchObject({ kind: 'unknown', what: 'architecture', nearby: ['unet'] });
    expect(resolve('hyperpidnet 512')).toMatchObject({ kind: 'unknown', nearby: expect.arrayContaining(['pidnet']) });
  });

  it('a library that lacks the network names those that have it', () => {
    expect(resolve('segnext mscan-t', 'detectron2')).toMatchObject({ kind: 'unknown', nearby: ['mmseg segnext'] });
  });

  it('a size or a backbone alone is a question', () => {
    expect(resolve('b5')).toEqual({
      kind: 'ambiguous',
      candidates: [
        { architecture: 'segformer', backbone: 'mit-b5' },
        { architecture: 'unet', backbone: 'efficientnet-b5' },
      ],
    });
    expect(resolve('swin-t')).toMatchObject({ kind: 'ambiguous' });
    expect(resolve('mscan-b')).toMatchObject({ kind: 'model', spec: { architecture: 'segnext' } });
  });
});

describe('the files', () => {
  it('give every spelling one meaning', () => {
    const meanings = new Map<string, string>();
    const twice: string[] = [];
    for (const [name, meaning] of spellings(catalog.aliases)) {
      const { architecture, backbone, options } = meaning;
      const text = JSON.stringify({ architecture, backbone, options });
      const key = name.replaceAll(' ', '');
      if ((meanings.get(key) ?? text) !== text) twice.push(name);
      meanings.set(key, text);
    }
    expect(twice).toEqual([]);
  });

  it('name only backbones that some spelling leads to', () => {
    const spelled = new Set([...spellings(catalog.aliases)].map(([, { backbone }]) => backbone));
    const unreachable = catalog.rows
      .filter(({ implementation }) => implementation !== 'smp')
      .flatMap((row) => catalog.backbonesOf.get(row) ?? [])
      .filter((backbone) => !spelled.has(backbone) && !spelled.has(backbone.replace(/\/16$/, '')));
    expect([...new Set(unreachable)]).toEqual([]);
  });

  it('are refused when a row is there twice or lacks its default backbone', () => {
    const [row, ...rows] = models.rows;
    expect(() => parseModels({ ...models, rows: [row, row, ...rows] }, aliases)).toThrow(/twice/);
    const broken = { ...row, defaultBackbone: 'resnet999' };
    expect(() => parseModels({ ...models, rows: [broken, ...rows] }, aliases)).toThrow(/default backbone/);
  });
});
