import { AppError } from '../../errors.ts';
import { sigmoid } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { multiply } from '../tape/ops-core.ts';
import { averagePool } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type Head } from './mmseg-head.ts';
import { mobileNetV3 } from './mmseg-mobilenet.ts';
import { unknownBackbone } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import type { Network, Run } from './network.ts';

const CHANNELS = 128;
const BRANCHES = [32, 64] as const;
const POOL = 49;

/** LRASPPHead (Howard et al. 2019; MMSegmentation 1.2.2): a pooled gate on the coarsest map, then two finer maps joined in. */
function lrasppHead(numClasses: number): Head {
  return (t, features) => {
    const coarse = feature(t, features, -1);
    const projected = convBlock(t, 'aspp_conv', coarse, { out: CHANNELS, kernel: 1, bias: false });
    const gate = resize(t, imagePool(t, coarse), sizeOf(coarse));
    const gated = multiply(t, projected, gate);
    let x = conv2d(t, gated, { out: CHANNELS, kernel: 1, bias: true });
    for (let level = BRANCHES.length - 1; level >= 0; level -= 1) {
      const fine = feature(t, features, level);
      const resized = resize(t, x, sizeOf(fine));
      const branch = conv2d(t, fine, { out: BRANCHES[level] ?? 0, kernel: 1 });
      x = convBlock(t, `conv_ups.${level}`, concat(t, [resized, branch], 1), { out: CHANNELS, kernel: 1, bias: false });
    }
    return classify(t, x, numClasses);
  };
}

function imagePool(t: Tape, x: Tensor): Tensor {
  const [height, width] = sizeOf(x);
  if (height < POOL || width < POOL) {
    throw new AppError('unsupported-combination', `LR-ASPP pools ${POOL}×${POOL} windows of a map at stride 8`, {
      details: { rule: 'at-least', implementation: 'mmseg', architecture: 'lraspp', minimumSide: 8 * POOL },
    });
  }
  return t.call('image_pool', x, () => {
    const pooled = averagePool(t, x, { kernel: POOL, stride: [16, 20] });
    const options = { out: CHANNELS, kernel: 1, norm: false, bias: false, activation: 'none' } as const;
    return sigmoid(t, convBlock(t, '1', pooled, options));
  });
}

function lrasppSegmentor(run: Run): Segmentor {
  const { spec, w } = run;
  const size = spec.backbone === 'mobilenet-v3-large' ? 'large' : 'small';
  if (spec.backbone !== `mobilenet-v3-${size}`)
    throw unknownBackbone(run, ['mobilenet-v3-large', 'mobilenet-v3-small']);
  const options = { size, checkpoint: w.gradientCheckpointing, frozenStages: w.frozenStages ?? -1 } as const;
  return {
    backbone: (t, image) => t.freeze(w.frozenBackbone, () => mobileNetV3(t, image, options)),
    decodeHead: lrasppHead(w.numClasses),
    auxiliaryHeads: [],
  };
}

export const lrasppNetworks: Readonly<Record<string, Network>> = { 'mmseg/lraspp': encoderDecoder(lrasppSegmentor) };
