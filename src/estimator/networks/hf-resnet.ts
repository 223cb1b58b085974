import { relu } from '../tape/ops-activation.ts';
import { addInPlace } from '../tape/ops-core.ts';
import { adaptiveAveragePool, maxPool } from '../tape/ops-layers.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, convBlock } from './blocks.ts';

const BLOCKS = { 50: [3, 4, 6, 3], 101: [3, 4, 23, 3] } as const;
const CHANNELS = [256, 512, 1024, 2048];

/** Depths of the ResNet backbones of the mask classifiers. */
export const HF_RESNETS: Readonly<Record<string, 50 | 101>> = { resnet50: 50, resnet101: 101 };

/** ResNetBackbone of transformers 5.24: maps of the four stages; the sum of a block works in place, the activation does not. */
export function hfResnetBackbone(t: Tape, image: Tensor, depth: 50 | 101): readonly Tensor[] {
  return t.call('backbone', image, () => {
    const stem = convBlock(t, 'embedder', image, { out: 64, kernel: 7, stride: 2, padding: 3, inPlace: false });
    let x = t.within('pooler', () => maxPool(t, stem, { kernel: 3, stride: 2, padding: 1 }));
    const hidden = [x];
    for (const [stage, count] of BLOCKS[depth].entries()) {
      const input = x;
      x = t.call(`stages.${stage}`, input, () => {
        let feature = input;
        for (let index = 0; index < count; index += 1) {
          const stride = stage > 0 && index === 0 ? 2 : 1;
          feature = bottleneck(t, feature, { out: CHANNELS[stage] ?? 1, stride });
        }
        return feature;
      });
      hidden.push(x);
    }
    const pooled = adaptiveAveragePool(t, x, 1);
    t.keep(...hidden, pooled);
    return hidden.slice(1);
  });
}

/** The shortcut is projected after the branch. */
function bottleneck(t: Tape, x: Tensor, { out, stride }: { out: number; stride: number }): Tensor {
  return t.call('', x, () => {
    const width = out / 4;
    const branch = t.call('layer', x, () => {
      const thin = convBlock(t, '0', x, { out: width, kernel: 1, inPlace: false });
      const mixed = convBlock(t, '1', thin, { out: width, kernel: 3, stride, padding: 1, inPlace: false });
      return convBlock(t, '2', mixed, { out, kernel: 1, activation: 'none' });
    });
    const projects = channelsOf(x) !== out || stride !== 1;
    const shortcut = projects ? convBlock(t, 'shortcut', x, { out, kernel: 1, stride, activation: 'none' }) : x;
    const active = relu(t, addInPlace(t, branch, shortcut), false);
    t.keep(shortcut);
    return active;
  });
}
