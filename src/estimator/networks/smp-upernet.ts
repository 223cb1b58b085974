import { add } from '../tape/ops-core.ts';
import { adaptiveAveragePool } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { layerNorm2d, sizeOf } from './blocks.ts';
import { type Network, optionNumber } from './network.ts';
import { convRelu, decoderNorm } from './smp-blocks.ts';
import { encoderRequest, smpModel, unsupported } from './smp-model.ts';

interface UperOptions {
  readonly out: number;
  readonly norm: boolean;
}

function pyramidPooling(t: Tape, x: Tensor, { out, norm }: UperOptions): Tensor {
  return t.call('psp', x, () => {
    const maps = [x];
    const pools: Tensor[] = [];
    [1, 2, 3, 6].forEach((side, index) => {
      const pooled = t.call(`blocks.${index}`, x, () =>
        convRelu(t, '1', adaptiveAveragePool(t, x, side), { out, kernel: 1, norm }),
      );
      pools.push(pooled);
      maps.push(resize(t, pooled, sizeOf(x)));
    });
    const fused = convRelu(t, 'out_conv', concat(t, maps, 1), { out, kernel: 3 });
    t.keep(...maps, ...pools.slice(-1));
    return fused;
  });
}

function lateral(t: Tape, name: string, [state, map]: readonly [Tensor, Tensor], { out, norm }: UperOptions): Tensor {
  return t.call(name, [state, map], () => {
    const projected = convRelu(t, 'conv_norm_relu', map, { out, kernel: 1, norm });
    const enlarged = resize(t, state, sizeOf(projected));
    const merged = add(t, enlarged, projected);
    t.keep(enlarged, projected);
    return merged;
  });
}

function decoder(t: Tape, features: readonly Tensor[], options: UperOptions): Tensor {
  const { out, norm } = options;
  const maps = features.slice(2).map((map, index) => layerNorm2d(t, `feature_norms.${index}`, map));
  const deepest = maps[maps.length - 1] ?? t.input([1]);
  const pyramid = [pyramidPooling(t, deepest, options)];
  const laterals = maps.slice(0, -1).reverse();
  laterals.forEach((map, index) => {
    pyramid.push(lateral(t, `fpn_lateral_blocks.${index}`, [pyramid[index] ?? map, map], options));
  });
  const locals = pyramid.slice(-2);
  const refined = pyramid.map((map, index) =>
    index === 0 ? map : convRelu(t, `fpn_conv_blocks.${index - 1}`, map, { out, kernel: 3, norm }),
  );
  const size = sizeOf(refined[refined.length - 1] ?? deepest);
  const resized = refined.map((map) => resize(t, map, size));
  const joined = concat(t, [...resized].reverse(), 1);
  const fused = convRelu(t, 'fusion_block', joined, { out, kernel: 3, norm });
  t.keep(...maps, ...locals, ...refined, ...resized, joined);
  return fused;
}

/** `smp.UPerNet`: B×C×H×W → B×classes×H×W; no auxiliary head. */
export const smpUpernetNetworks: Readonly<Record<string, Network>> = {
  'smp/upernet': smpModel((run) => {
    const { spec } = run;
    const request = encoderRequest(run, { depth: 5, outputStrides: [32] });
    if (request.depth < 3) throw unsupported(spec, { rule: 'encoder-depth', depth: request.depth, least: 3 });
    const options = { out: optionNumber(spec, 'decoderChannels', 256), norm: decoderNorm(spec) };
    return {
      request,
      decoder: (t, features) => decoder(t, features, options),
      kernel: 1,
      upsampling: optionNumber(spec, 'upsampling', 4),
    };
  }),
};
