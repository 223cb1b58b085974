import { describe, expect, test } from 'vitest';
import { estimate } from '../../src/estimator/estimate.ts';
import type { Estimate, EstimateBytes, PeakHolder } from '../../src/estimator/estimate-result.ts';
import { holdersAtPeak, peakOf } from '../../src/estimator/explain.ts';
import { type ReplayOptions, replay } from '../../src/estimator/replay.ts';
import { activate } from '../../src/estimator/tape/ops-activation.ts';
import { conv2d } from '../../src/estimator/tape/ops-conv.ts';
import { crossEntropy } from '../../src/estimator/tape/ops-loss.ts';
import { batchNorm } from '../../src/estimator/tape/ops-norm.ts';
import type { Tensor } from '../../src/estimator/tape/storage.ts';
import type { Tape } from '../../src/estimator/tape/tape.ts';
import { KIB, newTape } from './tape/harness.ts';
import { workloadOf } from './truth.ts';

const usual: ReplayOptions = { fanInCopies: true, residentGradients: false };

/** Explains a hand-made network: 64 KiB maps in `stem` and `head`, then a loss. */
function explain(build: (t: Tape) => Tensor, asked: Partial<ReplayOptions> = {}, changes: Partial<EstimateBytes> = {}) {
  const options = { ...usual, ...asked };
  const t = newTape();
  const loss = build(t);
  const replayed = replay(t, loss, options);
  const peak = Math.max(replayed.forward.withKernels, replayed.backward.withKernels);
  const base = t.parameterBytes + t.bufferBytes + t.inputBytes + t.targetBytes;
  const bytes: EstimateBytes = {
    parameters: t.parameterBytes,
    buffers: t.bufferBytes,
    input: t.inputBytes,
    target: t.targetBytes,
    gradients: replayed.gradientBytes,
    optimizerState: 0,
    ddpBuckets: 0,
    base,
    saved: replayed.saved,
    peakForward: replayed.forward.bytes,
    peakBackward: replayed.backward.bytes,
    peakStep: 0,
    workspace: 0,
    allocatedPeak: base + peak,
    reserved: 0,
    device: 0,
    validationPeak: 0,
    ...changes,
  };
  const holders = holdersAtPeak({ t, loss, replayed, bytes, options });
  const moduleOf = (scope: number): string => t.scopes[scope]?.path ?? '';
  const modules = { forward: moduleOf(replayed.forward.scope), backward: moduleOf(replayed.backward.scope) };
  return { holders, peak: peakOf(replayed, modules, bytes), bytes };
}

const sumOf = (holders: readonly PeakHolder[]): number => holders.reduce((sum, { bytes }) => sum + bytes, 0);
const find = (holders: readonly PeakHolder[], kind: PeakHolder['kind'], module: string): number | undefined =>
  holders.find((holder) => holder.kind === kind && holder.module === module)?.bytes;

/** Two 1×1 convolutions of 16 channels on 1×16×32×32. */
function network(t: Tape, classes = 16): Tensor {
  const x = t.input([1, 16, 32, 32]);
  const stem = t.call('stem', x, () => activate(t, conv2d(t, x, { out: 16, kernel: 1 }), 'gelu'));
  const logits = t.call('head', stem, () => conv2d(t, stem, { out: classes, kernel: 1 }));
  return t.within('loss', () => crossEntropy(t, logits, t.target([1, 32, 32], 'long')));
}

