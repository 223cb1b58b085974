import { AppError } from '../../errors.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { CONVNEXTS } from './convnext.ts';
import { hfConvNextBackbone } from './hf-convnext.ts';
import { hfSemanticModel, refuseSingleClass, type SemanticOutput } from './hf-loss.ts';
import { noCheckpointing } from './hf-mobilenet-v2.ts';
import { HF_SWINS, hfSwinBackbone } from './hf-swin.ts';
import { lookUp } from './mmseg-names.ts';
import { uperFeature } from './mmseg-uper-head.ts';
import { type Network, optionNumber, type Run } from './network.ts';

const WIDTH = 512;
const AUXILIARY_WIDTH = 256;

function features(run: Run, image: Tensor): readonly Tensor[] {
  const { t, spec, w } = run;
  const swin = lookUp(HF_SWINS, spec.backbone);
  const convNext = lookUp(CONVNEXTS, spec.backbone);
  if (swin !== undefined) {
    const [width, depths, heads] = swin;
    const window = optionNumber(spec, 'window', 7);
    return hfSwinBackbone(t, image, {
      width,
      depths,
      heads,
      window,
      dropPathRate: 0.1,
      attention: w.attention,
      checkpoint: w.gradientCheckpointing,
    });
  }
  if (convNext !== undefined) {
    if (w.gradientCheckpointing) throw noCheckpointing('ConvNeXt');
    return hfConvNextBackbone(t, image, { depths: convNext[0], channels: convNext[1], dropPathRate: 0 });
  }
  throw new AppError('unknown-backbone', `UPerNet of transformers is not known on ${spec.backbone}`, {
    details: { architecture: 'upernet', known: [...Object.keys(HF_SWINS), ...Object.keys(CONVNEXTS)] },
  });
}

function decodeHead(t: Tape, maps: readonly Tensor[], numClasses: number): Tensor {
  return t.call('decode_head', maps, () => {
    const fused = uperFeature(t, maps, { channels: WIDTH, numClasses, inPlace: false });
    return conv2d(t, fused, { out: numClasses, kernel: 1, bias: true });
  });
}

function auxiliaryHead(t: Tape, maps: readonly Tensor[], numClasses: number): Tensor {
  return t.call('auxiliary_head', maps, () => {
    const [, , map] = maps;
    if (map === undefined) throw new RangeError('no third feature map');
    const hidden = convBlock(t, 'convs.0', map, { out: AUXILIARY_WIDTH, kernel: 3, padding: 1, inPlace: false });
    return conv2d(t, hidden, { out: numClasses, kernel: 1, bias: true });
  });
}

/** Main and auxiliary logits are resized to the image as soon as each head is done. */
function forward(run: Run, image: Tensor): SemanticOutput {
  const { t, w } = run;
  refuseSingleClass(w);
  const maps = t.freeze(w.frozenBackbone, () => features(run, image));
  const logits = resize(t, decodeHead(t, maps, w.numClasses), sizeOf(image));
  const withAuxiliary = w.auxiliaryHead ?? true;
  const auxiliary = withAuxiliary ? resize(t, auxiliaryHead(t, maps, w.numClasses), sizeOf(image)) : undefined;
  return { logits, ...(auxiliary === undefined ? {} : { auxiliary }), held: maps, atImageSize: true };
}

/** UperNetForSemanticSegmentation of transformers 5.24 on Swin and ConvNeXt; the auxiliary head also runs in evaluation. */
export const hfUpernet: Readonly<Record<string, Network>> = { 'transformers/upernet': hfSemanticModel(forward) };
