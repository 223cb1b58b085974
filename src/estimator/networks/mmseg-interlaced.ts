import { concat, pad, slice } from '../tape/ops-parts.ts';
import { permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, convBlock, sizeOf } from './blocks.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type Head } from './mmseg-head.ts';
import { selfAttentionBlock } from './mmseg-self-attention.ts';

const CHANNELS = 512;
/** Side of a local group. */
const LOCAL = 8;

function relation(t: Tape, name: string, x: Tensor): Tensor {
  return t.call(name, x, () => {
    const options = { channels: 256, out: channelsOf(x), keyQueryConvs: 2, keyQueryNorm: true } as const;
    const context = selfAttentionBlock(t, x, x, { ...options, scaled: true, withOut: false });
    const out = convBlock(t, 'output_project', context, { out: channelsOf(x), kernel: 1 });
    t.keep(context);
    return out;
  });
}

/** Attention over distant pixels, then over neighbouring ones; each rearrangement is a copy. */
function interlaced(t: Tape, map: Tensor, [rows, columns]: readonly [number, number]): Tensor {
  const [batch = 1, channels = 1] = map.shape;
  const grouped = permute(t, reshape(t, map, [batch, channels, rows, LOCAL, columns, LOCAL]), [0, 3, 5, 1, 2, 4]);
  const distant = relation(t, 'global_relation', reshape(t, grouped, [-1, channels, rows, columns]));
  const turned = permute(t, reshape(t, distant, [batch, LOCAL, LOCAL, channels, rows, columns]), [0, 4, 5, 3, 1, 2]);
  const near = relation(t, 'local_relation', reshape(t, turned, [-1, channels, LOCAL, LOCAL]));
  const back = permute(t, reshape(t, near, [batch, rows, columns, channels, LOCAL, LOCAL]), [0, 3, 1, 4, 2, 5]);
  return reshape(t, back, [batch, channels, rows * LOCAL, columns * LOCAL]);
}

/** ISAHead (Huang et al. 2019; MMSegmentation 1.2.2): the map is padded to groups of 8×8. */
export function interlacedHead(numClasses: number): Head {
  return (t, features) => {
    const x = convBlock(t, 'in_conv', feature(t, features, -1), { out: CHANNELS, kernel: 3, padding: 1 });
    const [height, width] = sizeOf(x);
    const groups = [Math.ceil(height / LOCAL), Math.ceil(width / LOCAL)] as const;
    const padded = [groups[0] * LOCAL, groups[1] * LOCAL] as const;
    const grown = padded[0] !== height || padded[1] !== width;
    const input = grown ? pad(t, x, [...x.shape.slice(0, 2), ...padded]) : x;
    const attended = interlaced(t, input, groups);
    const cropped = slice(t, slice(t, attended, 2, height), 3, width);
    const joined = convBlock(t, 'out_conv', concat(t, [cropped, x], 1), { out: CHANNELS, kernel: 1 });
    t.keep(cropped);
    const logits = classify(t, joined, numClasses);
    t.keep(x, joined);
    return logits;
  };
}
