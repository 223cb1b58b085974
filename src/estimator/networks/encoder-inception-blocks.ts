import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { averagePool, maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/** Width, kernel (height×width as text for uneven ones), stride. Every kernel keeps the sides at stride 1. */
export type Conv = readonly [number, number | '1x7' | '7x1' | '1x3' | '3x1', number?];

/** One path of an inception block: convolutions, or a pooling before them. */
export type Branch = { readonly pool?: 'max' | 'average'; readonly convs: readonly Conv[] };

const UNEVEN = { '1x7': [1, 7], '7x1': [7, 1], '1x3': [1, 3], '3x1': [3, 1] } as const;

/** Convolution, norm, ReLU. */
export function basicConv(t: Tape, x: Tensor, [out, kernel, stride = 1]: Conv, inPlace: boolean): Tensor {
  const [height, width] = typeof kernel === 'number' ? [kernel, kernel] : UNEVEN[kernel];
  return t.call('', x, () => {
    const padding = [(height - 1) / 2, (width - 1) / 2] as const;
    return relu(t, batchNorm(t, conv2d(t, x, { out, kernel: [height, width], stride, padding })), inPlace);
  });
}

export function runBranch(t: Tape, x: Tensor, branch: Branch, inPlace: boolean): Tensor {
  return t.call('', x, () => {
    let feature = x;
    if (branch.pool === 'max') feature = maxPool(t, x, { kernel: 3, stride: 2, padding: 1 });
    if (branch.pool === 'average') feature = averagePool(t, x, { kernel: 3, stride: 1, padding: 1 });
    for (const conv of branch.convs) feature = basicConv(t, feature, conv, inPlace);
    return feature;
  });
}

/** All branches joined; their outputs live until the block returns. */
export function mixed(t: Tape, x: Tensor, branches: readonly Branch[], inPlace: boolean): Tensor {
  return t.call('', x, () => {
    const maps = branches.map((branch) => runBranch(t, x, branch, inPlace));
    const joined = concat(t, maps, 1);
    t.keep(...maps);
    return joined;
  });
}
