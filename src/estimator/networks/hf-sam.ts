import { AppError } from '../../errors.ts';
import { activate, sigmoid } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply, scale, shift, toHalf, unary } from '../tape/ops-core.ts';
import { matmul } from '../tape/ops-linear.ts';
import { binaryCrossEntropy } from '../tape/ops-loss.ts';
import { derived } from '../tape/ops-masks.ts';
import { concat, select } from '../tape/ops-parts.ts';
import { repeat } from '../tape/ops-reduce.ts';
import { sum } from '../tape/ops-resize.ts';
import { permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { layerNorm2d, sizeOf } from './blocks.ts';
import { type SamPrompts, samDecoder } from './hf-sam-decoder.ts';
import { samVision } from './hf-sam-vision.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { type Network, type Run, trainingImage } from './network.ts';
import { unusedModules } from './unused.ts';

/** [width, layers, heads, layers of global attention]: facebook/sam-vit-base, large, huge. */
const SAMS: Readonly<Record<string, readonly [number, number, number, readonly number[]]>> = {
  'vit-b/16': [768, 12, 12, [2, 5, 8, 11]],
  'vit-l/16': [1024, 24, 16, [5, 11, 17, 23]],
  'vit-h/16': [1280, 32, 16, [7, 15, 23, 31]],
};
const IMAGE = 1024;
const SIDE = 64;
const CHANNELS = 256;
const MASK = 256;

/** Sine and cosine of points in 0…1 times a random matrix that counts as a parameter: …×256. */
function positional(t: Tape, points: Tensor, matrix: Tensor): Tensor {
  const places = scale(t, matmulPoints(t, points, matrix));
  const sine = unary(t, places, 'sin', { keeps: 'input' });
  const cosine = unary(t, places, 'cos', { keeps: 'input' });
  const joined = concat(t, [sine, cosine], -1);
  t.keep(places);
  return joined;
}

function matmulPoints(t: Tape, points: Tensor, matrix: Tensor): Tensor {
  const [count = 1] = points.shape;
  // Cast before it is seen as a batch of one: autocast keeps the cast of a parameter, not of a view.
  const factor = reshape(t, toHalf(t, matrix), [1, 2, CHANNELS / 2]);
  const product = matmul(t, reshape(t, points, [1, count, 2]), factor);
  return reshape(t, product, [count, CHANNELS / 2]);
}

/** Positions of the image grid for every image: B×256×64×64. */
function imagePositions(t: Tape, matrix: Tensor, batch: number): Tensor {
  const points = derived(t, 'sub', [], { shape: [SIDE * SIDE, 2], dtype: 'float' });
  const flat = positional(t, points, matrix);
  const map = permute(t, reshape(t, flat, [1, SIDE, SIDE, CHANNELS]), [0, 3, 1, 2]);
  return repeat(t, map, [batch, 1, 1, 1]);
}

/** Box corners as tokens; points and masks have weights too, which a box does not use. */
function promptEncoder(t: Tape, { boxes, matrix }: { boxes: Tensor; matrix: Tensor }): SamPrompts {
  const [batch = 1] = boxes.shape;
  return t.call('prompt_encoder', boxes, () => {
    const nothing = t.param(1, CHANNELS);
    const corners = [t.param(1, CHANNELS), t.param(1, CHANNELS)];
    unusedModules(t, [1, 1, 4, 4], (shadow, mask) => {
      for (let index = 0; index < 3; index += 1) shadow.param(1, CHANNELS);
      const half = activate(
        shadow,
        layerNorm2d(shadow, '', conv2d(shadow, mask, { out: 4, kernel: 2, stride: 2, bias: true })),
        'gelu',
      );
      const quarter = layerNorm2d(shadow, '', conv2d(shadow, half, { out: 16, kernel: 2, stride: 2, bias: true }));
      conv2d(shadow, quarter, { out: CHANNELS, kernel: 1, bias: true });
    });
    const points = derived(t, 'sub', [boxes], { shape: [2 * batch, 2], dtype: 'float' });
    const embedded = reshape(t, positional(t, points, matrix), [batch, 1, 2, CHANNELS]);
    const both = reshape(t, concat(t, corners, 0), [1, 1, 2, CHANNELS]);
    const sparse = add(t, embedded, both);
    return { sparse, dense: reshape(t, nothing, [1, CHANNELS, 1, 1]) };
  });
}

function predict(run: Run, image: Tensor, boxes: Tensor): Tensor {
  const { t, spec, w } = run;
  const variant = lookUp(SAMS, spec.backbone);
  if (variant === undefined) throw unknownBackbone(run, Object.keys(SAMS));
  const [height, width] = sizeOf(image);
  if (height !== IMAGE || width !== IMAGE) {
    throw new AppError('unsupported-combination', `SAM takes images of ${IMAGE}×${IMAGE} pixels`, {
      details: { rule: 'fixed-size', side: IMAGE, height, width },
    });
  }
  const [channels, layers, heads, global] = variant;
  const options = {
    width: channels,
    layers,
    heads,
    global,
    attention: w.attention,
    checkpoint: w.gradientCheckpointing,
  };
  return t.call('sam', [image, boxes], () => {
    const frozen = w.frozenBackbone;
    const matrix = t.param(2, CHANNELS / 2);
    const [batch = 1] = image.shape;
    const positions = imagePositions(t, matrix, batch);
    const embedded = t.freeze(frozen, () => samVision(t, image, options));
    const prompts = t.freeze(frozen, () => promptEncoder(t, { boxes, matrix }));
    const { masks, iou } = samDecoder(t, { image: embedded, positions, prompts, attention: w.attention });
    t.keep(positions, embedded, prompts.sparse, iou);
    return select(t, select(t, masks, 2), 1);
  });
}

/** Dice and binary cross entropy on B×256×256, both over the whole batch. */
function diceAndEntropy(t: Tape, logits: Tensor, wanted: Tensor): Tensor {
  const axes = [0, 1, 2];
  const probability = sigmoid(t, logits);
  const both = sum(t, multiply(t, probability, wanted), axes, false);
  const predicted = sum(t, probability, axes, false);
  const present = derived(t, 'sum', [wanted], { shape: [], dtype: 'float' });
  const union = add(t, predicted, present);
  t.keep(present);
  const entropy = shift(t, binaryCrossEntropy(t, logits, wanted));
  const overlap = multiply(t, shift(t, scale(t, both)), shift(t, union), { name: 'div' });
  const loss = add(t, entropy, scale(t, overlap));
  t.keep(probability, both, union);
  return loss;
}

/** SamModel of transformers 5.24 with one box an image; `frozenBackbone` freezes image and prompt encoder. */
export const hfSam: Readonly<Record<string, Network>> = {
  'transformers/sam': {
    train: (run) => {
      const { t, w } = run;
      const image = trainingImage(run);
      const boxes = t.target([w.batchSize, 1, 4], 'float');
      const wanted = t.target([w.batchSize, MASK, MASK], 'float');
      const logits = predict(run, image, boxes);
      const loss = t.within('loss', () => diceAndEntropy(t, logits, wanted));
      t.keep(logits);
      return loss;
    },
    infer: (run, image) => {
      const [batch = 1] = image.shape;
      run.t.keep(predict(run, image, run.t.target([batch, 1, 4], 'float')));
      return null;
    },
  },
};
