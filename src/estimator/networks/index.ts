import type { ModelSpec } from '../workload.ts';
import { detectionMaskNetworks } from './detection-masks.ts';
import { detectionPointRendNetworks } from './detection-pointrend.ts';
import { detectionSemanticNetworks } from './detection-semantic.ts';
import { hfBeitNetworks } from './hf-beit-segmentation.ts';
import { hfDpt } from './hf-dpt.ts';
import { hfEomt } from './hf-eomt.ts';
import { hfMask2Former } from './hf-mask2former.ts';
import { hfMaskFormer } from './hf-maskformer.ts';
import { hfMobileNetV2 } from './hf-mobilenet-v2.ts';
import { hfMobileVit } from './hf-mobilevit.ts';
import { hfMobileVitV2 } from './hf-mobilevit-v2.ts';
import { hfOneFormer } from './hf-oneformer.ts';
import { hfSam } from './hf-sam.ts';
import { hfSegformer } from './hf-segformer.ts';
import { hfUpernet } from './hf-upernet.ts';
import { maskRcnnNetworks } from './mask-rcnn.ts';
import { attentionNetworks } from './mmseg-attention.ts';
import { bisenetV1Networks } from './mmseg-bisenet-v1.ts';
import { bisenetV2Networks } from './mmseg-bisenet-v2.ts';
import { cgnetNetworks } from './mmseg-cgnet.ts';
import { classicNetworks } from './mmseg-classic.ts';
import { ddrnetNetworks } from './mmseg-ddrnet.ts';
import { mmsegDpt } from './mmseg-dpt.ts';
import { erfnetNetworks } from './mmseg-erfnet.ts';
import { fastScnnNetworks } from './mmseg-fast-scnn.ts';
import { fastFcnNetworks } from './mmseg-fastfcn.ts';
import { semanticFpnNetworks } from './mmseg-fpn.ts';
import { icnetNetworks } from './mmseg-icnet.ts';
import { knetNetworks } from './mmseg-knet.ts';
import { lrasppNetworks } from './mmseg-lraspp.ts';
import { mask2formerNetworks } from './mmseg-mask2former.ts';
import { maskformerNetworks } from './mmseg-maskformer.ts';
import { ocrNetworks } from './mmseg-ocr.ts';
import { pidnetNetworks } from './mmseg-pidnet.ts';
import { pointRendNetworks } from './mmseg-pointrend.ts';
import { mmsegSegformer } from './mmseg-segformer.ts';
import { mmsegSegmenter } from './mmseg-segmenter.ts';
import { mmsegSegnext } from './mmseg-segnext.ts';
import { mmsegSetr } from './mmseg-setr.ts';
import { stdcNetworks } from './mmseg-stdc.ts';
import { mmsegUnetNetworks } from './mmseg-unet.ts';
import { mmsegUpernet } from './mmseg-upernet.ts';
import type { Network } from './network.ts';
import { nnunetNetworks } from './nnunet.ts';
import { smpNetworks } from './smp.ts';
import { torchvisionSegmentation } from './torchvision-segmentation.ts';
import { u2netNetworks } from './u2net.ts';
import { milesialNetworks } from './unet-milesial.ts';
import { monaiNetworks } from './unet-monai.ts';
import { originalUnetNetworks } from './unet-original.ts';
import { swinUnetNetworks } from './unet-swin.ts';
import { transUnetNetworks } from './unet-transunet.ts';
import { yoloNetworks } from './yolo.ts';

const NETWORKS: Readonly<Record<string, Network>> = {
  ...attentionNetworks,
  ...classicNetworks,
  ...knetNetworks,
  ...ddrnetNetworks,
  ...pidnetNetworks,
  ...bisenetV1Networks,
  ...bisenetV2Networks,
  ...cgnetNetworks,
  ...erfnetNetworks,
  ...fastScnnNetworks,
  ...icnetNetworks,
  ...stdcNetworks,
  ...fastFcnNetworks,
  ...lrasppNetworks,
  ...mask2formerNetworks,
  ...maskformerNetworks,
  ...ocrNetworks,
  ...pointRendNetworks,
  ...semanticFpnNetworks,
  ...mmsegSegformer,
  ...mmsegUnetNetworks,
  ...mmsegUpernet,
  ...mmsegSegmenter,
  ...mmsegSegnext,
  ...mmsegDpt,
  ...mmsegSetr,
  ...smpNetworks,
  ...milesialNetworks,
  ...monaiNetworks,
  ...originalUnetNetworks,
  ...nnunetNetworks,
  ...u2netNetworks,
  ...swinUnetNetworks,
  ...transUnetNetworks,
  ...torchvisionSegmentation,
  ...hfBeitNetworks,
  ...hfDpt,
  ...hfMobileNetV2,
  ...hfMobileVit,
  ...hfMobileVitV2,
  ...hfMask2Former,
  ...hfMaskFormer,
  ...hfEomt,
  ...hfSam,
  ...hfOneFormer,
  ...hfSegformer,
  ...hfUpernet,
  ...maskRcnnNetworks,
  ...detectionMaskNetworks,
  ...detectionPointRendNetworks,
  ...detectionSemanticNetworks,
  ...yoloNetworks,
};

/** The network of a model, or undefined where no family covers it. */
export function findNetwork(spec: ModelSpec): Network | undefined {
  return NETWORKS[`${spec.implementation}/${spec.architecture}`];
}
