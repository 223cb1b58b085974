import { AppError } from '../../errors.ts';
import { ModuleWeights } from '../tape/module-weights.ts';
import { gelu } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { add, addInPlace, multiply, shift } from '../tape/ops-core.ts';
import { linear } from '../tape/ops-linear.ts';
import { derived } from '../tape/ops-masks.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, slice } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { contiguous, expand, flatten, reshape, transpose } from '../tape/ops-shape.ts';
import { emitFresh } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { AttentionKind } from '../workload.ts';
import { layerNorm2d, sizeOf } from './blocks.ts';
import { fromHeads, hfAttention, toHeads } from './hf-attention.ts';
import { hfMaskLosses, weightedSum } from './hf-mask-loss.ts';
import { type HfMaskPrediction, hfMatchByPoints } from './hf-mask-matching.ts';
import { maskTargets } from './hf-mask-targets.ts';
import { noCheckpointing } from './hf-mobilenet-v2.ts';
import { maskLogits } from './mask-embedding.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { type Network, optionNumber, type Run, trainingImage } from './network.ts';

/** [width, layers, heads, last layers with queries]: tue-mps/*_eomt_small, base, large; DINOv2 with layer scale. */
const EOMTS: Readonly<Record<string, readonly [number, number, number, number]>> = {
  'vit-s/16': [384, 12, 6, 3],
  'vit-b/16': [768, 12, 12, 3],
  'vit-l/16': [1024, 24, 16, 4],
};
const PATCH = 16;
const REGISTERS = 4;
const UPSCALES = 2;

interface Design {
  readonly width: number;
  readonly heads: number;
  readonly queries: number;
  readonly grid: readonly [number, number];
  readonly numClasses: number;
  readonly attention: AttentionKind;
}

/** Learned positions are looked up for the whole grid. */
function embed(t: Tape, image: Tensor, { width, grid }: Design): Tensor {
  return t.call('embeddings', image, () => {
    const [batch = 1] = image.shape;
    const count = grid[0] * grid[1];
    const classToken = t.param(1, 1, width);
    const registers = t.param(1, REGISTERS, width);
    const map = conv2d(t, image, { out: width, kernel: PATCH, stride: PATCH, bias: true });
    const patches = transpose(t, flatten(t, map, 2), 1, 2);
    const table = t.param(count, width);
    const ids = t.buffer([count], 'long');
    t.begin('embedding', [table, ids]);
    const storage = t.allocate([1, count, width], 'float');
    const positions = t.result(
      { storage, shape: [1, count, width], dtype: 'float' },
      { name: 'embedding', inputs: [table], saved: [ids.storage], rule: (walk, node) => emitFresh(walk, node, 0) },
    );
    const placed = add(t, patches, positions);
    t.keep(patches);
    const prefix = [expand(t, classToken, [batch, 1, width]), expand(t, registers, [batch, REGISTERS, width])];
    return concat(t, [...prefix, placed], 1);
  });
}

/** Pre-norm layer; both branches are scaled by a learned vector. */
function layer(t: Tape, x: Tensor, { mask, design }: { mask: Tensor | undefined; design: Design }): Tensor {
  const { width } = design;
  return t.call('layers', mask === undefined ? [x] : [x, mask], () => {
    const { output, weights } = attention(t, layerNorm(t, x), { mask, design });
    const middle = add(t, multiply(t, output, t.param(width)), x);
    const normalised = layerNorm(t, middle);
    const fed = t.call('mlp', normalised, () => linear(t, gelu(t, linear(t, normalised, 4 * width)), width));
    const out = add(t, multiply(t, fed, t.param(width)), middle);
    t.keep(middle, ...(weights === undefined ? [] : [weights]));
    return out;
  });
}

function attention(t: Tape, x: Tensor, { mask, design }: { mask: Tensor | undefined; design: Design }) {
  const { width, heads } = design;
  return t.call('attention', x, () => {
    const query = toHeads(t, linear(t, x, width), heads);
    const key = toHeads(t, linear(t, x, width), heads);
    const value = toHeads(t, linear(t, x, width), heads);
    const operands = { query, key, value, ...(mask === undefined ? {} : { mask }) };
    const { output, weights } = hfAttention(t, operands, design.attention);
    const projected = linear(t, contiguous(t, fromHeads(t, output)), width);
    t.keep(query, key, value, output);
    return { output: projected, weights };
  });
}

interface SharedHeads {
  readonly norm: ModuleWeights;
  readonly heads: ModuleWeights;
}

/** Classes and masks from the normalised tokens: queries first, then class token, registers, patches. */
function predict(
  t: Tape,
  tokens: Tensor,
  { shared, design }: { shared: SharedHeads; design: Design },
): HfMaskPrediction {
  const { queries, width, grid } = design;
  const [batch = 1] = tokens.shape;
  return t.again(shared.heads, () => {
    const query = slice(t, tokens, 1, queries);
    const classes = t.within('class_predictor', () => linear(t, query, design.numClasses + 1));
    const patches = transpose(t, slice(t, tokens, 1, grid[0] * grid[1]), 1, 2);
    const map = reshape(t, patches, [batch, width, ...grid]);
    const embedding = t.call('mask_head', query, () => {
      const first = gelu(t, linear(t, query, width));
      return linear(t, gelu(t, linear(t, first, width)), width);
    });
    const fine = t.call('upscale_block', map, () => {
      let x = map;
      for (let index = 0; index < UPSCALES; index += 1) x = upscale(t, x, width);
      return x;
    });
    const masks = maskLogits(t, embedding, fine);
    t.keep(embedding, fine);
    return { classes, masks };
  });
}

