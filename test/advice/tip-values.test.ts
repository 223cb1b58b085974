import { describe, expect, test } from 'vitest';
import { createPriceBook } from '../../catalog/price-book.ts';
import type { Tip } from '../../src/advice/recommendation.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { ask, catalog } from './ask.ts';
import { toyEstimate, toySeconds } from './toy-estimator.ts';

type Question = NonNullable<Parameters<typeof ask>[0]>;
type Ports = NonNullable<Parameters<typeof ask>[1]>;

const GIB = 2 ** 30;
const small = { batchSize: 4, imageHeight: 512, imageWidth: 512 };
const segformer = {
  implementation: 'transformers',
  architecture: 'segformer',
  backbone: 'mit-b2',
  options: {},
} as const;
const smp = { implementation: 'smp', architecture: 'unet', backbone: 'resnet34', options: {} } as const;

const tipsOf = (workload: Partial<Workload>, rest: Omit<Question, 'workload'> = {}, ports: Ports = {}) =>
  ask({ workload: { ...small, ...workload }, ...rest }, ports).tips;
const idsOf = (...asked: Parameters<typeof tipsOf>) => tipsOf(...asked).map(({ id }) => id);

function tip(tips: readonly Tip[], id: string): Tip {
  const found = tips.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no tip ${id}`);
  return found;
}

/** The toy with other bytes. */
const withBytes =
  (bytesOf: (workload: Workload) => Partial<ReturnType<typeof toyEstimate>['bytes']>) => (workload: Workload) => {
    const made = toyEstimate(workload);
    return { ...made, bytes: { ...made.bytes, ...bytesOf(workload) } };
  };

describe('what to say to take a tip', () => {
  test.each([
    ['amp', 'bf16', { precision: 'bf16', percent: 34 }],
    ['checkpointing', 'gradient checkpointing', {}],
    ['accumulation', 'batch 2 accumulation 2', { microBatch: 2, steps: 2, batchNorm: 'no' }],
    ['output-stride', 'output stride 16', {}],
    ['smaller-crop', '384x384', { imageHeight: 384, imageWidth: 384 }],
    ['frozen-backbone', 'freeze backbone', {}],
  ])('%s: %s', (id, say, values) => {
    expect(tip(tipsOf({}), id)).toMatchObject({ say, values });
  });

  test('fused attention', () => {
    expect(tip(tipsOf({ model: segformer }), 'sdpa').say).toBe('sdpa');
  });

  test('accumulation goes on from what is accumulated, and tells of BatchNorm by its buffers', () => {
    const found = tip(tipsOf({ batchSize: 9, gradientAccumulation: 2 }), 'accumulation');
    expect(found).toMatchObject({ say: 'batch 3 accumulation 6', values: { microBatch: 3, steps: 6 } });
    const buffers = withBytes(() => ({ buffers: 100 }));
    expect(tip(tipsOf({}, {}, { estimate: buffers }), 'accumulation').values['batchNorm']).toBe('yes');
  });

  test('an auxiliary head, where there is one to leave out', () => {
    const heavy = (workload: Workload) => {
      const made = toyEstimate(workload);
      const head = workload.auxiliaryHead === false ? 0 : GIB;
      return { ...made, bytes: { ...made.bytes, allocatedPeak: made.bytes.allocatedPeak + head } };
    };
    const found = tip(tipsOf({}, {}, { estimate: heavy }), 'auxiliary-head');
    expect(found.say).toBe('no auxiliary head');
    expect(found.savesGiB).toBeCloseTo(1, 9);
    for (const workload of [{ auxiliaryHead: false }, { model: segformer }, { model: smp }])
      expect(idsOf(workload, {}, { estimate: heavy })).not.toContain('auxiliary-head');
  });
});

describe('figures of a tip', () => {
  test('the loss', () => {
    const { tips, estimate } = ask({ workload: { ...small, numClasses: 150 } });
    const loss = estimate.holders.find(({ kind }) => kind === 'loss')?.bytes ?? 0;
    expect(tip(tips, 'low-resolution-loss').values).toEqual({ lossGiB: loss / GIB, classes: 150 });
  });

  test('validation of whole images, where sliding needs less', () => {
    const at = (whole: number, slide: number) =>
      withBytes(({ validationMode }) => ({ validationPeak: (validationMode === 'slide' ? slide : whole) * GIB }));
    const found = tip(tipsOf({}, {}, { estimate: at(40, 3) }), 'sliding-validation');
    expect(found.values).toEqual({ wholeGiB: 40, slidingGiB: 3 });
    expect(idsOf({}, {}, { estimate: at(40, 40) })).not.toContain('sliding-validation');
    expect(idsOf({ validationMode: 'slide' }, {}, { estimate: at(40, 40) })).not.toContain('sliding-validation');
  });

  test('growing segments', () => {
    const estimate = withBytes(({ expandableSegments }) => ({ reserved: (expandableSegments ? 4 : 9) * GIB }));
    const { tips, estimate: asked } = ask({ workload: small }, { estimate });
    expect(tip(tips, 'expandable-segments').values).toEqual({
      reservedGiB: 9,
      allocatedGiB: asked.bytes.allocatedPeak / GIB,
      afterGiB: 4,
    });
    expect(idsOf({ expandableSegments: true }, {}, { estimate })).not.toContain('expandable-segments');
  });

  test('sharding and one card instead of two', () => {
    const only = { gpus: [{ name: 'A10' }], instances: [] };
    const { tips, estimate } = ask({ workload: { ...small, gpus: 2 }, only });
    const saved = estimate.bytes.optimizerState / 2;
    expect(tip(tips, 'zero-helps-little').values).toEqual({
      savesGiB: saved / GIB,
      percent: Math.round((saved / estimate.bytes.allocatedPeak) * 100),
    });
    const { gpus, speedup } = tip(tips, 'ddp-or-accumulation').values;
    expect(gpus).toBe(2);
    expect(speedup).toBeGreaterThan(1.5);
    expect(speedup).toBeLessThanOrEqual(2);
  });

  test('money: the spot price where one is known, the hours where the run is', () => {
    expect(tip(tipsOf({}), 'spot').values).toEqual({});
    expect(tip(tipsOf({}), 'release').values).toEqual({});
    const live = {
      instanceType: ask({ workload: small }).recommended?.instanceType ?? '',
      region: 'cn-hangzhou',
      currency: 'CNY',
      amountPerHour: 5,
      spotPerHour: 1,
      source: 'test',
      checkedOn: '2026-11-30',
    } as const;
    const prices = createPriceBook(catalog.prices, { live: [live] });
    const { tips, recommended } = ask({ workload: small, run: { iterations: 3600 } }, { prices });
    expect(tip(tips, 'spot').values).toEqual({ amount: 1, currency: 'CNY' });
    expect(tip(tips, 'release').values).toEqual({ hours: recommended?.runHours });
    const month = { budget: { amount: 9000, currency: 'CNY', period: 'month' } } as const;
    expect(idsOf({}, month)).toContain('subscription');
    for (const id of ['spot', 'release', 'subscription']) {
      expect(idsOf({}, { ...month, region: 'cn-lhasa' })).not.toContain(id);
      expect(idsOf({}, { budget: { ...month.budget, period: 'hour' } }).includes(id)).toBe(id !== 'subscription');
    }
    expect(idsOf({})).not.toContain('spot-checkpoints');
  });
});

describe('a tip of the run needs its reason', () => {
  const own = (name: string) => ({ own: { name } });

  test('the search for kernels: a nearly full card and convolutions', () => {
    const onFullT4 = (model: Workload['model']) => {
      const workload = { ...small, model, batchSize: 2 };
      const batchSize = ask({ workload, ...own('T4') }).maxBatch?.batchPerGpu ?? 0;
      return idsOf({ model, batchSize }, own('T4'));
    };
    expect(onFullT4(smp)).toContain('cudnn-benchmark');
    expect(onFullT4({ ...smp, backbone: null })).toContain('cudnn-benchmark');
    expect(onFullT4(segformer)).not.toContain('cudnn-benchmark');
    expect(idsOf({}, own('A100 80G'))).not.toContain('cudnn-benchmark');
  });

  test('channels-last: not where the library does it itself, not where no time is known', () => {
    const secondsPerIteration: typeof toySeconds = (estimate, gpu, options) => {
      const [low, high] = toySeconds(estimate, gpu, options);
      return 'channelsLast' in options && options.channelsLast === true ? [low / 2, high / 2] : [low, high];
    };
    const half = { precision: 'fp16' } as const;
    expect(idsOf(half, {}, { secondsPerIteration })).toContain('channels-last');
    const ultralytics = { ...smp, implementation: 'ultralytics' } as const;
    expect(idsOf({ ...half, model: ultralytics }, {}, { secondsPerIteration })).not.toContain('channels-last');
    expect(idsOf(half, { own: { memoryGiB: 24 } }, { secondsPerIteration })).not.toContain('channels-last');
  });

  test('decoding on the card: few processors too', () => {
    const t4 = { only: { gpus: [], instances: ['ecs.gn6i-c4g1.xlarge'] } };
    expect(idsOf({}, t4)).toContain('dali');
    expect(tip(tipsOf({}, t4), 'workers').values).toEqual({ workers: 3, vcpuPerGpu: 4, advisedVcpuPerGpu: 8 });
    expect(idsOf({})).not.toContain('dali');
    expect(idsOf({}, own('T4'))).not.toContain('workers');
  });

  test('AMP: memory or time, either is enough', () => {
    const estimate = withBytes(() => ({ allocatedPeak: 3 * GIB }));
    expect(tip(tipsOf({}, {}, { estimate }), 'amp')).toMatchObject({ savesGiB: 0, values: { percent: 0 } });
    expect(idsOf({}, { own: { memoryGiB: 24 } }, { estimate })).not.toContain('amp');
  });
});

describe('where no card is left', () => {
  const nothing = { avoid: catalog.gpus.map(({ label }) => label), deadlineHours: 1 };

  test('tips are about the asked workload, without times', () => {
    const tips = tipsOf({}, nothing);
    expect(tips.map(({ id }) => id)).toContain('checkpointing');
    expect(tips.every(({ timeFactor }) => timeFactor === 1)).toBe(true);
    expect(tip(tips, 'amp').say).toBe('fp16');
  });

  test('a card without times gives none either', () => {
    expect(tipsOf({}, { own: { memoryGiB: 24 } }).every(({ timeFactor }) => timeFactor === 1)).toBe(true);
  });
});

describe('the order', () => {
  const memory = ['amp', 'checkpointing', 'accumulation', 'smaller-crop', 'frozen-backbone', 'output-stride'];

  test.each<[string, Question, readonly string[]]>([
    ['room enough: memory, time, money', { workload: small }, [...memory, 'workers', 'spot', 'release']],
    [
      'over budget: money, memory, time',
      { workload: small, budget: { amount: 1, currency: 'CNY', period: 'hour' } },
      ['spot', 'release', ...memory, 'workers'],
    ],
    [
      'too late: time, memory, money, safety',
      { workload: small, run: { iterations: 10_000_000 }, deadlineHours: 1 },
      ['workers', ...memory, 'spot', 'release', 'pai-dlc'],
    ],
    [
      'short of memory: memory, money, safety',
      { workload: { batchSize: 16 }, own: { name: 'T4' } },
      ['amp', 'accumulation', 'checkpointing', 'smaller-crop', 'frozen-backbone', 'output-stride', 'spot', 'release'],
    ],
  ])('%s', (_, question, ids) => {
    const shown = ask(question).tips.map(({ id }) => id);
    expect(shown.filter((id) => ids.includes(id))).toEqual(ids);
  });

  test('a card that takes changes, or is nearly full, is short of memory', () => {
    const budget = { amount: 1, currency: 'CNY', period: 'hour' } as const;
    const first = (batchSize: number, name: string) =>
      ask({ workload: { batchSize }, own: { name }, budget }).tips[0]?.id;
    expect(first(10, 'T4')).toBe('amp');
    expect(first(2, 'T4')).toBe('spot');
    const largest = ask({ workload: { batchSize: 2 }, own: { name: 'T4' } }).maxBatch?.batchPerGpu ?? 0;
    expect(first(largest, 'T4')).not.toBe('spot');
  });
});