describe('what holds memory at the peak', () => {
  test('of backward: saved maps by module, the loss apart, gradients on their way, weights and data as wholes', () => {
    const { holders, peak, bytes } = explain((t) => network(t, 64));
    expect(peak).toEqual({ phase: 'backward', operation: 'log_softmax backward', module: 'loss' });
    expect(sumOf(holders)).toBe(bytes.allocatedPeak);
    expect(find(holders, 'parameters', '')).toBe(KIB + 4 * KIB);
    expect(find(holders, 'input', '')).toBe(64 * KIB);
    expect(find(holders, 'target', '')).toBe(8 * KIB);
    // The convolution's output, kept by GELU, and GELU's, kept by the head.
    expect(find(holders, 'activations', 'stem')).toBe(128 * KIB);
    // Log-probabilities and two gradients of 256 KiB, and the scalar loss; the root gradient belongs to no module.
    expect(find(holders, 'loss', 'loss')).toBe(3 * 256 * KIB + 512);
    expect(find(holders, 'transient', '')).toBe(512);
    expect(find(holders, 'buffers', '')).toBeUndefined();
  });

  test('weight gradients that are done, buffers, and the losses of heads have entries of their own', () => {
    const { holders, bytes } = explain((t) => {
      const x = t.input([1, 16, 32, 32]);
      const stem = t.within('stem', () =>
        activate(t, batchNorm(t, conv2d(t, x, { out: 256, kernel: 1 })), 'relu', true),
      );
      const logits = t.within('head', () => conv2d(t, stem, { out: 8, kernel: 1 }));
      return t.within('head', () => t.within('loss', () => crossEntropy(t, logits, t.target([1, 32, 32], 'long'))));
    });
    expect(find(holders, 'gradients', 'head')).toBe(8 * KIB);
    expect(find(holders, 'buffers', '')).toBe(2 * KIB + 512);
    // The scalar loss itself; its maps are gone when the wide stem is at work.
    expect(find(holders, 'loss', 'head.loss')).toBe(512);
    // A gradient belongs to the module that made it: the head's of its input, the stem's of the activation.
    expect(find(holders, 'transient', 'head')).toBe(1024 * KIB);
    expect(find(holders, 'transient', 'stem')).toBe(1024 * KIB);
    expect(sumOf(holders)).toBe(bytes.allocatedPeak);
  });

  test('are listed largest first and never empty', () => {
    const { holders } = explain((t) => network(t));
    expect(holders.map(({ bytes }) => bytes)).toEqual(holders.map(({ bytes }) => bytes).toSorted((a, b) => b - a));
    expect(holders.every(({ bytes }) => bytes > 0)).toBe(true);
  });

  test('of forward: what dies soon is transient', () => {
    const { holders, peak, bytes } = explain((t) => {
      const x = t.input([1, 16, 32, 32]);
      const wide = t.within('up', () => conv2d(t, x, { out: 256, kernel: 1 }));
      const narrow = t.within('down', () => t.freeze(true, () => conv2d(t, wide, { out: 1, kernel: 16, stride: 16 })));
      t.begin('metric', [narrow]);
      t.allocate([1, 256, 32, 32], 'long');
      t.keep(wide);
      return narrow;
    });
    expect(peak).toMatchObject({ phase: 'forward', operation: 'metric' });
    expect(sumOf(holders)).toBe(bytes.allocatedPeak);
    expect(find(holders, 'activations', 'up')).toBe(1024 * KIB);
    expect(find(holders, 'transient', '')).toBe(2048 * KIB);
  });

  test('of the step: gradients, state and temporaries', () => {
    const state = { optimizerState: 10 * KIB, ddpBuckets: 5 * KIB, gradients: 5 * KIB, peakStep: 40 * 1024 * KIB };
    const { peak, bytes } = explain(network, {}, { ...state, allocatedPeak: 0 });
    expect(peak.phase).not.toBe('step');
    const { base } = bytes;
    const step = explain(network, {}, { ...state, allocatedPeak: base + 5 * KIB + 40 * 1024 * KIB });
    expect(step.peak).toEqual({ phase: 'step', operation: 'optimizer step', module: '' });
    expect(sumOf(step.holders)).toBe(step.bytes.allocatedPeak);
    expect(find(step.holders, 'optimizer-state', '')).toBe(10 * KIB);
    expect(find(step.holders, 'ddp-buckets', '')).toBe(5 * KIB);
    expect(find(step.holders, 'gradients', '')).toBe(5 * KIB);
    expect(find(step.holders, 'transient', '')).toBe(40 * 1024 * KIB - 15 * KIB);
  });

  test('a workspace is an entry of its own, in either phase', () => {
    const backward = explain(
      (t) => {
        const x = t.input([1, 256, 32, 32]);
        return conv2d(t, conv2d(t, x, { out: 256, kernel: 3, padding: 1 }), { out: 256, kernel: 3, padding: 1 });
      },
      { convWorkspace: true },
    );
    const workspace = 2.25 * 2 * 1024 * KIB + 4 * 2304 * KIB;
    expect(backward.peak).toMatchObject({ phase: 'backward', operation: 'convolution backward' });
    expect(find(backward.holders, 'workspace', '')).toBe(workspace);
    expect(sumOf(backward.holders)).toBe(backward.bytes.allocatedPeak);
    const forward = explain((t) => {
      const out = conv2d(t, t.input([1, 16, 32, 32]), { out: 16, kernel: 1 });
      t.kernels.add(t.now, 1024 * KIB);
      return out;
    });
    expect(forward.peak.phase).toBe('forward');
    expect(find(forward.holders, 'workspace', '')).toBe(1024 * KIB);
    expect(sumOf(forward.holders)).toBe(forward.bytes.allocatedPeak);
  });
});

describe('an estimate explains itself', () => {
  const of = (input: Record<string, unknown>): Estimate =>
    estimate(workloadOf({ imageHeight: 512, imageWidth: 1024, batchSize: 2, ...input }));

  test('as people know the modules', () => {
    const { holders, bytes, peak } = of({ model: 'deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024' });
    const modules = new Set(holders.map(({ module }) => module.split('.')[0]));
    expect([...modules]).toEqual(expect.arrayContaining(['backbone', 'decode_head']));
    expect(sumOf(holders)).toBe(bytes.allocatedPeak);
    expect(peak.operation).not.toBe('');
  });

  test('at small sizes the step is the peak', () => {
    const small = of({
      model: 'deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024',
      imageHeight: 64,
      imageWidth: 64,
      optimizer: 'adamw',
    });
    expect(small.peak.phase).toBe('step');
    expect(sumOf(small.holders)).toBe(small.bytes.allocatedPeak);
  });

  test('resident gradients and buckets are there in every phase', () => {
    const input = { model: 'deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024', residentGradients: true, gpus: 4 };
    const { holders, bytes } = of(input);
    expect(find(holders, 'gradients', '')).toBe(bytes.gradients);
    expect(find(holders, 'ddp-buckets', '')).toBe(bytes.gradients);
    expect(sumOf(holders)).toBe(bytes.allocatedPeak);
  });
});
