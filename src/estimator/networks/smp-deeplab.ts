import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { adaptiveAveragePool, dropout } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type Network, optionBoolean, optionNumber, optionNumbers, type Run } from './network.ts';
import { enlarge } from './smp-blocks.ts';
import { encoderRequest, smpModel, unsupported } from './smp-model.ts';

interface AsppOptions {
  readonly out: number;
  readonly rates: readonly number[];
  readonly separable: boolean;
  readonly dropout: number;
}

/** Norm and a ReLU that is not in place. */
const normRelu = (t: Tape, x: Tensor): Tensor => relu(t, batchNorm(t, x), false);

function separable(t: Tape, x: Tensor, out: number, dilation = 1): Tensor {
  return t.call('', x, () => {
    const depthwise = conv2d(t, x, {
      out: channelsOf(x),
      kernel: 3,
      padding: dilation,
      dilation,
      groups: channelsOf(x),
    });
    return conv2d(t, depthwise, { out, kernel: 1 });
  });
}

function aspp(t: Tape, x: Tensor, options: AsppOptions): Tensor {
  const { out } = options;
  return t.call('aspp', x, () => {
    const branches = [t.call('convs.0', x, () => normRelu(t, conv2d(t, x, { out, kernel: 1 })))];
    options.rates.forEach((rate, index) => {
      branches.push(
        t.call(`convs.${index + 1}`, x, () =>
          normRelu(
            t,
            options.separable
              ? separable(t, x, out, rate)
              : conv2d(t, x, { out, kernel: 3, padding: rate, dilation: rate }),
          ),
        ),
      );
    });
    branches.push(
      t.call('convs.4', x, () => {
        const pooled = normRelu(t, conv2d(t, adaptiveAveragePool(t, x, 1), { out, kernel: 1 }));
        return resize(t, pooled, sizeOf(x));
      }),
    );
    const joined = concat(t, branches, 1);
    return t.call('project', joined, () =>
      dropout(t, normRelu(t, conv2d(t, joined, { out, kernel: 1 })), options.dropout),
    );
  });
}

function asppOptions({ spec }: Run, separableByDefault: boolean): AsppOptions {
  return {
    out: optionNumber(spec, 'decoderChannels', 256),
    rates: optionNumbers(spec, 'decoderAtrousRates', [12, 24, 36]),
    separable: optionBoolean(spec, 'decoderAsppSeparable', separableByDefault),
    dropout: optionNumber(spec, 'decoderAsppDropout', 0.5),
  };
}

function plusDecoder(t: Tape, features: readonly Tensor[], options: AsppOptions & { factor: number }): Tensor {
  const deepest = features[features.length - 1];
  const early = features[2];
  if (deepest === undefined || early === undefined) return t.input([1]);
  const context = t.call('aspp', deepest, () =>
    normRelu(
      t,
      separable(
        t,
        t.within('0', () => aspp(t, deepest, options)),
        options.out,
      ),
    ),
  );
  const enlarged = enlarge(t, context, options.factor);
  const detail = t.call('block1', early, () => normRelu(t, conv2d(t, early, { out: 48, kernel: 1 })));
  const joined = concat(t, [enlarged, detail], 1);
  const fused = t.call('block2', joined, () => normRelu(t, separable(t, joined, options.out)));
  t.keep(enlarged, detail, joined);
  return fused;
}

/** `smp.DeepLabV3` and `smp.DeepLabV3Plus`: B×C×H×W → B×classes×H×W. */
export const smpDeeplabNetworks: Readonly<Record<string, Network>> = {
  'smp/deeplabv3': smpModel((run) => {
    const options = asppOptions(run, false);
    const request = encoderRequest(run, { depth: 5, outputStrides: [8, 16] });
    const factor = request.depth <= 3 ? 2 ** request.depth : request.outputStride;
    return {
      request,
      decoder: (t, features) => {
        const context = aspp(t, features[features.length - 1] ?? t.input([1]), options);
        return normRelu(
          t,
          t.within('conv', () => conv2d(t, context, { out: options.out, kernel: 3, padding: 1 })),
        );
      },
      kernel: 1,
      upsampling: optionNumber(run.spec, 'upsampling', factor),
    };
  }),
  'smp/deeplabv3plus': smpModel((run) => {
    const request = encoderRequest(run, { depth: 5, outputStrides: [16, 8] });
    if (request.depth < 3) throw unsupported(run.spec, { rule: 'encoder-depth', depth: request.depth, least: 3 });
    const factor = request.outputStride === 16 && request.depth > 3 ? 4 : 2;
    const options = { ...asppOptions(run, true), factor };
    return {
      request,
      decoder: (t, features) => plusDecoder(t, features, options),
      kernel: 1,
      upsampling: optionNumber(run.spec, 'upsampling', 4),
    };
  }),
};
