import { adaptivePyramidHead, dynamicFilterHead } from './mmseg-adaptive-heads.ts';
import { mmsegBackbone } from './mmseg-backbones.ts';
import { stageThreeAuxiliary } from './mmseg-classic.ts';
import {
  type ContextBlock,
  contextHead,
  disentangledNonLocalBlock,
  globalContextBlock,
  nonLocalBlock,
} from './mmseg-context-heads.ts';
import { crissCrossBlock } from './mmseg-criss-cross.ts';
import { encodingHead, encodingLosses, expectationHead } from './mmseg-encoding-heads.ts';
import { interlacedHead } from './mmseg-interlaced.ts';
import { pointWiseHead } from './mmseg-point-wise-attention.ts';
import { asymmetricHead, dualAttentionHead, dualAttentionLosses } from './mmseg-position-heads.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { type Network, optionNumber, type Run } from './network.ts';

const CONTEXT: Readonly<Record<string, ContextBlock>> = {
  nonlocal: nonLocalBlock,
  dnlnet: disentangledNonLocalBlock,
  gcnet: globalContextBlock,
  ccnet: crissCrossBlock,
};

const KNOWN = ['resnet'];

type HeadParts = Pick<Segmentor, 'decodeHead' | 'decodeLosses'>;

/** Heads that are no block inside an FCN head, for a number of classes. */
const HEADS: Readonly<Record<string, (numClasses: number, run: Run) => HeadParts>> = {
  apcnet: (numClasses) => ({ decodeHead: adaptivePyramidHead(numClasses) }),
  dmnet: (numClasses) => ({ decodeHead: dynamicFilterHead(numClasses) }),
  isanet: (numClasses) => ({ decodeHead: interlacedHead(numClasses) }),
  psanet: (numClasses, run) => ({
    decodeHead: pointWiseHead({ numClasses, maskSize: optionNumber(run.spec, 'maskSize', 97) }),
  }),
  danet: (numClasses, { w }) => ({
    decodeHead: dualAttentionHead(numClasses),
    decodeLosses: dualAttentionLosses(numClasses, w.loss),
  }),
  ann: (numClasses) => ({ decodeHead: asymmetricHead(numClasses) }),
  encnet: (numClasses, { w }) => ({
    decodeHead: encodingHead({ channels: 512, numClasses }),
    decodeLosses: encodingLosses({ channels: 512, numClasses }, w.loss),
  }),
  emanet: (numClasses) => ({ decodeHead: expectationHead({ numClasses }) }),
};

/** A dilated ResNet with a context head and one auxiliary head after stage 3. */
function dilated(head: (run: Run) => HeadParts): Network {
  return encoderDecoder((run) => ({
    backbone: mmsegBackbone(run, KNOWN),
    ...head(run),
    auxiliaryHeads: stageThreeAuxiliary(run),
  }));
}

export const attentionNetworks: Readonly<Record<string, Network>> = Object.fromEntries([
  ...Object.entries(CONTEXT).map(([name, block]) => [
    `mmseg/${name}`,
    dilated((run) => ({ decodeHead: contextHead(block, { channels: 512, numClasses: run.w.numClasses }) })),
  ]),
  ...Object.entries(HEADS).map(([name, head]) => [`mmseg/${name}`, dilated((run) => head(run.w.numClasses, run))]),
]);
