import { relu, sigmoid } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { binaryCrossEntropyOfProbabilities } from '../tape/ops-loss.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { type Network, optionBoolean, type Run, trainingImage } from './network.ts';

const POOL = { kernel: 2, stride: 2, ceil: true } as const;

/** Convolution with bias, batch norm and in-place ReLU. */
function convolution(t: Tape, name: string, x: Tensor, { out, dilation }: { out: number; dilation: number }): Tensor {
  return t.call(name, x, () => {
    const convolved = conv2d(t, x, { out, kernel: 3, padding: dilation, dilation, bias: true });
    return relu(t, batchNorm(t, convolved));
  });
}

interface Widths {
  readonly middle: number;
  readonly out: number;
}

/** A stage: a small U-Net of `depth` levels beside a shortcut. Without pooling its levels dilate instead. */
interface Block extends Widths {
  readonly depth: number;
  readonly pools: boolean;
}

/** Residual U-block: down to `depth` − 1 maps, a deepest one of the same size, and up again. */
function residualBlock(t: Tape, name: string, x: Tensor, { depth, pools, middle, out }: Block): Tensor {
  const dilationOf = (level: number): number => (pools ? 1 : 2 ** level);
  return t.call(name, x, () => {
    const input = convolution(t, 'rebnconvin', x, { out, dilation: 1 });
    const maps: Tensor[] = [];
    let feature = input;
    let entering = x;
    for (let level = 0; level < depth - 1; level += 1) {
      entering = pools && level > 0 ? maxPool(t, feature, POOL) : feature;
      feature = convolution(t, `rebnconv${level + 1}`, entering, { out: middle, dilation: dilationOf(level) });
      maps.push(feature);
    }
    const deepest = { out: middle, dilation: pools ? 2 : 2 ** (depth - 1) };
    let above = convolution(t, `rebnconv${depth}`, feature, deepest);
    const locals: Tensor[] = [];
    for (let level = depth - 2; level >= 0; level -= 1) {
      const skip = maps[level] ?? feature;
      locals.push(above);
      if (pools && level < depth - 2) above = resize(t, above, sizeOf(skip));
      locals.push(above);
      const joined = concat(t, [above, skip], 1);
      const width = { out: level === 0 ? out : middle, dilation: dilationOf(level) };
      above = convolution(t, `rebnconv${level + 1}d`, joined, width);
    }
    const sum = add(t, above, input);
    t.keep(input, entering, above, ...maps, ...locals);
    return sum;
  });
}

/** Depth of the six stages; the last two do not pool. */
const DEPTHS = [7, 6, 5, 4, 4, 4] as const;
const FIRST_WITHOUT_POOLING = 4;

/** Widths of the stages down, from the top, and of the stages up, from the top. */
interface Plan {
  readonly down: readonly Widths[];
  readonly up: readonly Widths[];
}

const widths = (middle: number, out: number): Widths => ({ middle, out });
const FULL: Plan = {
  down: [widths(32, 64), widths(32, 128), widths(64, 256), widths(128, 512), widths(256, 512), widths(256, 512)],
  up: [widths(16, 64), widths(32, 64), widths(64, 128), widths(128, 256), widths(256, 512)],
};
/** U2NETP. */
const SMALL: Plan = { down: DEPTHS.map(() => widths(16, 64)), up: DEPTHS.slice(1).map(() => widths(16, 64)) };

function blockOf(level: number, width: Widths | undefined): Block {
  const { middle = 16, out = 64 } = width ?? {};
  return { depth: DEPTHS[level] ?? 4, pools: level < FIRST_WITHOUT_POOLING, middle, out };
}

/** The fused probability and those of the six scales, all at the image's size. */
function u2net({ t, w, spec }: Run, image: Tensor): readonly Tensor[] {
  const plan = optionBoolean(spec, 'small', false) ? SMALL : FULL;
  return t.call('', image, () => {
    const maps: Tensor[] = [];
    let x = image;
    let entering = image;
    plan.down.forEach((width, level) => {
      if (level > 0) entering = maxPool(t, x, POOL);
      x = residualBlock(t, `stage${level + 1}`, entering, blockOf(level, width));
      maps.push(x);
    });
    const decoded = [x];
    const locals: Tensor[] = [];
    for (let level = plan.up.length - 1; level >= 0; level -= 1) {
      const skip = maps[level] ?? image;
      const enlarged = resize(t, x, sizeOf(skip));
      const joined = concat(t, [enlarged, skip], 1);
      x = residualBlock(t, `stage${level + 1}d`, joined, blockOf(level, plan.up[level]));
      locals.push(enlarged);
      decoded.unshift(x);
    }
    const sides = sideOutputs(t, decoded, w.numClasses);
    const joined = concat(t, sides, 1);
    const fused = t.within('outconv', () => conv2d(t, joined, { out: w.numClasses, kernel: 1, bias: true }));
    const logits = [fused, ...sides];
    const probabilities = logits.map((logit) => sigmoid(t, logit));
    t.keep(entering, ...maps, ...decoded, ...locals, ...logits, ...probabilities);
    return probabilities;
  });
}

function sideOutputs(t: Tape, decoded: readonly Tensor[], out: number): readonly Tensor[] {
  const [top] = decoded;
  const sides = decoded.map((feature, level) => {
    const side = t.within(`side${level + 1}`, () => conv2d(t, feature, { out, kernel: 3, padding: 1, bias: true }));
    return top === undefined || level === 0 ? side : resize(t, side, sizeOf(top));
  });
  t.keep(...sides);
  return sides;
}

/** Sum of a binary cross entropy for each of the seven maps; the loop keeps the maps through backward. */
function train(run: Run): Tensor {
  const { t, w } = run;
  const image = trainingImage(run);
  const target = t.target([w.batchSize, w.numClasses, w.imageHeight, w.imageWidth], 'float');
  const maps = u2net(run, image);
  const losses = t.within('loss', () => maps.map((map) => binaryCrossEntropyOfProbabilities(t, map, target)));
  const [first, ...others] = losses;
  const loss = others.reduce((total, one) => add(t, total, one), first ?? target);
  t.keep(...losses, ...maps);
  if (w.outputHeld) for (const map of maps) t.hold(map);
  return loss;
}

/**
 * U²-Net (xuebinqin/U-2-Net, model/u2net.py and u2net_train.py, read 2026-11): B×C×H×W → seven maps B×classes×H×W, fused
 * first. `small` is U2NETP. Its BCELoss refuses autocast; in 16 bit the maps are widened before it.
 */
export const u2netNetworks: Readonly<Record<string, Network>> = {
  'original/u2net': {
    train,
    infer: (run, image) => u2net(run, image)[0] ?? null,
  },
};
