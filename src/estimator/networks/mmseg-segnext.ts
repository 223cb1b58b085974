import { AppError } from '../../errors.ts';
import { relu, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, constant, multiply, scale, shift } from '../tape/ops-core.ts';
import { bmm } from '../tape/ops-linear.ts';
import { groupNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { classify, type Head } from './mmseg-head.ts';
import { lookUp } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { type MscanOptions, mscan } from './mscan.ts';
import type { Network, Run } from './network.ts';

type Variant = Pick<MscanOptions, 'widths' | 'depths' | 'dropPathRate'> & { readonly head: number };

/** configs/segnext of MMSegmentation 1.2. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  'mscan-t': { widths: [32, 64, 160, 256], depths: [3, 3, 5, 2], dropPathRate: 0.1, head: 256 },
  'mscan-s': { widths: [64, 128, 320, 512], depths: [2, 2, 4, 2], dropPathRate: 0.1, head: 256 },
  'mscan-b': { widths: [64, 128, 320, 512], depths: [3, 3, 12, 3], dropPathRate: 0.1, head: 512 },
  'mscan-l': { widths: [64, 128, 320, 512], depths: [3, 5, 27, 3], dropPathRate: 0.3, head: 1024 },
};

/** Latent dimension and training steps of the matrix factorisation. */
const BASES = 16;
const STEPS = 6;
const EVALUATION_STEPS = 7;

const GROUPS = 32;

function normBlock(t: Tape, name: string, x: Tensor, options: { out: number; activation: boolean }): Tensor {
  return t.call(name, x, () => {
    const normalised = groupNorm(t, conv2d(t, x, { out: options.out, kernel: 1 }), GROUPS);
    return options.activation ? relu(t, normalised) : normalised;
  });
}

/** LightHamHead: the three deeper maps joined, squeezed, factorised, aligned. */
function lightHamHead(channels: number, numClasses: number): Head {
  return (t, features) => {
    const inputs = features.slice(1);
    const [first] = inputs;
    if (first === undefined) throw new RangeError('no feature maps');
    const resized = inputs.map((x) => resize(t, x, sizeOf(first)));
    const joined = concat(t, resized, 1);
    const squeezed = normBlock(t, 'squeeze', joined, { out: channels, activation: true });
    const ham = t.call('hamburger', squeezed, () => hamburger(t, squeezed));
    const aligned = normBlock(t, 'align', ham, { out: channels, activation: true });
    const logits = classify(t, aligned, numClasses);
    t.keep(joined, ham);
    return logits;
  };
}

function hamburger(t: Tape, x: Tensor): Tensor {
  const channels = x.shape[1] ?? 1;
  const entered = relu(t, convBlock(t, 'ham_in', x, { out: channels, kernel: 1, norm: false, activation: 'none' }));
  const factored = t.call('ham', entered, () => factorise(t, entered));
  const left = normBlock(t, 'ham_out', factored, { out: channels, activation: false });
  const out = relu(t, add(t, x, left));
  t.keep(left);
  return out;
}

/** Non-negative matrix factorisation of B×D×N by multiplicative updates, all steps in the graph. */
function factorise(t: Tape, map: Tensor): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = map.shape;
  const x = reshape(t, map, [batch, channels, height * width]);
  let bases = randomBases(t, batch, channels);
  let coefficients = softmax(t, scale(t, bmm(t, transpose(t, x, 1, 2), bases)));
  const steps = t.training ? STEPS : EVALUATION_STEPS;
  for (let step = 0; step < steps; step += 1) {
    const [oldBases, oldCoefficients] = [bases, coefficients];
    coefficients = updateCoefficients(t, x, { bases, coefficients });
    bases = updateBases(t, x, { bases, coefficients });
    t.keep(oldBases, oldCoefficients);
  }
  const last = coefficients;
  const final = updateCoefficients(t, x, { bases, coefficients });
  t.keep(last);
  const product = bmm(t, bases, transpose(t, final, 1, 2));
  t.keep(bases, final);
  return reshape(t, product, [batch, channels, height, width]);
}

/** Random unit bases, B×D×R, without gradient. */
function randomBases(t: Tape, batch: number, channels: number): Tensor {
  const shape = [batch, channels, BASES];
  const random = constant(t, 'rand', shape, 'float');
  const norm = constant(t, 'norm', [batch, 1, BASES], 'float');
  const clamped = constant(t, 'clamp_min', [batch, 1, BASES], 'float');
  t.keep(norm);
  const bases = constant(t, 'div', shape, 'float');
  t.keep(random, clamped);
  return bases;
}

interface Factors {
  readonly bases: Tensor;
  readonly coefficients: Tensor;
}

function updateCoefficients(t: Tape, x: Tensor, { bases, coefficients }: Factors): Tensor {
  const numerator = bmm(t, transpose(t, x, 1, 2), bases);
  const denominator = bmm(t, coefficients, bmm(t, transpose(t, bases, 1, 2), bases));
  return ratio(t, coefficients, numerator, denominator);
}

function updateBases(t: Tape, x: Tensor, { bases, coefficients }: Factors): Tensor {
  const numerator = bmm(t, x, coefficients);
  const denominator = bmm(t, bases, bmm(t, transpose(t, coefficients, 1, 2), coefficients));
  return ratio(t, bases, numerator, denominator);
}

function ratio(t: Tape, factor: Tensor, numerator: Tensor, denominator: Tensor): Tensor {
  const product = multiply(t, factor, numerator);
  const out = multiply(t, product, shift(t, denominator), { name: 'div' });
  t.keep(numerator, denominator);
  return out;
}

function segnextSegmentor({ spec, w }: Run): Segmentor {
  const variant = lookUp(VARIANTS, spec.backbone);
  if (variant === undefined)
    throw new AppError('unknown-backbone', `SegNeXt is built on MSCAN, not ${spec.backbone}`, {
      details: { architecture: 'segnext', known: Object.keys(VARIANTS) },
    });
  const options = { ...variant, ratios: [8, 8, 4, 4] };
  return {
    backbone: (t: Tape, image: Tensor) => t.freeze(w.frozenBackbone, () => mscan(t, image, options)),
    decodeHead: lightHamHead(variant.head, w.numClasses),
    auxiliaryHeads: [],
  };
}

/** SegNeXt of MMSegmentation 1.2: MSCAN and a light Hamburger head with GroupNorm, no auxiliary head. */
export const mmsegSegnext: Readonly<Record<string, Network>> = { 'mmseg/segnext': encoderDecoder(segnextSegmentor) };
