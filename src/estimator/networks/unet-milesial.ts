import { relu } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat, pad } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type Network, optionBoolean } from './network.ts';
import { plainLoop } from './plain-loop.ts';

interface UnetOptions {
  /** BatchNorm after each convolution; without it the convolutions have a bias. */
  readonly norm: boolean;
  readonly bilinear: boolean;
}

/** Two 3×3 convolutions with norm and ReLU. */
function doubleConv(t: Tape, x: Tensor, widths: readonly [number, number], norm: boolean): Tensor {
  return t.call('double_conv', x, () => {
    let feature = x;
    for (const out of widths) {
      const convolved = conv2d(t, feature, { out, kernel: 3, padding: 1, bias: !norm });
      feature = relu(t, norm ? batchNorm(t, convolved) : convolved);
    }
    return feature;
  });
}

function down(t: Tape, name: string, x: Tensor, { out, norm }: { out: number; norm: boolean }): Tensor {
  return t.call(name, x, () =>
    t.call('maxpool_conv', x, () => doubleConv(t, maxPool(t, x, { kernel: 2, stride: 2 }), [out, out], norm)),
  );
}

/** Enlarges, pads to the skip (a copy even where nothing is missing), joins `[skip, x]`. */
function up(
  t: Tape,
  name: string,
  [x, skip]: readonly [Tensor, Tensor],
  options: UnetOptions & { out: number },
): Tensor {
  const channels = channelsOf(x);
  return t.call(name, [x, skip], () => {
    const [height, width] = sizeOf(x);
    const enlarged = options.bilinear
      ? resize(t, x, [2 * height, 2 * width])
      : convTranspose2d(t, x, { out: channels / 2, kernel: 2, stride: 2, bias: true });
    const padded = pad(t, enlarged, [enlarged.shape[0] ?? 1, channelsOf(enlarged), ...sizeOf(skip)]);
    const joined = concat(t, [skip, padded], 1);
    const middle = options.bilinear ? channelsOf(joined) / 2 : options.out;
    const result = doubleConv(t, joined, [middle, options.out], options.norm);
    t.keep(padded, joined);
    return result;
  });
}

/**
 * U-Net of milesial/Pytorch-UNet (master, 2026-11): B×C×H×W → B×classes×H×W. Widths w…16w; `bilinear` halves the
 * deepest widths and enlarges without weights.
 */
export const milesialNetworks: Readonly<Record<string, Network>> = {
  'milesial/unet': plainLoop(({ t, spec, w }, image) => {
    const options = { norm: w.norm !== 'none', bilinear: optionBoolean(spec, 'bilinear', false) };
    const base = w.baseChannels ?? 64;
    const factor = options.bilinear ? 2 : 1;
    return t.call('', image, () => {
      const x1 = t.call('inc', image, () => doubleConv(t, image, [base, base], options.norm));
      const x2 = down(t, 'down1', x1, { out: 2 * base, norm: options.norm });
      const x3 = down(t, 'down2', x2, { out: 4 * base, norm: options.norm });
      const x4 = down(t, 'down3', x3, { out: 8 * base, norm: options.norm });
      const x5 = down(t, 'down4', x4, { out: (16 * base) / factor, norm: options.norm });
      let x = up(t, 'up1', [x5, x4], { ...options, out: (8 * base) / factor });
      x = up(t, 'up2', [x, x3], { ...options, out: (4 * base) / factor });
      x = up(t, 'up3', [x, x2], { ...options, out: (2 * base) / factor });
      x = up(t, 'up4', [x, x1], { ...options, out: base });
      const logits = t.call('outc', x, () => conv2d(t, x, { out: w.numClasses, kernel: 1, bias: true }));
      t.keep(x, x1, x2, x3, x4, x5);
      return logits;
    });
  }),
};
