import { describe, expect, test } from 'vitest';
import { toGpuSpec } from '../../catalog/gpu-names.ts';
import { forCard, neededGiB, peakNeeding } from '../../src/advice/fit.ts';
import { mitigate } from '../../src/advice/mitigations.ts';
import { AppError } from '../../src/errors.ts';
import type { GpuSpec } from '../../src/estimator/estimate-result.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { catalog } from './ask.ts';
import { toyEstimate, toyWorkload } from './toy-estimator.ts';

const GIB = 2 ** 30;
const t4 = specOf('NVIDIA T4');
const a10 = specOf('NVIDIA A10');

function specOf(name: string): GpuSpec {
  const row = catalog.gpuByName(name);
  if (row === undefined) throw new Error(`no ${name}`);
  return toGpuSpec(row);
}

/** Half a GiB for each image, margins of as much again: the need is one GiB an image and the context. */
function halfAGibAnImage(workload: Workload) {
  const made = toyEstimate(workload);
  const bytes = { ...made.bytes, allocatedPeak: (workload.batchSize * GIB) / 2 };
  return { ...made, bytes, uncertainty: { relative: 0.97, reason: 'test' } };
}

describe('a workload as a card runs it', () => {
  test.each<[Workload['precision'], GpuSpec, Workload['precision'], boolean]>([
    ['bf16', t4, 'fp16', false],
    ['bf16', a10, 'bf16', false],
    ['fp16', t4, 'fp16', false],
    ['fp32', t4, 'fp32', true],
    ['fp32', a10, 'fp32', false],
  ])('%s', (asked, gpu, precision, convWorkspace) => {
    expect(forCard({ ...toyWorkload, precision: asked }, gpu)).toEqual({ ...toyWorkload, precision, convWorkspace });
  });

  test.each(['Ampere', 'Ada', 'Hopper', 'Blackwell'] as const)('%s has TF32', (architecture) => {
    expect(forCard(toyWorkload, { ...t4, architecture }).convWorkspace).toBe(false);
  });

  test('a workspace that was asked for stays in fp32 alone', () => {
    const asked = { ...toyWorkload, convWorkspace: true };
    expect(forCard(asked, a10).convWorkspace).toBe(true);
    expect(forCard({ ...asked, precision: 'fp16' }, a10).convWorkspace).toBe(false);
  });

  test('what the card changes nothing about stays the same object', () => {
    expect(forCard(toyWorkload, a10)).toBe(toyWorkload);
  });
});

test.each([1, 2, 3, 8])('the peak that needs a limit, on %i GPUs', (gpus) => {
  const made = toyEstimate({ ...toyWorkload, gpus });
  const bytes = { ...made.bytes, allocatedPeak: peakNeeding(20, made) };
  expect(neededGiB({ ...made, bytes })).toBeCloseTo(20, 9);
});

describe('changes', () => {
  test('a need of exactly the usable memory fits', () => {
    const workload = { ...toyWorkload, batchSize: 4 };
    const onCard = (usableMiB: number) => mitigate(halfAGibAnImage, workload, { ...a10, usableMiB });
    expect(onCard(4.5 * 1024)).toMatchObject({ fits: true, changes: [], neededGiB: 4.5, workload });
    expect(onCard(4.5 * 1024 - 1)).toMatchObject({ fits: true, changes: [{ id: 'micro-batch', value: 2 }] });
  });

  test('AMP is fp16, whatever the card could do', () => {
    const { workload, changes } = mitigate(toyEstimate, { ...toyWorkload, batchSize: 10 }, t4);
    expect(changes).toEqual([{ id: 'amp' }]);
    expect(workload.precision).toBe('fp16');
  });

  test('what the library refuses is left out', () => {
    const picky = (workload: Workload) => {
      if (workload.precision !== 'fp32') throw new AppError('unsupported-combination', 'no AMP');
      return toyEstimate(workload);
    };
    const { changes } = mitigate(picky, { ...toyWorkload, batchSize: 10 }, t4);
    expect(changes.map(({ id }) => id)).toEqual(['checkpointing']);
  });
});
