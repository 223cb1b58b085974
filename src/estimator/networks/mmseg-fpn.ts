import { add } from '../tape/ops-core.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { mmsegBackbone } from './mmseg-backbones.ts';
import { classify, type Head } from './mmseg-head.ts';
import { mmsegPoolFormer } from './mmseg-poolformer.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { mmsegTwins } from './mmseg-twins.ts';
import type { Network, Run } from './network.ts';

/** FPN neck without norm or activation: as many maps as it gets, `out` channels each, nearest upsampling (Lin et al. 2017; MMSegmentation 1.2.2). */
export function fpnNeck(t: Tape, features: readonly Tensor[], out = 256): readonly Tensor[] {
  const plain = { out, norm: false, activation: 'none' } as const;
  const laterals = features.map((map, level) => convBlock(t, `lateral_convs.${level}`, map, { ...plain, kernel: 1 }));
  for (let level = laterals.length - 1; level > 0; level -= 1) {
    const fine = laterals[level - 1];
    const coarse = laterals[level];
    if (fine === undefined || coarse === undefined) continue;
    laterals[level - 1] = add(t, fine, resize(t, coarse, sizeOf(fine), 'nearest'));
  }
  const outputs = laterals.map((lateral, level) =>
    convBlock(t, `fpn_convs.${level}`, lateral, { ...plain, kernel: 3, padding: 1 }),
  );
  t.keep(...laterals, ...outputs);
  return outputs;
}

export interface FpnHeadOptions {
  readonly channels: number;
  readonly numClasses: number;
  readonly dropout?: number;
}

/** FPNHead: every map is convolved and doubled until it has the finest size, then all are added (Kirillov et al. 2019). */
export function fpnHead({ channels, numClasses, dropout }: FpnHeadOptions): Head {
  return (t, features) => {
    let output: Tensor | undefined;
    for (const [level, map] of features.entries()) {
      const scaled = t.call(`scale_heads.${level}`, map, () => scaleHead(t, map, level, channels));
      output = output === undefined ? scaled : add(t, output, resize(t, scaled, sizeOf(output)));
    }
    if (output === undefined) throw new RangeError('no feature maps');
    return classify(t, output, numClasses, dropout);
  };
}

function scaleHead(t: Tape, map: Tensor, level: number, channels: number): Tensor {
  let x = map;
  for (let step = 0; step < Math.max(1, level); step += 1) {
    x = convBlock(t, `${2 * step}`, x, { out: channels, kernel: 3, padding: 1 });
    const [height, width] = sizeOf(x);
    if (level > 0) x = resize(t, x, [height * 2, width * 2]);
  }
  return x;
}

const KNOWN = ['resnet', 'twins', 'poolformer'];

/** Semantic FPN on a ResNet, Twins or PoolFormer, whose configs have the same neck and head. */
function semanticFpn(run: Run): Segmentor {
  return {
    backbone: mmsegTwins(run) ?? mmsegPoolFormer(run) ?? mmsegBackbone(run, KNOWN, 32),
    neck: (t, features) => fpnNeck(t, features),
    decodeHead: fpnHead({ channels: 128, numClasses: run.w.numClasses }),
    auxiliaryHeads: [],
  };
}

export const semanticFpnNetworks: Readonly<Record<string, Network>> = {
  'mmseg/semantic-fpn': encoderDecoder(semanticFpn),
};
