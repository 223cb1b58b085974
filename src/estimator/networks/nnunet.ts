import { AppError } from '../../errors.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { instanceNorm, leakyReluIntoView } from '../tape/ops-instance-norm.ts';
import { averagePool } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import { addIntoView } from '../tape/ops-reduce.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type Network, type Run, trainingImage } from './network.ts';
import { nnunetHeads, nnunetLoss, nnunetTargets } from './nnunet-loss.ts';
import { type Stage, stagesFor } from './nnunet-plan.ts';

type Stride = readonly [number, number];

/** Residual blocks of the eight or more stages of the ResEnc presets, from the top (`resencUNet_planner.py`, nnunetv2 2.8.1). */
const RESIDUAL_BLOCKS = [1, 3, 4, 6] as const;

/** Convolution with bias, instance norm and, unless the block ends a branch, an in-place leaky ReLU. */
function convNorm(
  t: Tape,
  name: string,
  x: Tensor,
  options: { out: number; kernel?: number; stride?: Stride; bias?: boolean; activated?: boolean },
): Tensor {
  const { out, kernel = 3, stride = [1, 1], bias = true, activated = true } = options;
  return t.call(name, x, () => {
    const convolved = t.within('conv', () => conv2d(t, x, { out, kernel, stride, padding: (kernel - 1) / 2, bias }));
    const normalized = t.within('norm', () => instanceNorm(t, convolved, { affine: true }));
    return activated ? leakyReluIntoView(t, normalized) : normalized;
  });
}

function convolutions(
  t: Tape,
  name: string,
  x: Tensor,
  { out, count, stride }: { out: number; count: number; stride: Stride },
): Tensor {
  return t.call(name, x, () => {
    let feature = x;
    for (let index = 0; index < count; index += 1) {
      feature = convNorm(t, `convs.${index}`, feature, { out, stride: index === 0 ? stride : [1, 1] });
    }
    return feature;
  });
}

/** Shortcut of ResNet-D: average pooling where the block has a stride, a projection where it widens. */
function shortcut(t: Tape, x: Tensor, { out, stride }: { out: number; stride: Stride }): Tensor {
  const pools = stride[0] !== 1 || stride[1] !== 1;
  if (!pools && channelsOf(x) === out) return x;
  return t.call('skip', x, () => {
    const pooled = pools ? averagePool(t, x, { kernel: stride, stride }) : x;
    return channelsOf(x) === out
      ? pooled
      : convNorm(t, 'proj', pooled, { out, kernel: 1, bias: false, activated: false });
  });
}

function residualBlock(t: Tape, name: string, x: Tensor, shape: { out: number; stride: Stride }): Tensor {
  const { out } = shape;
  return t.call(name, x, () => {
    const residual = shortcut(t, x, shape);
    const first = convNorm(t, 'conv1', x, shape);
    const sum = addIntoView(t, convNorm(t, 'conv2', first, { out, activated: false }), residual);
    const result = leakyReluIntoView(t, sum);
    t.keep(residual);
    return result;
  });
}

function residualStage(t: Tape, name: string, x: Tensor, { features, stride, index }: Stage): Tensor {
  const count = RESIDUAL_BLOCKS[Math.min(index, RESIDUAL_BLOCKS.length - 1)] ?? 1;
  return t.call(name, x, () => {
    let feature = x;
    for (let block = 0; block < count; block += 1) {
      const shape = { out: features, stride: block === 0 ? stride : ([1, 1] as const) };
      feature = residualBlock(t, `blocks.${block}`, feature, shape);
    }
    return feature;
  });
}

