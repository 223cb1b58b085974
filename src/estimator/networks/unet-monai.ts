import { AppError } from '../../errors.ts';
import { prelu, relu, sigmoid } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { instanceNorm } from '../tape/ops-instance-norm.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type Network, optionNumber, optionNumbers, type Run } from './network.ts';
import { plainLoop } from './plain-loop.ts';

interface ConvolutionOptions {
  readonly out: number;
  readonly kernel?: number;
  readonly stride?: number;
  readonly transposed?: boolean;
  /** Norm and activation: batch norm with ReLU, instance norm without weights with PReLU, or the convolution alone. */
  readonly after?: 'batch' | 'instance' | 'nothing';
}

/** `Convolution`: a convolution with bias that keeps the size divided by its stride, norm, activation; no dropout. */
function convolution(t: Tape, name: string, x: Tensor, options: ConvolutionOptions): Tensor {
  const { out, kernel = 3, stride = 1, transposed = false, after = 'instance' } = options;
  const padding = (kernel - 1) / 2;
  return t.call(name, x, () => {
    const convolved = t.within('conv', () =>
      transposed
        ? convTranspose2d(t, x, { out, kernel, stride, padding, outputPadding: stride - 1, bias: true })
        : conv2d(t, x, { out, kernel, stride, padding, bias: true }),
    );
    if (after === 'nothing') return convolved;
    return t.call('adn', convolved, () =>
      after === 'batch' ? relu(t, batchNorm(t, convolved), false) : prelu(t, instanceNorm(t, convolved), 1),
    );
  });
}

/** Two convolutions with batch norm and ReLU; the first has the stride. */
function convBlock(t: Tape, name: string, x: Tensor, { out, stride }: { out: number; stride: number }): Tensor {
  return t.call(name, x, () => {
    const first = convolution(t, 'conv.0', x, { out, stride, after: 'batch' });
    return convolution(t, 'conv.1', first, { out, after: 'batch' });
  });
}

/** Additive attention gate: one weight a pixel out of the deeper map and the skip. */
function attentionGate(t: Tape, deeper: Tensor, skip: Tensor): Tensor {
  const out = Math.floor(channelsOf(skip) / 2);
  const projected = (name: string, x: Tensor, width: number): Tensor =>
    t.call(name, x, () => batchNorm(t, convolution(t, '', x, { out: width, kernel: 1, after: 'nothing' })));
  return t.call('attention', [deeper, skip], () => {
    const first = projected('W_g', deeper, out);
    const second = projected('W_x', skip, out);
    const joint = relu(t, add(t, first, second), false);
    const weights = t.within('psi', () => sigmoid(t, projected('', joint, 1)));
    const gated = multiply(t, skip, weights);
    t.keep(first, second, weights);
    return gated;
  });
}

type Levels = readonly number[];

/** One level: the deeper levels enlarged, the skip gated by them, both merged. */
function attentionLevel(t: Tape, x: Tensor, channels: Levels, strides: Levels): Tensor {
  const [width = 1, deeperWidth = 1] = channels;
  const [stride = 1] = strides;
  return t.call('', x, () => {
    const below = t.call('submodule', x, () => {
      const reduced = convBlock(t, '0', x, { out: deeperWidth, stride });
      return channels.length > 2 ? attentionLevel(t, reduced, channels.slice(1), strides.slice(1)) : reduced;
    });
    const up = convolution(t, 'upconv', below, { out: width, stride, transposed: true, after: 'batch' });
    const gated = attentionGate(t, up, x);
    const joined = concat(t, [gated, up], 1);
    const merged = convolution(t, 'merge', joined, { out: width });
    t.keep(up, gated);
    return merged;
  });
}

function attentionUnet({ t, w, spec }: Run, image: Tensor): Tensor {
  const [channels, strides] = levelsOf({ w, spec }, 64, 5);
  checkSides(image, strides);
  return t.call('model', image, () => {
    const head = convBlock(t, '0', image, { out: channels[0] ?? 1, stride: 1 });
    const features = attentionLevel(t, head, channels, strides);
    return convolution(t, '2', features, { out: w.numClasses, kernel: 1, after: 'nothing' });
  });
}

