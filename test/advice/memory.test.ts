import { describe, expect, test } from 'vitest';
import { cardOf } from '../../src/advice/choice/card.ts';
import { rememberEstimates, tryEstimate } from '../../src/advice/memory/estimates.ts';
import { oncePerBench, workbenchOf } from '../../src/advice/memory/workbench.ts';
import { imagesPerStep, workloadOf, workloadOn } from '../../src/advice/memory/workload-of.ts';
import { AppError } from '../../src/errors.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { ask, best, catalog, plainRequest, ports } from './ask.ts';
import { toyEstimate, toySeconds, toyWorkload } from './toy-estimator.ts';

describe('the workload of an entry', () => {
  const fit = best(ask(), 'A10');
  const asked: Workload = { ...toyWorkload, batchSize: 12, gradientAccumulation: 3, gpus: 1 };
  const ran = { ...asked, gpus: 2, batchSize: 8 };
  const entry = { ...fit, gpus: 2, imagesPerStep: 48 };

  test('has its number of GPUs and its share of the images', () => {
    expect(workloadOf(asked, { ...entry, changes: [] })).toEqual(ran);
    expect(imagesPerStep(ran)).toBe(48);
  });

  test.each([
    [{ id: 'amp' }, { precision: 'fp16' }],
    [{ id: 'sdpa' }, { attention: 'sdpa' }],
    [{ id: 'checkpointing' }, { gradientCheckpointing: true }],
    [
      { id: 'micro-batch', value: 2 },
      { batchSize: 2, gradientAccumulation: 12 },
    ],
    [{ id: 'micro-batch' }, {}],
  ] as const)('has its change %j', (change, changed) => {
    const made = workloadOf(asked, { ...entry, changes: [change] });
    expect(made).toEqual({ ...ran, ...changed });
    expect(imagesPerStep(made)).toBe(48);
  });

  test('on cards that come in their own number', () => {
    const on = (freeTotalBatch: number | null, count?: number) =>
      workloadOn({ ...plainRequest, workload: asked, freeTotalBatch }, count === undefined ? {} : { count });
    expect(on(null)).toEqual(asked);
    expect(on(null, 4)).toEqual({ ...asked, gpus: 4 });
    expect(on(48, 2)).toEqual({ ...asked, gpus: 2, batchSize: 8 });
    expect(on(50, 2)).toEqual({ ...asked, gpus: 2, batchSize: 9 });
    expect(on(48)).toEqual({ ...asked, batchSize: 16 });
  });
});

describe('estimates', () => {
  const refusing = (error: Error) => () => {
    throw error;
  };

  test('refused ones are none; what went wrong inside is an error', () => {
    const refused = new AppError('unsupported-combination', 'no');
    expect(tryEstimate(refusing(refused), toyWorkload)).toBeUndefined();
    for (const error of [new AppError('internal', 'broken'), new TypeError('broken')])
      expect(() => tryEstimate(refusing(error), toyWorkload)).toThrow(error);
    expect(tryEstimate(toyEstimate, toyWorkload)).toEqual(toyEstimate(toyWorkload));
  });

  test('are asked for once, refusals too; a failure is asked for again', () => {
    let asked = 0;
    const counting = (error?: Error) =>
      rememberEstimates((workload) => {
        asked += 1;
        if (error !== undefined) throw error;
        return toyEstimate(workload);
      });
    const known = counting();
    expect(known({ ...toyWorkload })).toBe(known({ ...toyWorkload }));
    expect(asked).toBe(1);
    expect(known({ ...toyWorkload, batchSize: 5 }).workload.batchSize).toBe(5);
    expect(asked).toBe(2);
    const refused = new AppError('unsupported-combination', 'no');
    const refusal = counting(refused);
    for (const _ of [1, 2]) expect(() => refusal({ ...toyWorkload })).toThrow(refused);
    expect(asked).toBe(3);
    const broken = counting(new TypeError('broken'));
    for (const _ of [1, 2]) expect(() => broken({ ...toyWorkload })).toThrow('broken');
    expect(asked).toBe(5);
  });
});

describe('the bench of a workload', () => {
  const sources = { ...ports };
  const workload = { ...toyWorkload, batchSize: 6 };

  test('is shared by equal workloads from the same sources, by no others', () => {
    const bench = workbenchOf(sources, { ...workload });
    expect(workbenchOf({ ...sources, usdCny: 8 }, { ...workload })).toBe(bench);
    expect(workbenchOf(sources, { ...workload, batchSize: 7 })).not.toBe(bench);
    const others = [
      { estimate: (one: Workload) => toyEstimate(one) },
      { secondsPerIteration: (...args: Parameters<typeof toySeconds>) => toySeconds(...args) },
      { catalog: { ...catalog } },
      { variantOf: () => undefined },
    ];
    for (const other of others) {
      const first = workbenchOf(sources, { ...workload });
      expect(workbenchOf({ ...sources, ...other }, { ...workload })).not.toBe(first);
    }
  });

  test('judges a card once', () => {
    const bench = workbenchOf(sources, workload);
    const [t4, a10] = ['NVIDIA T4', 'NVIDIA A10'].flatMap((name) => catalog.gpuByName(name) ?? []).map(cardOf);
    if (t4 === undefined || a10 === undefined) throw new Error('no cards');
    expect(bench.onCard(workload, t4)).toBe(bench.onCard(workload, t4));
    expect(bench.onCard(workload, a10)).not.toBe(bench.onCard(workload, t4));
    const { secondsWith } = bench.onCard(workload, a10);
    expect(secondsWith(1)[0]).toBeGreaterThan(secondsWith(undefined)[0]);
    expect(secondsWith(1)).toBe(secondsWith(1));
  });

  test('keeps what was computed for it by its key', () => {
    const keep = oncePerBench<number>();
    const bench = workbenchOf(sources, workload);
    const other = workbenchOf(sources, { ...workload, batchSize: 9 });
    expect([keep(bench, 'a', () => 1), keep(bench, 'a', () => 2), keep(bench, 'b', () => 3)]).toEqual([1, 1, 3]);
    expect(keep(other, 'a', () => 4)).toBe(4);
  });

  test('knows the largest batch of each card', () => {
    const largest = (name: string) => ask({ workload, own: { name } }, { estimate: toyEstimate }).maxBatch?.batchPerGpu;
    const [t4 = 0, a100 = 0] = ['T4', 'A100 80G'].map(largest);
    expect(a100).toBeGreaterThan(2 * t4);
    expect(largest('T4')).toBe(t4);
  });
});
