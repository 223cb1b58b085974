import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, separableBlock, sizeOf } from './blocks.ts';
import { asppHead } from './mmseg-aspp-head.ts';
import { mmsegResnetOptions } from './mmseg-backbones.ts';
import { encodingHead, encodingLosses } from './mmseg-encoding-heads.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { unknownBackbone } from './mmseg-names.ts';
import { pspHead } from './mmseg-psp-head.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { type Network, optionText, type Run } from './network.ts';
import { resnet } from './resnet.ts';

const MIDDLE = 512;
const DILATIONS = [1, 2, 4, 8] as const;

/** Joint pyramid upsampling: three maps at the finest size, four dilated separable convolutions, joined (Wu et al. 2019; MMSegmentation 1.2.2). */
function jointPyramidUpsampling(t: Tape, inputs: readonly Tensor[]): readonly Tensor[] {
  const maps = inputs.map((input, level) =>
    t.call(`conv_layers.${level}`, input, () => convBlock(t, '0', input, { out: MIDDLE, kernel: 3, padding: 1 })),
  );
  const [finest] = maps;
  if (finest === undefined) throw new RangeError('no feature maps');
  const resized = maps.map((map, level) => (level === 0 ? map : resize(t, map, sizeOf(finest))));
  const joined = concat(t, resized, 1);
  const branches = DILATIONS.map((dilation, index) =>
    separableBlock(t, `dilation_layers.${index}`, joined, { out: MIDDLE, dilation, depthwiseActivation: 'none' }),
  );
  const out = concat(t, branches, 1);
  t.keep(joined, ...resized);
  return [...inputs.slice(0, -1), out];
}

function fastFcnHead(run: Run): Pick<Segmentor, 'decodeHead' | 'decodeLosses'> {
  const { numClasses } = run.w;
  switch (optionText(run.spec, 'head', 'psp')) {
    case 'aspp':
    case 'deeplabv3':
      return { decodeHead: asppHead({ index: -1, channels: 512, numClasses, dilations: [1, 12, 24, 36] }) };
    case 'enc':
    case 'encnet':
      return {
        decodeHead: encodingHead({ channels: 512, numClasses }),
        decodeLosses: encodingLosses({ channels: 512, numClasses }, run.w.loss),
      };
    default:
      return { decodeHead: pspHead({ index: -1, channels: 512, numClasses }) };
  }
}

function fastFcnSegmentor(run: Run): Segmentor {
  const options = mmsegResnetOptions(run, 32);
  if (options === undefined || options.depth < 50) throw unknownBackbone(run, ['resnet50', 'resnet101']);
  const { w } = run;
  const { numClasses } = w;
  const dilated = { ...options, strides: [1, 2, 2, 2], dilations: [1, 1, 2, 4] };
  return {
    backbone: (t, image) => t.freeze(w.frozenBackbone, () => resnet(t, image, dilated).stages.slice(1)),
    neck: jointPyramidUpsampling,
    ...fastFcnHead(run),
    auxiliaryHeads:
      w.auxiliaryHead === false ? [] : [fcnHead({ index: 1, channels: 256, numClasses, convs: 1, concatInput: false })],
  };
}

export const fastFcnNetworks: Readonly<Record<string, Network>> = { 'mmseg/fastfcn': encoderDecoder(fastFcnSegmentor) };