/** Maps of all stages, from the image's size down. */
function encoder(t: Tape, image: Tensor, { stages, residual }: Plan): readonly Tensor[] {
  return t.call('encoder', image, () => {
    const maps: Tensor[] = [];
    const [top] = stages;
    let x = image;
    if (residual) x = convolutions(t, 'stem', image, { out: top?.features ?? 32, count: 1, stride: [1, 1] });
    for (const stage of stages) {
      const name = `stages.${stage.index}`;
      x = residual
        ? residualStage(t, name, x, stage)
        : convolutions(t, name, x, { out: stage.features, count: 2, stride: stage.stride });
      maps.push(x);
    }
    t.keep(...maps);
    return maps;
  });
}

/** Logits from the image's size down; without deep supervision the first only. */
function decoder(t: Tape, maps: readonly Tensor[], plan: Plan & { classes: number; deep: boolean }): readonly Tensor[] {
  const { stages, residual, classes, deep } = plan;
  const logits: Tensor[] = [];
  let below = maps.at(-1);
  for (let level = stages.length - 2; level >= 0; level -= 1) {
    const [skip, stage, lower] = [maps[level], stages[level], stages[level + 1]];
    if (below === undefined || skip === undefined || stage === undefined || lower === undefined) break;
    const [index, input, out] = [stages.length - 2 - level, below, stage.features];
    const enlarged = t.within(`decoder.transpconvs.${index}`, () =>
      convTranspose2d(t, input, { out, kernel: lower.stride, stride: lower.stride, bias: true }),
    );
    const joined = concat(t, [enlarged, skip], 1);
    const merged = convolutions(t, `decoder.stages.${index}`, joined, { out, count: residual ? 1 : 2, stride: [1, 1] });
    if (deep || level === 0) {
      const head = () => conv2d(t, merged, { out: classes, kernel: 1, bias: true });
      logits.unshift(t.within(`decoder.seg_layers.${index}`, head));
    }
    t.keep(input);
    below = merged;
  }
  t.keep(...maps, ...logits);
  return logits;
}

interface Plan {
  readonly stages: readonly Stage[];
  readonly residual: boolean;
}

function planOf({ w, spec }: Run): Plan {
  const stages = stagesFor(w.imageHeight, w.imageWidth, w.baseChannels ?? 32);
  return { stages, residual: spec.backbone !== null };
}

/** nnU-Net predicts in windows of its patch: other sizes are refused here, so that the caller validates at the patch. */
function checkWindow({ imageHeight, imageWidth }: Run['w'], image: Tensor): void {
  const [height, width] = sizeOf(image);
  if (height === imageHeight && width === imageWidth) return;
  throw new AppError('unsupported-combination', 'nnU-Net predicts in windows of its patch', {
    details: { height, width, patch: `${imageHeight}×${imageWidth}` },
  });
}

/**
 * nnU-Net v2, 2-D (dynamic-network-architectures 0.4.4, nnunetv2 2.8.1): B×C×H×W → B×classes×H×W. PlainConvUNet, or
 * ResidualEncoderUNet for the ResEnc presets, which differ by the patch and batch that their planners choose. Stages follow
 * from the patch, as in the planner. The trainer keeps all outputs through backward, and compiles network and loss by
 * default; this is the program without `torch.compile` (`nnUNet_compile=0`).
 *
 * @throws AppError `unsupported-combination` for a patch that the planner would enlarge.
 */
export const nnunetNetworks: Readonly<Record<string, Network>> = {
  'original/nnunet': {
    train: (run) => {
      const { t, w } = run;
      const plan = planOf(run);
      const image = trainingImage(run);
      const targets = nnunetTargets(t, w, plan.stages);
      const classes = nnunetHeads(w);
      const logits = t.call('', image, () => decoder(t, encoder(t, image, plan), { ...plan, classes, deep: true }));
      return nnunetLoss(run, logits, targets);
    },
    infer: (run, image) => {
      const { t, w } = run;
      const plan = planOf(run);
      checkWindow(w, image);
      const maps = encoder(t, image, plan);
      const [logits] = t.call('', image, () => decoder(t, maps, { ...plan, classes: nnunetHeads(w), deep: false }));
      return logits ?? null;
    },
  },
};
