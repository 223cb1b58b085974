import { AppError } from '../../errors.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { asppHead } from './mmseg-aspp-head.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import type { Head } from './mmseg-head.ts';
import { pspHead } from './mmseg-psp-head.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { type Network, optionText, type Run } from './network.ts';

const STAGES = 5;
/** The whole encoder halves the image four times. */
const DIVISOR = 16;

interface UnetOptions {
  readonly base: number;
  readonly checkpoint: boolean;
}

/** UNet-S5-D16: five encoder stages of two convolutions, bilinear upsampling with a 1×1 projection; maps coarsest first. Ronneberger et al. 2015; MMSegmentation 1.2.2. */
function unetS5(t: Tape, image: Tensor, options: UnetOptions): readonly Tensor[] {
  const encoded = encode(t, image, options);
  const coarsest = encoded[STAGES - 1] ?? image;
  const decoded = [coarsest];
  let x = coarsest;
  for (let level = STAGES - 2; level >= 0; level -= 1) {
    const skip = encoded[level] ?? image;
    const coarse = x;
    x = t.call(`decoder.${level}`, [skip, coarse], () => upBlock(t, skip, coarse, { ...options, level }));
    decoded.push(x);
  }
  t.keep(...encoded, ...decoded);
  return decoded;
}

function encode(t: Tape, image: Tensor, options: UnetOptions): readonly Tensor[] {
  const maps: Tensor[] = [];
  let x = image;
  for (let level = 0; level < STAGES; level += 1) {
    const input = x;
    x = t.call(`encoder.${level}`, input, () => {
      const pooled = level === 0 ? input : maxPool(t, input, { kernel: 2, stride: 2 });
      return twoConvs(t, pooled, options.base * 2 ** level, options.checkpoint);
    });
    maps.push(x);
  }
  return maps;
}

function twoConvs(t: Tape, x: Tensor, out: number, checkpoint: boolean): Tensor {
  return t.call('conv_block', x, () =>
    t.checkpointReentrant(checkpoint && x.requiresGrad, [x], () => {
      const first = convBlock(t, 'convs.0', x, { out, kernel: 3, padding: 1 });
      return convBlock(t, 'convs.1', first, { out, kernel: 3, padding: 1 });
    }),
  );
}

function upBlock(
  t: Tape,
  skip: Tensor,
  x: Tensor,
  { base, checkpoint, level }: UnetOptions & { level: number },
): Tensor {
  const out = base * 2 ** level;
  const upsampled = t.call('upsample', x, () =>
    t.checkpointReentrant(checkpoint && x.requiresGrad, [x], () => {
      const [height, width] = sizeOf(x);
      return convBlock(t, 'conv', resize(t, x, [height * 2, width * 2]), { out, kernel: 1 });
    }),
  );
  const block = twoConvs(t, concat(t, [skip, upsampled], 1), out, checkpoint);
  t.keep(upsampled);
  return block;
}

function unetHead(run: Run, base: number): Head {
  const common = { index: STAGES - 1, numClasses: run.w.numClasses } as const;
  const head = optionText(run.spec, 'head', 'fcn');
  if (head === 'pspnet') return pspHead({ ...common, channels: 16 });
  if (head === 'deeplabv3') return asppHead({ ...common, channels: 16, dilations: [1, 12, 24, 36] });
  return fcnHead({ ...common, channels: base, convs: 1, concatInput: false });
}

function unetSegmentor(run: Run): Segmentor {
  const { w } = run;
  const base = w.baseChannels ?? 64;
  return {
    backbone: (t, image) => {
      checkDivisible(image);
      const options = { base, checkpoint: w.gradientCheckpointing };
      return t.freeze(w.frozenBackbone, () => unetS5(t, image, options));
    },
    decodeHead: unetHead(run, base),
    auxiliaryHeads:
      (w.auxiliaryHead ?? true)
        ? [fcnHead({ index: STAGES - 2, channels: 64, numClasses: w.numClasses, convs: 1, concatInput: false })]
        : [],
  };
}

function checkDivisible(image: Tensor): void {
  const [height, width] = sizeOf(image);
  if (height % DIVISOR === 0 && width % DIVISOR === 0) return;
  throw new AppError('unsupported-combination', `UNet-S5 needs sides that are multiples of ${DIVISOR}`, {
    details: { rule: 'multiple-of', height, width, multipleOf: DIVISOR },
  });
}

export const mmsegUnetNetworks: Readonly<Record<string, Network>> = { 'mmseg/unet': encoderDecoder(unetSegmentor) };
