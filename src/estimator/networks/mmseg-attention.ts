import { mmsegBackbone } from './mmseg-backbones.ts';
import { stageThreeAuxiliary } from './mmseg-classic.ts';
import {
  type ContextBlock,
  contextHead,
  disentangledNonLocalBlock,
  globalContextBlock,
  nonLocalBlock,
} from './mmseg-context-heads.ts';
import { encoderDecoder, type Head } from './mmseg-segmentor.ts';
import type { Network, Run } from './network.ts';

const CONTEXT: Readonly<Record<string, ContextBlock>> = {
  nonlocal: nonLocalBlock,
  dnlnet: disentangledNonLocalBlock,
  gcnet: globalContextBlock,
};

const KNOWN = ['resnet'];

/** A dilated ResNet with a context head and one auxiliary head after stage 3. */
function dilated(head: (run: Run) => Head): Network {
  return encoderDecoder((run) => ({
    backbone: mmsegBackbone(run, KNOWN),
    decodeHead: head(run),
    auxiliaryHeads: stageThreeAuxiliary(run),
  }));
}

export const attentionNetworks: Readonly<Record<string, Network>> = Object.fromEntries(
  Object.entries(CONTEXT).map(([name, block]) => [
    `mmseg/${name}`,
    dilated((run) => contextHead(block, { channels: 512, numClasses: run.w.numClasses })),
  ]),
);
