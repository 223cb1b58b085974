import { AppError } from '../../errors.ts';
import { relu } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { dropout, maxPool } from '../tape/ops-layers.ts';
import { concat, slice } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type Network, optionBoolean, type Run, trainingImage } from './network.ts';
import { plainLoss } from './plain-loop.ts';

/** Two 3×3 convolutions with bias and ReLU; each loses a border unless padded. */
function twice(t: Tape, name: string, x: Tensor, { out, padded }: { out: number; padded: boolean }): Tensor {
  return t.call(name, x, () => {
    const shape = { out, kernel: 3, padding: padded ? 1 : 0, bias: true };
    return relu(t, conv2d(t, relu(t, conv2d(t, x, shape)), shape));
  });
}

/** Up-convolution, cropped skip, two convolutions. */
function up(t: Tape, name: string, [x, skip]: readonly [Tensor, Tensor], padded: boolean): Tensor {
  const out = channelsOf(x) / 2;
  return t.call(name, [x, skip], () => {
    const enlarged = t.within('up', () => convTranspose2d(t, x, { out, kernel: 2, stride: 2, bias: true }));
    const [height, width] = sizeOf(enlarged);
    const cropped = slice(t, slice(t, skip, 2, height), 3, width);
    const joined = concat(t, [cropped, enlarged], 1);
    return twice(t, 'conv', joined, { out, padded });
  });
}

function unet({ t, w, spec }: Run, image: Tensor): Tensor {
  const padded = optionBoolean(spec, 'padded', true);
  const base = w.baseChannels ?? 64;
  checkSides(image, padded);
  return t.call('', image, () => {
    const skips: Tensor[] = [];
    let x = image;
    for (let level = 0; level < 5; level += 1) {
      const input = level === 0 ? x : maxPool(t, x, { kernel: 2, stride: 2 });
      x = twice(t, `down${level + 1}`, input, { out: base * 2 ** level, padded });
      if (level >= 3) x = dropout(t, x, 0.5);
      skips.push(x);
    }
    for (let level = 3; level >= 0; level -= 1) x = up(t, `up${4 - level}`, [x, skips[level] ?? x], padded);
    const features = x;
    const logits = t.within('out', () => conv2d(t, features, { out: w.numClasses, kernel: 1, bias: true }));
    t.keep(x, ...skips);
    return logits;
  });
}

/** Without padding 188 px are the least: 188 → 4, 572 → 388. */
function checkSides(image: Tensor, padded: boolean): void {
  const minimumSide = padded ? 16 : 188;
  const [height, width] = sizeOf(image);
  if (Math.min(height, width) >= minimumSide) return;
  throw new AppError('unsupported-combination', `the U-Net needs sides of at least ${minimumSide} px`, {
    details: { rule: 'at-least', height, width, minimumSide },
  });
}

/**
 * U-Net as published (Ronneberger et al. 2015, figure 1): no norm, dropout at the two deepest scales, B×C×H×W →
 * B×classes×(H−184)×(W−184) without padding; the loss is a softmax over classes at the output's size.
 */
export const originalUnetNetworks: Readonly<Record<string, Network>> = {
  'original/unet': {
    train: (run) => {
      const { t, w } = run;
      const logits = unet(run, trainingImage(run));
      const loss = plainLoss(t, logits, t.target([w.batchSize, ...sizeOf(logits)], 'long'), w);
      if (w.outputHeld) t.hold(logits);
      return loss;
    },
    infer: unet,
  },
};
