import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropout2d } from '../tape/ops-layers.ts';
import { groupNorm } from '../tape/ops-norm.ts';
import { concat, stack } from '../tape/ops-parts.ts';
import { sum } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type Network, optionNumber, optionText } from './network.ts';
import { enlarge } from './smp-blocks.ts';
import { encoderRequest, smpModel, unsupported } from './smp-model.ts';

interface FpnOptions {
  readonly pyramid: number;
  readonly segmentation: number;
  readonly dropout: number;
  readonly merge: string;
  readonly mode: 'nearest' | 'bilinear';
}

/** 3×3 convolution, GroupNorm(32), ReLU, as many times as the map has to be enlarged (at least once). */
function segmentationBlock(t: Tape, x: Tensor, out: number, enlargements: number): Tensor {
  return t.call('block', x, () => {
    let feature = x;
    for (let index = 0; index < Math.max(1, enlargements); index += 1) {
      const input = feature;
      feature = t.call(`${index}`, input, () => {
        const refined = t.call('block', input, () =>
          relu(t, groupNorm(t, conv2d(t, input, { out, kernel: 3, padding: 1 }), 32)),
        );
        return enlargements > 0 ? enlarge(t, refined, 2) : refined;
      });
    }
    return feature;
  });
}

function lateral(t: Tape, name: string, [x, skip]: readonly [Tensor, Tensor], options: FpnOptions): Tensor {
  return t.call(name, [x, skip], () => {
    const enlarged = enlarge(t, x, 2, options.mode);
    const projected = t.within('skip_conv', () => conv2d(t, skip, { out: options.pyramid, kernel: 1, bias: true }));
    const merged = add(t, enlarged, projected);
    t.keep(projected);
    return merged;
  });
}

function decoder(t: Tape, features: readonly Tensor[], options: FpnOptions): Tensor {
  const [c2, c3, c4, c5] = features.slice(-4);
  if (c2 === undefined || c3 === undefined || c4 === undefined || c5 === undefined) return t.input([1]);
  const p5 = t.within('p5', () => conv2d(t, c5, { out: options.pyramid, kernel: 1, bias: true }));
  const p4 = lateral(t, 'p4', [p5, c4], options);
  const p3 = lateral(t, 'p3', [p4, c3], options);
  const p2 = lateral(t, 'p2', [p3, c2], options);
  const maps = [p5, p4, p3, p2].map((map, index) =>
    t.call(`seg_blocks.${index}`, map, () => segmentationBlock(t, map, options.segmentation, 3 - index)),
  );
  const merged = t.call('merge', maps, () =>
    options.merge === 'cat' ? concat(t, maps, 1) : sum(t, stack(t, maps), [0], false),
  );
  const dropped = dropout2d(t, merged, options.dropout, true);
  t.keep(p5, p4, p3, p2, ...maps);
  return dropped;
}

/** `smp.FPN`: B×C×H×W → B×classes×H×W. */
export const smpFpnNetworks: Readonly<Record<string, Network>> = {
  'smp/fpn': smpModel((run) => {
    const { spec } = run;
    const request = encoderRequest(run, { depth: 5, outputStrides: [32] });
    if (request.depth < 3) throw unsupported(spec, { rule: 'encoder-depth', depth: request.depth, least: 3 });
    const options: FpnOptions = {
      pyramid: optionNumber(spec, 'decoderPyramidChannels', 256),
      segmentation: optionNumber(spec, 'decoderSegmentationChannels', 128),
      dropout: optionNumber(spec, 'decoderDropout', 0.2),
      merge: optionText(spec, 'decoderMergePolicy', 'add'),
      mode: optionText(spec, 'decoderInterpolation', 'nearest') === 'bilinear' ? 'bilinear' : 'nearest',
    };
    return {
      request,
      decoder: (t, features) => decoder(t, features, options),
      kernel: 1,
      upsampling: optionNumber(spec, 'upsampling', 4),
    };
  }),
};