/** Convolutions with a shortcut that is a convolution where size or width change. */
function residualUnit(
  t: Tape,
  name: string,
  x: Tensor,
  options: { out: number; stride: number; count: number; lastAlone?: boolean },
): Tensor {
  const { out, stride, count, lastAlone = false } = options;
  return t.call(name, x, () => {
    const kernel = stride === 1 ? 1 : 3;
    const changes = stride !== 1 || channelsOf(x) !== out;
    const residual = changes ? convolution(t, 'residual', x, { out, kernel, stride, after: 'nothing' }) : x;
    const main = t.call('conv', x, () => {
      let feature = x;
      for (let index = 0; index < count; index += 1) {
        const after = lastAlone && index === count - 1 ? 'nothing' : 'instance';
        feature = convolution(t, `unit${index}`, feature, { out, stride: index === 0 ? stride : 1, after });
      }
      return feature;
    });
    const sum = add(t, main, residual);
    t.keep(main, residual);
    return sum;
  });
}

interface UnetShape {
  readonly channels: Levels;
  readonly strides: Levels;
  readonly out: number;
  readonly units: number;
  readonly top: boolean;
}

function down(t: Tape, name: string, x: Tensor, options: { out: number; stride: number; units: number }): Tensor {
  const { out, stride, units } = options;
  return units > 0 ? residualUnit(t, name, x, { out, stride, count: units }) : convolution(t, name, x, { out, stride });
}

function up(t: Tape, x: Tensor, { out, units, top, stride }: UnetShape & { stride: number }): Tensor {
  const after = top && units === 0 ? 'nothing' : 'instance';
  if (units === 0) return convolution(t, '2', x, { out, stride, transposed: true, after });
  return t.call('2', x, () => {
    const enlarged = convolution(t, '0', x, { out, stride, transposed: true, after });
    return residualUnit(t, '1', enlarged, { out, stride: 1, count: 1, lastAlone: top });
  });
}

/** Down, the deeper levels beside what went down, up. */
function unetLevel(t: Tape, x: Tensor, shape: UnetShape): Tensor {
  const { channels, strides, units } = shape;
  const [width = 1, deeperWidth = 1] = channels;
  const [stride = 1] = strides;
  return t.call('', x, () => {
    const reduced = down(t, '0', x, { out: width, stride, units });
    const joined = t.call('1', reduced, () => {
      const deeper = { ...shape, channels: channels.slice(1), strides: strides.slice(1), out: width, top: false };
      const below = t.within('submodule', () =>
        channels.length > 2
          ? unetLevel(t, reduced, deeper)
          : down(t, '', reduced, { out: deeperWidth, stride: 1, units }),
      );
      return concat(t, [reduced, below], 1);
    });
    return up(t, joined, { ...shape, stride });
  });
}

function unet({ t, w, spec }: Run, image: Tensor): Tensor {
  const [channels, strides] = levelsOf({ w, spec }, 16, 5);
  const units = optionNumber(spec, 'numResUnits', 0);
  checkSides(image, strides);
  return t.within('model', () => unetLevel(t, image, { channels, strides, units, out: w.numClasses, top: true }));
}

/** Widths and strides as given, else doubled from the first width and all 2. */
function levelsOf({ w, spec }: Pick<Run, 'w' | 'spec'>, first: number, count: number): readonly [Levels, Levels] {
  const base = w.baseChannels ?? first;
  const doubled = Array.from({ length: count }, (_, level) => base * 2 ** level);
  const channels = optionNumbers(spec, 'channels', doubled);
  const strides = optionNumbers(
    spec,
    'strides',
    channels.slice(1).map(() => 2),
  );
  if (channels.length >= 2 && strides.length >= channels.length - 1) return [channels, strides];
  throw new AppError('unsupported-combination', "MONAI's U-Nets need a stride for every two widths", {
    details: { rule: 'widths', count: channels.length, depth: strides.length + 1 },
  });
}

function checkSides(image: Tensor, strides: Levels): void {
  const multiple = strides.reduce((product, stride) => product * stride, 1);
  const [height, width] = sizeOf(image);
  if (height % multiple === 0 && width % multiple === 0) return;
  throw new AppError('unsupported-combination', "MONAI's U-Nets need sides in multiples of their strides", {
    details: { rule: 'multiple-of', height, width, multipleOf: multiple },
  });
}

/**
 * 2-D U-Nets of MONAI 1.6.1: B×C×H×W → B×classes×H×W. `AttentionUnet` has no default widths; 64…1024 are those of the paper's
 * U-Net. `UNet` has none either: 16…256 as in MONAI's 2-D tutorials, which take two residual units (constructor: none).
 *
 * @throws AppError `unsupported-combination` for sides that the strides do not divide.
 */
export const monaiNetworks: Readonly<Record<string, Network>> = {
  'monai/attention-unet': plainLoop(attentionUnet),
  'monai/unet': plainLoop(unet),
};
