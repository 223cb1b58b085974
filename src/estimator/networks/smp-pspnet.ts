import { adaptiveAveragePool, dropout2d } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type Network, optionNumber } from './network.ts';
import { convRelu, decoderNorm } from './smp-blocks.ts';
import { encoderRequest, smpModel } from './smp-model.ts';

interface PspOptions {
  readonly out: number;
  readonly norm: boolean;
  readonly dropout: number;
}

/** Pooled to side × side, reduced, enlarged again; one pixel is not normalised. */
function pyramidBranch(t: Tape, x: Tensor, side: number, norm: boolean): Tensor {
  const pooled = t.call('pool', x, () =>
    convRelu(t, '1', adaptiveAveragePool(t, x, side), {
      out: Math.floor(channelsOf(x) / 4),
      kernel: 1,
      norm: norm && side > 1,
    }),
  );
  return resize(t, pooled, sizeOf(x));
}

function decoder(t: Tape, x: Tensor, options: PspOptions): Tensor {
  const joined = t.call('psp', x, () => {
    const maps = [1, 2, 3, 6].map((side, index) =>
      t.call(`blocks.${index}`, x, () => pyramidBranch(t, x, side, options.norm)),
    );
    const all = concat(t, [...maps, x], 1);
    t.keep(...maps);
    return all;
  });
  const fused = convRelu(t, 'conv', joined, { out: options.out, kernel: 1, norm: options.norm });
  return dropout2d(t, fused, options.dropout);
}

/** `smp.PSPNet`: B×C×H×W → B×classes×H×W; the encoder runs to 1/8 only, its deeper stages stay unused. */
export const smpPspnetNetworks: Readonly<Record<string, Network>> = {
  'smp/pspnet': smpModel((run) => {
    const { spec } = run;
    const options = {
      out: optionNumber(spec, 'pspOutChannels', 512),
      norm: decoderNorm(spec),
      dropout: optionNumber(spec, 'pspDropout', 0.2),
    };
    return {
      request: encoderRequest(run, { depth: 3, outputStrides: [32] }),
      decoder: (t, features) => decoder(t, features[features.length - 1] ?? t.input([1]), options),
      kernel: 3,
      upsampling: optionNumber(spec, 'upsampling', 8),
    };
  }),
};
