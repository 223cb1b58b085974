import { relu, sigmoid } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, addInPlace, multiply, shift } from '../tape/ops-core.ts';
import { averagePool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type EncoderTable, runSteps, type Step } from './encoder.ts';

interface Variant {
  readonly widths: readonly number[];
  /** Parallel convolutions of each block outside of the stem. */
  readonly branches: number;
  readonly gates: boolean;
}

/** Vasu et al. 2022, table 3. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  mobileone_s0: { widths: [0.75, 1, 1, 2], branches: 4, gates: false },
  mobileone_s1: { widths: [1.5, 1.5, 2, 2.5], branches: 1, gates: false },
  mobileone_s2: { widths: [1.5, 2, 2.5, 4], branches: 1, gates: false },
  mobileone_s3: { widths: [2, 2.5, 3, 4], branches: 1, gates: false },
  mobileone_s4: { widths: [3, 3.5, 3.5, 4], branches: 1, gates: true },
};

const COUNTS = [2, 8, 10, 1];

interface Block {
  readonly out: number;
  readonly kernel: 1 | 3;
  readonly stride: number;
  /** Built with stride 1: the input's norm is a branch, if the width stays. */
  readonly skips: boolean;
  readonly dilation: number;
  readonly depthwise: boolean;
  readonly branches: number;
  readonly gated: boolean;
}

/** Train-time block: norm of the input, a 1×1 branch beside the 3×3 ones, all summed. */
function block(t: Tape, x: Tensor, shape: Block): Tensor {
  const { out, kernel, stride } = shape;
  const groups = shape.depthwise ? channelsOf(x) : 1;
  return t.call('', x, () => {
    const branch = (side: 1 | 3): Tensor =>
      t.call('', x, () => {
        const padding = side === 3 ? shape.dilation : 0;
        return batchNorm(t, conv2d(t, x, { out, kernel: side, stride, padding, dilation: shape.dilation, groups }));
      });
    const identity = out === channelsOf(x) && shape.skips ? batchNorm(t, x) : null;
    const scaled = kernel > 1 ? branch(1) : null;
    let sum = startSum(t, scaled, identity);
    for (let index = 0; index < shape.branches; index += 1) {
      const added = branch(kernel);
      sum = sum === null ? shift(t, added) : addInPlace(t, sum, added);
    }
    const total = sum ?? x;
    const result = relu(t, shape.gated ? gate(t, total) : total, false);
    t.keep(total, ...(identity === null ? [] : [identity]), ...(scaled === null ? [] : [scaled]));
    return result;
  });
}

/** `scale_out + identity_out`, where an absent one is the number 0: still a new tensor. */
function startSum(t: Tape, scaled: Tensor | null, identity: Tensor | null): Tensor | null {
  if (scaled !== null && identity !== null) return add(t, scaled, identity);
  const only = scaled ?? identity;
  return only === null ? null : shift(t, only);
}

function gate(t: Tape, x: Tensor): Tensor {
  const size = sizeOf(x);
  return t.call('se', x, () => {
    const pooled = averagePool(t, x, { kernel: size, stride: size });
    const width = Math.floor(channelsOf(x) * 0.0625);
    const reduced = relu(t, conv2d(t, pooled, { out: width, kernel: 1, bias: true }), false);
    return multiply(t, x, sigmoid(t, conv2d(t, reduced, { out: channelsOf(x), kernel: 1, bias: true })));
  });
}

/** Pairs of a depthwise 3×3 and a pointwise block. */
function stage(t: Tape, x: Tensor, index: number, at: { variant: Variant; outputStride: number }): Tensor {
  const { variant, outputStride } = at;
  const scale = 4 * 2 ** index;
  const dilation = scale > outputStride ? scale / outputStride : 1;
  const count = COUNTS[index] ?? 1;
  const out = Math.floor(64 * 2 ** index * (variant.widths[index] ?? 1));
  const gates = !variant.gates || index < 2 ? 0 : index === 2 ? Math.floor(count / 2) : count;
  return t.call(`stage${index + 1}`, x, () => {
    let feature = x;
    for (let pair = 0; pair < count; pair += 1) {
      const shape = { dilation, branches: variant.branches, gated: pair >= count - gates };
      const stride = pair === 0 && dilation === 1 ? 2 : 1;
      const width = channelsOf(feature);
      feature = block(t, feature, { ...shape, out: width, kernel: 3, stride, skips: pair > 0, depthwise: true });
      feature = block(t, feature, { ...shape, out, kernel: 1, stride: 1, skips: true, depthwise: false });
    }
    return feature;
  });
}

function steps(variant: Variant, outputStride: number): Step[] {
  const stem: Block = {
    out: Math.min(64, Math.floor(64 * (variant.widths[0] ?? 1))),
    kernel: 3,
    stride: 2,
    skips: false,
    dilation: 1,
    depthwise: false,
    branches: 1,
    gated: false,
  };
  const stages = [0, 1, 2, 3].map(
    (index): Step =>
      (t, x) =>
        stage(t, x, index, { variant, outputStride }),
  );
  return [(t, x) => t.within('stage0', () => block(t, x, stem)), ...stages];
}

/** MobileOne with its train-time branches, as in segmentation_models_pytorch 0.6. */
export const mobileoneEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [
    name,
    {
      dilates: true,
      features: (t, image, { depth, outputStride }) => [
        image,
        ...runSteps(t, image, steps(variant, outputStride), { count: depth }),
      ],
    },
  ]),
);
