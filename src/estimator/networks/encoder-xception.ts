import { relu } from '../tape/ops-activation.ts';
import { type ConvOptions, conv2d } from '../tape/ops-conv.ts';
import { addInPlace } from '../tape/ops-core.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import { type EncoderTable, runSteps, type Step } from './encoder.ts';

function separable(t: Tape, x: Tensor, out: number): Tensor {
  const width = channelsOf(x);
  return t.call('', x, () =>
    conv2d(t, conv2d(t, x, { out: width, kernel: 3, padding: 1, groups: width }), { out, kernel: 1 }),
  );
}

interface Block {
  /** Widths of the separable convolutions. */
  readonly widths: readonly number[];
  readonly strided: boolean;
  readonly startsWithRelu: boolean;
}

/** Separable convolutions with a projected or plain skip; the first ReLU works on a copy. */
function block(t: Tape, name: string, x: Tensor, { widths, strided, startsWithRelu }: Block): Tensor {
  return t.call(name, x, () => {
    const refined = t.call('rep', x, () => {
      let feature = x;
      widths.forEach((out, index) => {
        const activated = index > 0 || startsWithRelu ? relu(t, feature, index > 0) : feature;
        feature = batchNorm(t, separable(t, activated, out));
      });
      return strided ? maxPool(t, feature, { kernel: 3, stride: 2, padding: 1 }) : feature;
    });
    const out = channelsOf(refined);
    const skip =
      strided || out !== channelsOf(x) ? batchNorm(t, conv2d(t, x, { out, kernel: 1, stride: strided ? 2 : 1 })) : x;
    const sum = addInPlace(t, refined, skip);
    t.keep(skip);
    return sum;
  });
}

const convNormRelu = (t: Tape, x: Tensor, options: ConvOptions): Tensor => relu(t, batchNorm(t, conv2d(t, x, options)));

/** Chollet 2017, figure 5, in Cadene's port inside segmentation_models_pytorch 0.6. */
function steps(): Step[] {
  const entry = (name: string, width: number, startsWithRelu: boolean): Step => {
    const shape = { widths: [width, width], strided: true, startsWithRelu };
    return (t, x) => block(t, name, x, shape);
  };
  const middle = { widths: [728, 728, 728], strided: false, startsWithRelu: true };
  return [
    (t, x) => {
      const first = convNormRelu(t, x, { out: 32, kernel: 3, stride: 2, padding: 1 });
      return convNormRelu(t, first, { out: 64, kernel: 3, padding: 1 });
    },
    entry('block1', 128, false),
    entry('block2', 256, true),
    (t, x) => {
      let feature = entry('block3', 728, true)(t, x);
      for (let index = 4; index < 12; index += 1) feature = block(t, `block${index}`, feature, middle);
      return feature;
    },
    (t, x) => {
      const reduced = block(t, 'block12', x, { widths: [728, 1024], strided: true, startsWithRelu: true });
      const wide = relu(t, batchNorm(t, separable(t, reduced, 1536)));
      return batchNorm(t, separable(t, wide, 2048));
    },
  ];
}

export const xceptionEncoders: EncoderTable = {
  xception: {
    dilates: false,
    features: (t, image, { depth }) => [image, ...runSteps(t, image, steps(), { count: depth })],
  },
};
