import { AppError } from '../../errors.ts';
import { relu, sigmoid } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool, maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { type Network, optionNumber, optionText } from './network.ts';
import { encoderRequest, smpModel, unsupported } from './smp-model.ts';

type Mode = 'nearest' | 'bilinear';

interface ConvShape {
  readonly out: number;
  readonly kernel: 1 | 3 | 5 | 7;
  readonly activate?: boolean;
}

/** Convolution with bias, BatchNorm, in-place ReLU. */
function block(t: Tape, name: string, x: Tensor, { out, kernel, activate = true }: ConvShape): Tensor {
  return t.call(name, x, () => {
    const normalized = batchNorm(t, conv2d(t, x, { out, kernel, padding: (kernel - 1) / 2, bias: true }));
    return activate ? relu(t, normalized) : normalized;
  });
}

function down(t: Tape, name: string, x: Tensor, kernels: readonly (3 | 5 | 7)[]): Tensor {
  return t.call(name, x, () => {
    let feature = maxPool(t, x, { kernel: 2, stride: 2 });
    kernels.forEach((kernel, index) => {
      feature = block(t, `${index + 1}`, feature, { out: 1, kernel });
    });
    return feature;
  });
}

/** Feature pyramid attention: a one-channel U of 7×7, 5×5, 3×3 convolutions gates the projected map. */
function pyramidAttention(t: Tape, x: Tensor, out: number): Tensor {
  const [height, width] = sizeOf(x);
  return t.call('fpa', x, () => {
    const pooled = t.call('branch1', x, () => block(t, '1', adaptiveAveragePool(t, x, 1), { out, kernel: 1 }));
    const context = resize(t, pooled, [height, width]);
    const middle = t.call('mid', x, () => block(t, '0', x, { out, kernel: 1 }));
    const half = down(t, 'down1', x, [7]);
    const quarter = down(t, 'down2', half, [5]);
    const eighth = down(t, 'down3', quarter, [3, 3]);
    const third = resize(t, eighth, [Math.floor(height / 4), Math.floor(width / 4)]);
    const second = block(t, 'conv2', quarter, { out: 1, kernel: 5 });
    const lower = resize(t, add(t, second, third), [Math.floor(height / 2), Math.floor(width / 2)]);
    const first = block(t, 'conv1', half, { out: 1, kernel: 7 });
    const gate = resize(t, add(t, lower, first), [height, width]);
    const gated = multiply(t, gate, middle);
    const result = add(t, gated, context);
    t.keep(context, middle, first, second, third);
    return result;
  });
}

/** Global attention upsample: the deeper map gates the earlier one. */
function attentionUpsample(
  t: Tape,
  name: string,
  [early, deep]: readonly [Tensor, Tensor],
  options: PanOptions,
): Tensor {
  const { out, mode } = options;
  return t.call(name, [early, deep], () => {
    const enlarged = resize(t, deep, sizeOf(early), mode);
    const refined = block(t, 'conv2', early, { out, kernel: 3 });
    const gate = t.call('conv1', deep, () =>
      sigmoid(t, block(t, '1', adaptiveAveragePool(t, deep, 1), { out, kernel: 1, activate: false })),
    );
    const gated = multiply(t, refined, gate);
    const result = add(t, enlarged, gated);
    t.keep(enlarged, refined, gate, gated);
    return result;
  });
}

interface PanOptions {
  readonly out: number;
  readonly mode: Mode;
}

function decoder(t: Tape, features: readonly Tensor[], options: PanOptions): Tensor {
  const maps = features.slice(2);
  let out = pyramidAttention(t, maps[maps.length - 1] ?? t.input([1]), options.out);
  for (let index = Math.min(maps.length - 2, 2); index >= 0; index -= 1) {
    const early = maps[index];
    if (early !== undefined) out = attentionUpsample(t, `gau${index + 1}`, [early, out], options);
  }
  return out;
}

/** `smp.PAN`: B×C×H×W → B×classes×H×W. */
export const smpPanNetworks: Readonly<Record<string, Network>> = {
  'smp/pan': smpModel((run) => {
    const { spec } = run;
    const request = encoderRequest(run, { depth: 5, outputStrides: [16, 32] });
    if (request.depth < 3) throw unsupported(spec, { rule: 'encoder-depth', depth: request.depth, least: 3 });
    const stride = Math.min(request.outputStride, 2 ** request.depth);
    const smallest = Math.min(run.w.imageHeight, run.w.imageWidth);
    if (smallest < 8 * stride) throw tooSmall(smallest, 8 * stride);
    const options: PanOptions = {
      out: optionNumber(spec, 'decoderChannels', 32),
      mode: optionText(spec, 'decoderInterpolation', 'bilinear') === 'nearest' ? 'nearest' : 'bilinear',
    };
    return {
      request,
      decoder: (t, features) => decoder(t, features, options),
      kernel: 3,
      upsampling: optionNumber(spec, 'upsampling', 4),
    };
  }),
};

/** Three poolings of the deepest map leave nothing of a smaller image. */
function tooSmall(side: number, minimumSide: number): AppError {
  return new AppError('unsupported-combination', `PAN needs sides of at least ${minimumSide} px`, {
    details: { rule: 'at-least', side, minimumSide },
  });
}
