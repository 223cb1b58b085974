import { replay } from '../../../src/estimator/replay.ts';
import type { DType, Storage, Tensor } from '../../../src/estimator/tape/storage.ts';
import { Tape } from '../../../src/estimator/tape/tape.ts';
import type { TapeOptions } from '../../../src/estimator/tape/tape-types.ts';

export const KIB = 1024;

/** A training tape in fp32 with the rules of torch 2.13. */
export function newTape(options: Partial<TapeOptions> = {}): Tape {
  return new Tape({
    autocast: null,
    training: true,
    rules: { softmaxKeepsInput: false, relu6KeepsResult: false, composedHardswish: false },
    kernelTemporaries: false,
    fanInCopies: true,
    ...options,
  });
}

/** A map that a gradient flows into and ends at, so that only what comes after it costs memory in backward. */
export function activation(t: Tape, shape: readonly number[], dtype: DType = 'float'): Tensor {
  const weight = t.param(1);
  t.begin('source', [weight]);
  const storage = t.allocate(shape, dtype);
  return t.result({ storage, shape, dtype }, { name: 'source', inputs: [weight], saved: [], rule: () => undefined });
}

export interface Measured {
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Bytes of the result's storage. */
  readonly output: number;
  /** What the operation keeps for backward: `input`, `output`, `weight` (any resident tensor), or bytes; in order. */
  readonly saved: readonly (string | number)[];
  /** Highest bytes in forward beyond the input. */
  readonly forward: number;
  /** Highest bytes in backward beyond what is saved and the gradient that comes in. */
  readonly backward: number;
}

/** Runs `build` on `x` as if its result were the loss. */
export function measure(t: Tape, x: Tensor, build: (x: Tensor) => Tensor): Measured {
  const first = t.nodes.length;
  const out = build(x);
  const saved = t.nodes.slice(first).flatMap((node) => node.saved);
  const {
    forward,
    backward,
    saved: start,
  } = replay(t, out, {
    fanInCopies: t.options.fanInCopies,
    residentGradients: false,
  });
  const root = out.node === null ? 0 : out.node.outputs.reduce((sum, tensor) => sum + bytesOf(tensor), 0);
  return {
    shape: out.shape,
    dtype: out.dtype,
    output: out.storage.bytes,
    saved: saved.map((storage) => labelOf(storage, x, out)).sort(inOrder),
    forward: forward.withKernels - x.storage.bytes,
    backward: Math.max(0, backward.withKernels - start - root),
  };
}

function labelOf(storage: Storage, x: Tensor, out: Tensor): string | number {
  if (storage === x.storage) return 'input';
  if (storage === out.storage) return 'output';
  return storage.resident ? 'weight' : storage.bytes;
}

function inOrder(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b));
}

const SIZES = { float: 4, half: 2, long: 8, byte: 1 };

/** Row-major bytes of a tensor, rounded up as the allocator does. */
export function bytesOf({ shape, dtype }: Pick<Tensor, 'shape' | 'dtype'>): number {
  const count = shape.reduce((product, side) => product * side, 1);
  return Math.ceil((count * SIZES[dtype]) / 512) * 512;
}
