import { linear } from '../tape/ops-linear.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { flatten, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type Network, optionNumber } from './network.ts';
import { convRelu } from './smp-blocks.ts';
import { encoderRequest, smpModel, unsupported } from './smp-model.ts';

/** A linear projection of every pixel. */
function projection(t: Tape, name: string, x: Tensor, width: number): Tensor {
  const [batch = 1, , height = 1, columns = 1] = x.shape;
  return t.call(name, x, () => {
    const tokens = transpose(t, flatten(t, x, 2), 1, 2);
    const projected = t.call('linear', tokens, () => linear(t, tokens, width));
    return reshape(t, transpose(t, projected, 1, 2), [batch, width, height, columns]);
  });
}

/** All scales below the image, from the deepest, at a quarter of its sides. */
function decoder(t: Tape, features: readonly Tensor[], width: number): Tensor {
  const [image, first] = features;
  const [height, columns] = image === undefined ? [4, 4] : sizeOf(image);
  const maps = features.slice(first !== undefined && channelsOf(first) === 0 ? 2 : 1).reverse();
  const size = [Math.floor(height / 4), Math.floor(columns / 4)] as const;
  const locals: Tensor[] = [];
  const resized = maps.map((map, index) => {
    const projected = projection(t, `mlp_stage.${index}`, map, width);
    locals.push(projected);
    return resize(t, projected, size);
  });
  const fused = convRelu(t, 'fuse_stage', concat(t, resized, 1), { out: width, kernel: 1 });
  t.keep(...locals.slice(-1), ...resized);
  return fused;
}

/** `smp.Segformer`: B×C×H×W → B×classes×H×W; width 256 for every encoder. */
export const smpSegformerNetworks: Readonly<Record<string, Network>> = {
  'smp/segformer': smpModel((run) => {
    const { spec } = run;
    const request = encoderRequest(run, { depth: 5, outputStrides: [32] });
    if (request.depth < 3) throw unsupported(spec, { rule: 'encoder-depth', depth: request.depth, least: 3 });
    const width = optionNumber(spec, 'decoderSegmentationChannels', 256);
    return {
      request,
      decoder: (t, features) => decoder(t, features, width),
      kernel: 1,
      upsampling: optionNumber(spec, 'upsampling', 4),
    };
  }),
};
