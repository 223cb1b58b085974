import { softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { scale } from '../tape/ops-core.ts';
import { bmm } from '../tape/ops-linear.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { reshape } from '../tape/ops-shape.ts';
import { freshRule } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, convBlock, sizeOf } from './blocks.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type Head } from './mmseg-head.ts';

const CHANNELS = 512;

export interface PointWiseOptions {
  readonly numClasses: number;
  /** Side of the over-complete mask: (2·map side − 1) at the training crop. */
  readonly maskSize: number;
}

/** PSAMask: picks from maskSize² scores per position those that lie on the map: N×N, one map per position. */
function attentionMask(t: Tape, scores: Tensor): Tensor {
  const [batch = 1, , height = 1, width = 1] = scores.shape;
  const shape = [batch, height * width, height, width];
  t.begin('psamask', [scores]);
  const storage = t.allocate(shape, scores.dtype);
  return t.result(
    { storage, shape, dtype: scores.dtype },
    { name: 'psamask', inputs: [scores], saved: [scores.storage], rule: freshRule },
  );
}

function halved(side: number, both: boolean): number {
  return both ? Math.floor((side - 1) / 2) + 1 : Math.floor(side / 2);
}

function scoresOf(t: Tape, name: string, x: Tensor, maskSize: number): Tensor {
  return t.call(name, x, () => {
    const reduced = convBlock(t, '0', x, { out: CHANNELS, kernel: 1 });
    return conv2d(t, reduced, { out: maskSize * maskSize, kernel: 1 });
  });
}

function aggregate(t: Tape, x: Tensor, weights: Tensor): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const positions = height * width;
  const product = bmm(
    t,
    reshape(t, x, [batch, channels, positions]),
    reshape(t, weights, [batch, positions, positions]),
  );
  return scale(t, reshape(t, product, x.shape));
}

/** PSAHead, collecting and distributing, at half the map's size (Zhao et al. 2018; MMSegmentation 1.2.2). */
export function pointWiseHead({ numClasses, maskSize }: PointWiseOptions): Head {
  return (t, features) => {
    const x = feature(t, features, -1);
    const [height, width] = sizeOf(x);
    const odd = height % 2 === 1 && width % 2 === 1;
    const half = [halved(height, odd), halved(width, odd)] as const;
    const reducedCollect = convBlock(t, 'reduce', x, { out: CHANNELS, kernel: 1 });
    const reducedDistribute = convBlock(t, 'reduce_p', x, { out: CHANNELS, kernel: 1 });
    const collect = resize(t, reducedCollect, half);
    const distribute = resize(t, reducedDistribute, half);
    const collectScores = scoresOf(t, 'attention', collect, maskSize);
    const distributeScores = scoresOf(t, 'attention_p', distribute, maskSize);
    const collectMask = attentionMask(t, collectScores);
    const distributeMask = attentionMask(t, distributeScores);
    const collectWeights = softmax(t, collectMask);
    const distributeWeights = softmax(t, distributeMask);
    const collected = aggregate(t, collect, collectWeights);
    const distributed = aggregate(t, distribute, distributeWeights);
    const joined = concat(t, [collected, distributed], 1);
    const projected = convBlock(t, 'proj', joined, { out: channelsOf(x), kernel: 1, padding: 1 });
    const resized = resize(t, projected, [height, width]);
    const out = convBlock(t, 'bottleneck', concat(t, [x, resized], 1), { out: CHANNELS, kernel: 3, padding: 1 });
    t.keep(resized);
    const logits = classify(t, out, numClasses);
    t.keep(collectWeights, distributeWeights, collected, distributed, out);
    return logits;
  };
}
