import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { type EncoderTable, runSteps, type Step } from './encoder.ts';

/** Convolutions of each scale. Simonyan and Zisserman 2015, table 1: A, B, D, E. */
const COUNTS = {
  vgg11: [1, 1, 2, 2, 2],
  vgg13: [2, 2, 2, 2, 2],
  vgg16: [2, 2, 3, 3, 3],
  vgg19: [2, 2, 4, 4, 4],
} as const;

const WIDTHS = [64, 128, 256, 512, 512];

/** Maps are taken before each pooling: the first has the image's sides. */
function steps(counts: readonly number[], norm: boolean): Step[] {
  const scales = counts.map(
    (count, index): Step =>
      (t, x) => {
        let feature = index === 0 ? x : maxPool(t, x, { kernel: 2, stride: 2 });
        for (let conv = 0; conv < count; conv += 1) {
          const convolved = conv2d(t, feature, { out: WIDTHS[index] ?? 512, kernel: 3, padding: 1, bias: true });
          feature = relu(t, norm ? batchNorm(t, convolved) : convolved);
        }
        return feature;
      },
  );
  return [...scales, (t, x) => maxPool(t, x, { kernel: 2, stride: 2 })];
}

/** torchvision's VGG as segmentation_models_pytorch 0.6 cuts it: the first map replaces the image. */
export const vggEncoders: EncoderTable = Object.fromEntries(
  Object.entries(COUNTS).flatMap(([name, counts]) =>
    [false, true].map((norm) => [
      norm ? `${name}_bn` : name,
      {
        dilates: false,
        features: (t, image, { depth }) =>
          t.within('features', () => runSteps(t, image, steps(counts, norm), { count: depth + 1 })),
      },
    ]),
  ),
);
