import { describe, expect, test } from 'vitest';

import { toGpuSpec } from '../../catalog/gpu-names.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import type { GpuSpec } from '../../src/estimator/estimate-result.ts';
import { secondsPerIteration } from '../../src/estimator/timing.ts';
import { quantile, sharedCatalog, truthRows, workloadOf } from './truth.ts';

function gpu(name: string): GpuSpec {
  const match = sharedCatalog().findGpu(name);
  if (match === undefined || 'ambiguous' in match) throw new Error(`no card ${name}`);
  return toGpuSpec(match);
}

const middle = ([low, high]: readonly [number, number]): number => Math.sqrt(low * high);
const dl3p = { model: 'deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024' };

describe('measured seconds per iteration', () => {
  const rows = truthRows('time').map((row) => {
    const range = secondsPerIteration(estimate(workloadOf(row.input)), gpu(String(row.input['gpu'])));
    const want = row.expect['secondsPerIteration'] ?? Number.NaN;
    const slack = 1 + (row.tolerance?.['secondsPerIteration'] ?? 0);
    return {
      log: Math.abs(Math.log(middle(range) / want)),
      inside: range[0] / slack <= want && want <= range[1] * slack,
      range,
    };
  });

  test('are met within the promised error', () => {
    expect(
      quantile(
        rows.map(({ log }) => log),
        0.5,
      ),
    ).toBeLessThanOrEqual(0.2);
    expect(
      quantile(
        rows.map(({ log }) => log),
        0.9,
      ),
    ).toBeLessThanOrEqual(0.5);
  });

  test('lie in four of five stated ranges, none wider than 40 %', () => {
    expect(rows.filter(({ inside }) => inside).length / rows.length).toBeGreaterThanOrEqual(0.8);
    for (const { range } of rows) expect(Math.sqrt(range[1] / range[0]) - 1).toBeLessThanOrEqual(0.4);
  });
});

describe('what changes the time', () => {
  const on = (name: string, input: Record<string, unknown>, options = {}): number =>
    middle(secondsPerIteration(estimate(workloadOf({ ...dl3p, ...input })), gpu(name), options));

  test('16 bit is faster where there are tensor cores, and not on Pascal', () => {
    expect(on('A10', { precision: 'fp16' })).toBeLessThan(on('A10', {}));
    expect(on('GTX 1080 Ti', { precision: 'fp16' })).toBeGreaterThan(0.9 * on('GTX 1080 Ti', {}));
  });

  test('checkpointing costs about one more forward pass', () => {
    const factor = on('A10', { gradientCheckpointing: true }) / on('A10', {});
    expect(factor).toBeGreaterThan(1.1);
    expect(factor).toBeLessThan(1.45);
  });

  test('a frozen backbone saves most of its backward pass', () => {
    expect(on('A10', { frozenBackbone: true })).toBeLessThan(0.75 * on('A10', {}));
  });

  test('accumulation multiplies, more GPUs exchange gradients, few cores bound', () => {
    expect(on('A10', { gradientAccumulation: 4 }) / on('A10', {})).toBeGreaterThan(3.5);
    expect(on('A10', { gpus: 4 })).toBeGreaterThan(on('A10', { gpus: 1 }));
    expect(on('A100 80GB', {}, { vcpusPerGpu: 2 })).toBeGreaterThan(on('A100 80GB', {}, { vcpusPerGpu: 16 }));
  });

  test('channels_last helps 16-bit convolutions only', () => {
    expect(on('A10', { precision: 'fp16' }, { channelsLast: true })).toBeLessThan(on('A10', { precision: 'fp16' }));
    expect(on('A10', {}, { channelsLast: true })).toBe(on('A10', {}));
  });
});
