import type { Network } from './network.ts';
import { smpDeeplabNetworks } from './smp-deeplab.ts';
import { smpDptNetworks } from './smp-dpt.ts';
import { smpFpnNetworks } from './smp-fpn.ts';
import { smpLinknetNetworks } from './smp-linknet.ts';
import { smpManetNetworks } from './smp-manet.ts';
import { smpPanNetworks } from './smp-pan.ts';
import { smpPspnetNetworks } from './smp-pspnet.ts';
import { smpSegformerNetworks } from './smp-segformer.ts';
import { smpUnetNetworks } from './smp-unet.ts';
import { smpUnetPlusPlusNetworks } from './smp-unetplusplus.ts';
import { smpUpernetNetworks } from './smp-upernet.ts';

/** Every decoder of segmentation_models_pytorch 0.6.0. */
export const smpNetworks: Readonly<Record<string, Network>> = {
  ...smpUnetNetworks,
  ...smpUnetPlusPlusNetworks,
  ...smpManetNetworks,
  ...smpLinknetNetworks,
  ...smpFpnNetworks,
  ...smpPspnetNetworks,
  ...smpDeeplabNetworks,
  ...smpPanNetworks,
  ...smpUpernetNetworks,
  ...smpSegformerNetworks,
  ...smpDptNetworks,
};