function upscale(t: Tape, x: Tensor, width: number): Tensor {
  return t.call('block', x, () => {
    const wide = gelu(t, convTranspose2d(t, x, { out: width, kernel: 2, stride: 2, bias: true }));
    return layerNorm2d(t, 'layernorm2d', conv2d(t, wide, { out: width, kernel: 3, padding: 1, groups: width }));
  });
}

/** Where queries may look, as an additive mask for every head: B×h×T×T in fp32. */
function attentionMask(
  t: Tape,
  { masks }: HfMaskPrediction,
  { tokens, design, old }: { tokens: Tensor; design: Design; old: readonly Tensor[] },
) {
  const [batch = 1, count = 1] = tokens.shape;
  const { heads, queries, grid } = design;
  const allowed = derived(t, 'ones', [tokens], { shape: [batch, count, count], dtype: 'byte' });
  t.keep(...old.slice(0, 1));
  const coarse = resize(t, masks, grid);
  t.keep(...old.slice(1));
  derived(t, 'gt', [coarse], { shape: [batch, queries, grid[0] * grid[1]], dtype: 'byte' });
  const full = { shape: [batch, heads, count, count], dtype: 'float' } as const;
  const numbers = derived(t, 'to', [allowed], full);
  const blocked = derived(t, 'bitwise_not', [allowed], { shape: full.shape, dtype: 'byte' });
  const mask = derived(t, 'masked_fill', [numbers, blocked], full);
  t.keep(coarse, allowed);
  return { mask, coarse };
}

interface Outcome {
  readonly predictions: readonly HfMaskPrediction[];
  readonly held: readonly Tensor[];
}

function designOf(run: Run, image: Tensor): Design & { layers: number; blocks: number } {
  const { spec, w } = run;
  const variant = lookUp(EOMTS, spec.backbone);
  if (variant === undefined) throw unknownBackbone(run, Object.keys(EOMTS));
  const [width, layers, heads, blocks] = variant;
  const side = Math.floor(optionNumber(spec, 'imageSize', 512) / PATCH);
  const [height, breadth] = sizeOf(image);
  if (Math.floor(height / PATCH) !== side || Math.floor(breadth / PATCH) !== side) {
    throw new AppError('unsupported-combination', `the model takes images of ${side * PATCH}×${side * PATCH} pixels`, {
      details: { rule: 'fixed-size', side: side * PATCH, height, width: breadth },
    });
  }
  const queries = optionNumber(spec, 'numQueries', 100);
  return {
    width,
    layers,
    heads,
    blocks,
    queries,
    grid: [side, side],
    numClasses: w.numClasses,
    attention: w.attention,
  };
}

function forward(run: Run, image: Tensor): Outcome {
  const { t, w } = run;
  if (w.gradientCheckpointing) throw noCheckpointing('EoMT');
  const design = designOf(run, image);
  t.buffer([design.blocks]);
  const queryTable = t.param(design.queries, design.width);
  const shared = { norm: new ModuleWeights(), heads: new ModuleWeights() };
  const predictions: HfMaskPrediction[] = [];
  let held: readonly Tensor[] = [];
  let x = t.freeze(w.frozenBackbone, () => embed(t, image, design));
  for (let index = 0; index < design.layers; index += 1) {
    const asking = index - (design.layers - design.blocks);
    if (asking === 0) {
      const [batch = 1] = x.shape;
      const row = reshape(t, queryTable, [1, design.queries, design.width]);
      x = concat(t, [expand(t, row, [batch, design.queries, design.width]), x], 1);
    }
    let mask: Tensor | undefined;
    if (asking >= 0 && t.training) {
      const normalised = t.again(shared.norm, () => layerNorm(t, x));
      t.keep(...held.slice(2));
      const prediction = predict(t, normalised, { shared, design });
      predictions.push(prediction);
      const made = attentionMask(t, prediction, { tokens: x, design, old: held.slice(0, 2) });
      held = [made.mask, made.coarse, normalised];
      mask = made.mask;
    }
    const input = x;
    x = t.freeze(w.frozenBackbone, () => layer(t, input, { mask, design }));
  }
  const sequence = t.again(shared.norm, () => layerNorm(t, x));
  predictions.push(predict(t, sequence, { shared, design }));
  return { predictions, held: [...held, x, sequence] };
}

/** EomtForUniversalSegmentation of transformers 5.24: a plain ViT whose last layers attend to queries, a loss at each. */
export const hfEomt: Readonly<Record<string, Network>> = {
  'transformers/eomt': {
    train: (run) => {
      const { t, w } = run;
      const image = trainingImage(run);
      const truth = maskTargets(t, w);
      const criterion = { truth, weights: t.buffer([w.numClasses + 1]), match: hfMatchByPoints };
      const { predictions, held } = forward(run, image);
      let total: Tensor | undefined;
      let old: readonly Tensor[] = [];
      for (const prediction of predictions) {
        const losses = hfMaskLosses(t, prediction, criterion);
        const loss = weightedSum(t, [losses]);
        t.keep(...old);
        total = total === undefined ? shift(t, loss) : addInPlace(t, total, loss);
        old = [losses.mask, losses.dice, losses.classes];
      }
      t.keep(...old);
      if (total === undefined) throw new RangeError('no predictions');
      t.keep(...held, ...predictions.flatMap(({ classes, masks }) => [classes, masks]));
      if (w.outputHeld)
        t.hold(...held.slice(-1), ...predictions.slice(-1).flatMap(({ classes, masks }) => [classes, masks]));
      return total;
    },
    infer: (run, image) => {
      const { predictions, held } = forward(run, image);
      run.t.keep(...held, ...predictions.map(({ masks }) => masks));
      return null;
    },
  },
};
