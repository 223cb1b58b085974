import { detrDecoder, imageSize } from './detr-mask-decoder.ts';
import { maskLosses } from './mask-losses.ts';
import { truthFromLabels } from './mask-matching.ts';
import { maskBackbone, semanticMap } from './mmseg-mask2former.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { type Network, optionNumber, type Run } from './network.ts';

/** MaskFormer of MMSegmentation 1.2.2 (configs/maskformer): no transformer encoder, on ResNet at stride 32 or Swin. */
function maskformer(run: Run): Segmentor {
  const { spec, w } = run;
  const options = { queries: optionNumber(spec, 'numQueries', 100), numClasses: w.numClasses, encoderLayers: 0 };
  return {
    backbone: maskBackbone(run, 'batch'),
    decodeHead: (t, maps) => semanticMap(t, detrDecoder(t, maps, options), imageSize(maps)),
    decodeLosses: (t, maps, label) => {
      const truth = truthFromLabels(t, label, w.instancesPerImage);
      const predictions = detrDecoder(t, maps, options);
      return { losses: maskLosses(t, predictions, truth, { by: 'pixels', style: 'mmdet' }), accuracies: [] };
    },
    auxiliaryHeads: [],
  };
}

export const maskformerNetworks: Readonly<Record<string, Network>> = { 'mmseg/maskformer': encoderDecoder(maskformer) };
