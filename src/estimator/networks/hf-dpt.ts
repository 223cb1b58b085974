import { AppError } from '../../errors.ts';
import { gelu, relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropout } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { batchNorm, layerNorm } from '../tape/ops-norm.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { AttentionKind } from '../workload.ts';
import { sizeOf } from './blocks.ts';
import { fromHeads, hfAttention, toHeads } from './hf-attention.ts';
import { hybridEmbeddings, plainEmbeddings } from './hf-dpt-embeddings.ts';
import { type DptNeckOptions, dptNeck } from './hf-dpt-neck.ts';
import { hfSemanticModel, refuseSingleClass, type SemanticOutput } from './hf-loss.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { type Network, optionBoolean, optionNumber, type Run } from './network.ts';

interface Variant extends DptNeckOptions {
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  /** Layers handed to the neck, counted from 0. */
  readonly taken: readonly number[];
}

const BASE = { width: 768, layers: 12, heads: 12, normalised: false } as const;

/** DPTConfig() and the configurations of Intel/dpt-large-ade and Intel/dpt-hybrid-midas. */
const DPTS: Readonly<Record<string, Variant>> = {
  'vit-b/16': { ...BASE, taken: [2, 5, 8, 11], channels: [96, 192, 384, 768], hybrid: false },
  'vit-l/16': {
    ...{ width: 1024, layers: 24, heads: 16, taken: [5, 11, 17, 23] },
    ...{ channels: [256, 512, 1024, 1024], hybrid: false, normalised: true },
  },
  'dpt-hybrid': { ...BASE, taken: [8, 11], channels: [256, 512, 768, 768], hybrid: true },
};

interface Layer {
  readonly heads: number;
  readonly attention: AttentionKind;
  readonly checkpoint: boolean;
}

function vitLayer(t: Tape, x: Tensor, layer: Layer): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('layer', x, () =>
    t.checkpoint(layer.checkpoint, [x], () => {
      const normalised = layerNorm(t, x);
      const attended = selfAttention(t, normalised, layer);
      const middle = add(t, attended, x);
      const again = layerNorm(t, middle);
      const wide = t.call('intermediate', again, () => gelu(t, linear(t, again, 4 * channels)));
      const out = t.call('output', [wide, middle], () => add(t, linear(t, wide, channels), middle));
      t.keep(normalised, attended, middle);
      return out;
    }),
  );
}

function selfAttention(t: Tape, x: Tensor, layer: Layer): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('attention', x, () => {
    const { context, weights } = t.call('attention', x, () => {
      const key = toHeads(t, linear(t, x, channels), layer.heads);
      const value = toHeads(t, linear(t, x, channels), layer.heads);
      const query = toHeads(t, linear(t, x, channels), layer.heads);
      const attended = hfAttention(t, { query, key, value, keepsSoftmax: true }, layer.attention);
      t.keep(key, value, query);
      return { context: fromHeads(t, attended.output), weights: attended.weights };
    });
    const out = t.call('output', [context, x], () => linear(t, context, channels));
    t.keep(context, ...(weights === undefined ? [] : [weights]));
    return out;
  });
}

function head(t: Tape, x: Tensor, { numClasses, main }: { numClasses: number; main: boolean }): Tensor {
  const channels = x.shape[1] ?? 1;
  return t.call(main ? 'head' : 'auxiliary_head', x, () => {
    const convolved = conv2d(t, x, { out: channels, kernel: 3, padding: 1 });
    const active = dropout(t, relu(t, batchNorm(t, convolved), false), 0.1);
    const logits = conv2d(t, active, { out: numClasses, kernel: 1, bias: true });
    const [height, width] = sizeOf(logits);
    return main ? resize(t, logits, [2 * height, 2 * width]) : logits;
  });
}

/** The neck takes the root of the number of patches as both sides. */
function requireSquare(image: Tensor): void {
  const [height, width] = sizeOf(image);
  const patches = Math.floor(height / 16) * Math.floor(width / 16);
  if (Number.isInteger(Math.sqrt(patches)) && patches > 0) return;
  throw new AppError('unsupported-combination', 'DPT of transformers takes square images only', {
    details: { rule: 'square', height, width },
  });
}

/** The hybrid embeddings check the size of the image. */
function requireConfigured(image: Tensor, imageSize: number): void {
  const [height, width] = sizeOf(image);
  if (height === imageSize && width === imageSize) return;
  throw new AppError('unsupported-combination', `DPT-Hybrid takes images of ${imageSize}×${imageSize} pixels`, {
    details: { rule: 'fixed-size', side: imageSize, height, width },
  });
}

interface Encoded {
  readonly taken: readonly Tensor[];
  readonly held: readonly Tensor[];
}

function encode(run: Run, image: Tensor, variant: Variant): Encoded {
  const { t, spec, w } = run;
  const { width } = variant;
  const layer = { heads: variant.heads, attention: w.attention, checkpoint: w.gradientCheckpointing };
  return t.call('dpt', image, () => {
    const imageSize = optionNumber(spec, 'imageSize', 384);
    if (variant.hybrid) requireConfigured(image, imageSize);
    const embed = variant.hybrid ? hybridEmbeddings : plainEmbeddings;
    const { tokens, maps } = embed(t, image, { width, imageSize });
    const hidden = [tokens];
    for (let index = 0; index < variant.layers; index += 1) hidden.push(vitLayer(t, hidden[index] ?? tokens, layer));
    const last = layerNorm(t, hidden[variant.layers] ?? tokens);
    const outputs = variant.taken.map((index) => hidden[index + 1] ?? tokens);
    return { taken: [...maps, ...outputs], held: [...hidden, ...maps, last] };
  });
}

function forward(run: Run, image: Tensor): SemanticOutput {
  const { t, spec, w } = run;
  const variant = lookUp(DPTS, spec.backbone);
  if (variant === undefined) throw unknownBackbone(run, Object.keys(DPTS));
  refuseSingleClass(w);
  requireSquare(image);
  const { taken, held } = t.freeze(w.frozenBackbone, () => encode(run, image, variant));
  const normalised = optionBoolean(spec, 'useBatchNormInFusionResidual', variant.normalised);
  const fused = dptNeck(t, taken, { ...variant, normalised });
  const [last] = fused.slice(-1);
  if (last === undefined) throw new RangeError('no fused map');
  const logits = head(t, last, { numClasses: w.numClasses, main: true });
  const withAuxiliary = w.auxiliaryHead ?? true;
  if (!withAuxiliary && t.training) {
    throw new AppError('unsupported-combination', 'DPT of transformers computes no loss without its auxiliary head', {
      details: { rule: 'needs-auxiliary-head' },
    });
  }
  const auxiliary = withAuxiliary ? head(t, last, { numClasses: w.numClasses, main: false }) : undefined;
  return {
    logits,
    ...(auxiliary === undefined ? {} : { auxiliary }),
    held: [...held, ...fused],
    namesAuxiliaryLoss: true,
  };
}

/** DPTForSemanticSegmentation of transformers 5.24; logits come out at image size and are resized once more for the loss. */
export const hfDpt: Readonly<Record<string, Network>> = { 'transformers/dpt': hfSemanticModel(forward) };
