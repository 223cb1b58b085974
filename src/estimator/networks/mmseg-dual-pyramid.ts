import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { adaptiveAveragePool, averagePool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';

interface PreActivation {
  readonly out: number;
  readonly kernel: number;
  readonly groups?: number;
}

/** Norm, activation, then convolution. */
export function preActivated(t: Tape, name: string, x: Tensor, { out, kernel, groups = 1 }: PreActivation): Tensor {
  return t.call(name, x, () => conv2d(t, relu(t, batchNorm(t, x)), { out, kernel, padding: (kernel - 1) / 2, groups }));
}

interface PyramidWidths {
  readonly branch: number;
  readonly out: number;
}

const POOLS = [
  [5, 2],
  [9, 4],
  [17, 8],
] as const;

/** Maps pooled at three scales and to one value, projected and enlarged again. */
function pooledScale(t: Tape, x: Tensor, index: number, branch: number): Tensor {
  const scaled = t.call(`scales.${index + 1}`, x, () => {
    const [kernel, stride] = POOLS[index] ?? [0, 0];
    const pooled = kernel === 0 ? adaptiveAveragePool(t, x, 1) : averagePool(t, x, { kernel, stride, padding: stride });
    return preActivated(t, '1', pooled, { out: branch, kernel: 1 });
  });
  return resize(t, scaled, sizeOf(x));
}

/** DAPPM: scales are added and convolved one after another. */
export function sequentialPyramid(t: Tape, x: Tensor, { branch, out }: PyramidWidths): Tensor {
  return t.call('spp', x, () => {
    const features = [preActivated(t, 'scales.0', x, { out: branch, kernel: 1 })];
    let up: Tensor | undefined;
    for (let index = 0; index <= POOLS.length; index += 1) {
      const before = up;
      up = pooledScale(t, x, index, branch);
      if (before !== undefined) t.keep(before);
      const sum = add(t, up, features[index] ?? x);
      features.push(preActivated(t, `processes.${index}`, sum, { out: branch, kernel: 3 }));
    }
    const compressed = preActivated(t, 'compression', concat(t, features, 1), { out, kernel: 1 });
    const result = add(t, compressed, preActivated(t, 'shortcut', x, { out, kernel: 1 }));
    t.keep(...features, ...(up === undefined ? [] : [up]));
    return result;
  });
}

/** PAPPM: all scales are added to the first and convolved together in groups. */
export function parallelPyramid(t: Tape, x: Tensor, { branch, out }: PyramidWidths): Tensor {
  return t.call('spp', x, () => {
    const first = preActivated(t, 'scales.0', x, { out: branch, kernel: 1 });
    const features: Tensor[] = [];
    let up: Tensor | undefined;
    for (let index = 0; index <= POOLS.length; index += 1) {
      const before = up;
      up = pooledScale(t, x, index, branch);
      if (before !== undefined) t.keep(before);
      features.push(add(t, up, first));
    }
    const groups = features.length;
    const scales = preActivated(t, 'processes', concat(t, features, 1), { out: branch * groups, kernel: 3, groups });
    const compressed = preActivated(t, 'compression', concat(t, [first, scales], 1), { out, kernel: 1 });
    const result = add(t, compressed, preActivated(t, 'shortcut', x, { out, kernel: 1 }));
    t.keep(first, scales, ...features, ...(up === undefined ? [] : [up]));
    return result;
  });
}
