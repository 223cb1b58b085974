import { describe, expect, test } from 'vitest';
import type { Tip } from '../../src/advice/recommendation.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { ask } from './ask.ts';
import { toyEstimate, toySeconds, toyWorkload } from './toy-estimator.ts';

const GIB = 2 ** 30;
const ids = (tips: readonly Tip[]) => tips.map((tip) => tip.id);
const tip = (tips: readonly Tip[], id: string): Tip => {
  const found = tips.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no tip ${id} among ${ids(tips).join(', ')}`);
  return found;
};
const peak = (workload: Partial<Workload>) => toyEstimate({ ...toyWorkload, ...workload }).bytes.allocatedPeak / GIB;

describe('each tip is measured by estimating again', () => {
  const small = { batchSize: 4, imageHeight: 512, imageWidth: 512 };
  const ofSmall = () => ask({ workload: small }).tips;

  test.each([
    ['amp', { precision: 'fp16' }],
    ['checkpointing', { gradientCheckpointing: true }],
    ['accumulation', { batchSize: 2, gradientAccumulation: 2 }],
    ['output-stride', { outputStride: 16 }],
    ['smaller-crop', { imageHeight: 384, imageWidth: 384 }],
    ['frozen-backbone', { frozenBackbone: true }],
  ] as const)('%s', (id, change) => {
    expect(tip(ofSmall(), id).savesGiB).toBeCloseTo(peak(small) - peak({ ...small, ...change }), 6);
  });

  test('time is new ÷ old seconds per image', () => {
    expect(tip(ofSmall(), 'amp').timeFactor).toBeLessThan(1);
    expect(tip(ofSmall(), 'checkpointing').timeFactor).toBeGreaterThan(1.1);
    expect(tip(ofSmall(), 'accumulation').timeFactor).toBeCloseTo(1, 0);
  });

  test('AMP names the precision of the card', () => {
    expect(tip(ofSmall(), 'amp')).toMatchObject({ say: 'bf16', values: { precision: 'bf16' } });
    const onT4 = ask({ workload: small, own: { name: 'T4' } }).tips;
    expect(tip(onT4, 'amp').say).toBe('fp16');
  });

  test('a lighter variant stands beside its published accuracy', () => {
    const model = {
      implementation: 'mmseg',
      architecture: 'deeplabv3plus',
      backbone: 'resnet101',
      options: {},
    } as const;
    const lighter = tip(ask({ workload: { ...small, model }, run: { dataset: 'cityscapes' } }).tips, 'lighter-variant');
    expect(lighter.values).toMatchObject({
      from: 'resnet101',
      dataset: 'cityscapes',
      library: 'mmseg',
      metric: 'mIoU',
    });
    expect(lighter.savesGiB).toBeGreaterThan(0.15 * peak({ ...small, model }));
    // The toy says that ResNet-18 needs as much as ResNet-50: nothing lighter, so no tip.
    expect(ids(ask({ workload: small, run: { dataset: 'cityscapes' } }).tips)).not.toContain('lighter-variant');
    expect(Number(lighter.values['accuracyTo'])).toBeLessThan(Number(lighter.values['accuracyFrom']));
  });

  test('the loss on low-resolution logits counts fifteen sixteenths of the loss', () => {
    const many = { ...small, numClasses: 150 };
    const found = tip(ask({ workload: many }).tips, 'low-resolution-loss');
    const loss = toyEstimate({ ...toyWorkload, ...many }).holders.find((holder) => holder.kind === 'loss')?.bytes ?? 0;
    expect(found.savesGiB).toBeCloseTo(((loss / GIB) * 15) / 16, 9);
    expect(ids(ask({ workload: { ...small, numClasses: 2 } }).tips)).not.toContain('low-resolution-loss');
  });
});

describe('a tip is shown only when it applies', () => {
  const idsOf = (workload: Partial<Workload>, rest = {}) => ids(ask({ workload, ...rest }).tips);

  test('what is already on, or what the library cannot do', () => {
    expect(idsOf({ precision: 'bf16' })).not.toContain('amp');
    expect(idsOf({ gradientCheckpointing: true })).not.toContain('checkpointing');
    expect(idsOf({ frozenBackbone: true })).not.toContain('frozen-backbone');
    expect(idsOf({ outputStride: 16 })).not.toContain('output-stride');
    const swin = { implementation: 'mmseg', architecture: 'upernet', backbone: 'swin-t', options: {} } as const;
    expect(idsOf({ model: swin })).not.toContain('output-stride');
    expect(idsOf({})).not.toContain('sdpa');
    const smp = { implementation: 'smp', architecture: 'unet', backbone: 'resnet34', options: {} } as const;
    expect(idsOf({ model: smp })).not.toContain('checkpointing');
    const hf = { implementation: 'transformers', architecture: 'segformer', backbone: 'mit-b2', options: {} } as const;
    expect(idsOf({ model: hf })).toContain('sdpa');
    expect(idsOf({ model: hf, attention: 'sdpa' })).not.toContain('sdpa');
  });

  test('no smaller crop below 256 pixels, no smaller batch than BatchNorm takes', () => {
    expect(idsOf({ imageHeight: 256, imageWidth: 256 })).not.toContain('smaller-crop');
    expect(idsOf({ batchSize: 2 })).not.toContain('accumulation');
  });

  test('varying sizes: expandable segments, with reserved before and after', () => {
    expect(idsOf({})).not.toContain('expandable-segments');
    const found = tip(ask({ workload: { multiScale: [0.5, 2] } }).tips, 'expandable-segments');
    expect(Number(found.values['reservedGiB'])).toBeGreaterThan(Number(found.values['allocatedGiB']));
  });

  test('resident gradients, validation larger than training', () => {
    expect(idsOf({ residentGradients: true })).toContain('set-to-none');
    expect(idsOf({ residentGradients: true, gradientAccumulation: 2 })).not.toContain('set-to-none');
    const heavy = (workload: Workload) => {
      const made = toyEstimate(workload);
      const validationPeak = workload.validationMode === 'slide' ? GIB : made.bytes.allocatedPeak * 2;
      return { ...made, bytes: { ...made.bytes, validationPeak } };
    };
    const found = tip(ask({}, { estimate: heavy }).tips, 'sliding-validation');
    expect(found.values).toMatchObject({ slidingGiB: 1 });
    expect(idsOf({})).not.toContain('sliding-validation');
  });

  test('a fused optimizer where the step is the peak', () => {
    const stepping = (workload: Workload) => {
      const made = toyEstimate(workload);
      const saved = workload.optimizerStep === 'fused' ? GIB : 0;
      const bytes = { ...made.bytes, allocatedPeak: made.bytes.allocatedPeak - saved };
      return { ...made, bytes, peak: { ...made.peak, phase: 'step' as const } };
    };
    expect(tip(ask({}, { estimate: stepping }).tips, 'fused-optimizer').savesGiB).toBeCloseTo(1, 6);
    expect(idsOf({})).not.toContain('fused-optimizer');
  });

  test('channels-last only in 16 bit, by the time that the estimator gives it', () => {
    const seconds: typeof toySeconds = (estimate, gpu, options) => {
      const [low, high] = toySeconds(estimate, gpu, options);
      return 'channelsLast' in options && options.channelsLast === true ? [low * 0.7, high * 0.7] : [low, high];
    };
    const asked = { workload: { precision: 'fp16' } } as const;
    expect(tip(ask(asked, { secondsPerIteration: seconds }).tips, 'channels-last').timeFactor).toBeCloseTo(0.7, 6);
    expect(ids(ask(asked).tips)).not.toContain('channels-last');
    expect(ids(ask({}, { secondsPerIteration: seconds }).tips)).not.toContain('channels-last');
  });

  test('several GPUs: what sharding would save; without peer-to-peer, one card that accumulates', () => {
    expect(idsOf({})).not.toContain('zero-helps-little');
    const two = ask({ workload: { gpus: 2, batchSize: 2 }, only: { gpus: [{ name: 'A10' }], instances: [] } }).tips;
    expect(tip(two, 'zero-helps-little').values['percent']).toBeLessThan(10);
    expect(tip(two, 'ddp-or-accumulation').values['gpus']).toBe(2);
    const nvlink = ask({
      workload: { gpus: 2, batchSize: 2 },
      only: { gpus: [{ name: 'V100 32G' }], instances: [] },
    }).tips;
    expect(ids(nvlink)).not.toContain('ddp-or-accumulation');
  });

  test('money: spot, release and subscription by the way of paying', () => {
    expect(idsOf({})).toEqual(expect.arrayContaining(['spot', 'release']));
    expect(idsOf({}, { chargeType: 'Spot' })).toContain('spot-checkpoints');
    expect(idsOf({}, { chargeType: 'Spot' })).not.toContain('spot');
    expect(idsOf({}, { chargeType: 'PrePaid' })).toContain('subscription');
    const monthly = ask({ budget: { amount: 9000, currency: 'CNY', period: 'month' } }).tips;
    expect(tip(monthly, 'subscription').values).toEqual({ thresholdHours: 480, hoursPerMonth: 720 });
  });

  test('loading: workers of the type, DALI for large pictures, a cache for large data', () => {
    expect(tip(ask().tips, 'workers').values).toMatchObject({ workers: 15, vcpuPerGpu: 16 });
    expect(idsOf({ imageHeight: 512, imageWidth: 512, batchSize: 2 })).not.toContain('dali');
    expect(idsOf({ imageHeight: 1024, imageWidth: 1024, batchSize: 2 })).toContain('dali');
    expect(idsOf({}, { run: { dataset: 'cityscapes' } })).not.toContain('local-cache');
    expect(idsOf({}, { run: { dataset: 'flair-1' } })).toContain('local-cache');
  });

  test('a long run: the training platform', () => {
    expect(idsOf({}, { run: { iterations: 100 } })).not.toContain('pai-dlc');
    expect(idsOf({}, { run: { iterations: 1_000_000 } })).toContain('pai-dlc');
  });
});

describe('the order follows what is lacking', () => {
  test('short of memory: memory first, and what leaves the result alone before what changes it', () => {
    const { tips } = ask({ workload: { batchSize: 16 }, own: { name: 'T4' } });
    const memory = ['amp', 'checkpointing', 'accumulation', 'output-stride', 'smaller-crop', 'frozen-backbone'];
    expect(memory).toContain(tips[0]?.id);
    expect(ids(tips).indexOf('checkpointing')).toBeLessThan(ids(tips).indexOf('smaller-crop'));
  });

  test('nothing within budget: money first', () => {
    const { tips } = ask({ workload: { batchSize: 2 }, budget: { amount: 1, currency: 'CNY', period: 'hour' } });
    expect(['spot', 'release']).toContain(tips[0]?.id);
  });

  test('no tip appears twice', () => {
    const all = ids(ask({ workload: { batchSize: 8, gpus: 2, multiScale: [0.5, 2] } }).tips);
    expect(new Set(all).size).toBe(all.length);
  });
});
