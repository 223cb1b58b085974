import type { Workload } from '../../estimator/workload.ts';
import { BYTES_PER_GIB } from '../fit.ts';
import { canCheckpoint, canFuseAttention } from '../memory/library-limits.ts';
import { smallerBatches } from '../mitigations.ts';
import type { Tip } from '../recommendation.ts';
import { baseOf, type Effect, effectOf, isWorthwhile, type RankedTip, type TipInput } from './context.ts';

type TipRule = (input: TipInput) => RankedTip | undefined;

/** Loss at a quarter of the resolution in each direction leaves a sixteenth of its maps (physics.md §3.4). */
const LOW_RESOLUTION_SHARE = 15 / 16;
/** Share of the peak from which the loss is worth moving to low resolution, and reserved memory above allocated worth a tip. */
const LARGE_LOSS = 0.1;
const LARGE_GAP = 0.15;
const SIZE_STEP = 32;
const SMALLEST_SIDE = 256;

const changing = (effect: Effect, id: string, rest: Partial<Tip> = {}): Tip => ({
  id,
  savesGiB: effect.savesGiB,
  timeFactor: effect.timeFactor,
  values: {},
  ...rest,
});

interface Proposal {
  readonly id: string;
  readonly change: Partial<Workload>;
  readonly lossless: boolean;
  readonly say?: string;
  readonly values?: Tip['values'];
}

function propose(input: TipInput, proposal: Proposal | undefined): RankedTip | undefined {
  if (proposal === undefined) return undefined;
  const effect = effectOf(input, proposal.change);
  if (effect === undefined || !isWorthwhile(input, effect)) return undefined;
  const rest = { values: proposal.values ?? {}, ...(proposal.say === undefined ? {} : { say: proposal.say }) };
  return { tip: changing(effect, proposal.id, rest), gives: 'memory', lossless: proposal.lossless };
}

/** AMP may cost memory (eager attention of plain ViT) and still save time, so either gain is enough. */
const amp: TipRule = (input) => {
  if (baseOf(input).precision !== 'fp32') return undefined;
  const precision = input.chosen?.card.spec.bf16 === true ? 'bf16' : 'fp16';
  const effect = effectOf(input, { precision });
  if (effect === undefined || (!isWorthwhile(input, effect) && effect.timeFactor > 0.95)) return undefined;
  const before = input.asked.bytes.allocatedPeak / BYTES_PER_GIB;
  const values = { precision, percent: Math.round((effect.savesGiB / before) * 100) };
  return { tip: changing(effect, 'amp', { values, say: precision }), gives: 'memory', lossless: true };
};

const sdpa: TipRule = (input) => {
  const base = baseOf(input);
  if (base.attention !== 'eager' || !canFuseAttention(base)) return undefined;
  return propose(input, { id: 'sdpa', change: { attention: 'sdpa' }, lossless: true, say: 'sdpa' });
};

const checkpointing: TipRule = (input) => {
  const base = baseOf(input);
  if (base.gradientCheckpointing || !canCheckpoint(base)) return undefined;
  const say = 'gradient checkpointing';
  return propose(input, { id: 'checkpointing', change: { gradientCheckpointing: true }, lossless: true, say });
};

/** As many images per step; BatchNorm, where there is any (its statistics are buffers), still sees only the micro-batch. */
const accumulation: TipRule = (input) => {
  const base = baseOf(input);
  const microBatch = smallerBatches(base)[0];
  if (microBatch === undefined) return undefined;
  const steps = base.gradientAccumulation * (base.batchSize / microBatch);
  return propose(input, {
    id: 'accumulation',
    change: { batchSize: microBatch, gradientAccumulation: steps },
    lossless: true,
    values: { microBatch, steps, batchNorm: input.asked.bytes.buffers > 0 ? 'yes' : 'no' },
    say: `batch ${microBatch} accumulation ${steps}`,
  });
};

/** Only dilated convolutional backbones have the choice. */
const DILATED = /^(resnet|resnext|resnest|mobilenet|xception|se_res|timm-res)/;

const outputStride: TipRule = (input) => {
  const base = baseOf(input);
  if (!DILATED.test(base.model.backbone ?? '')) return undefined;
  const now = base.outputStride ?? base.model.options['outputStride'] ?? 8;
  if (now !== 8) return undefined;
  const change = { outputStride: 16 } as const;
  return propose(input, { id: 'output-stride', change, lossless: false, say: 'output stride 16' });
};

const smallerCrop: TipRule = (input) => {
  const base = baseOf(input);
  const shrink = (side: number) => Math.max(SIZE_STEP, Math.floor((side * 0.75) / SIZE_STEP) * SIZE_STEP);
  const [imageHeight, imageWidth] = [shrink(base.imageHeight), shrink(base.imageWidth)];
  if (Math.min(imageHeight, imageWidth) < SMALLEST_SIDE) return undefined;
  const values = { imageHeight, imageWidth };
  return propose(input, {
    id: 'smaller-crop',
    change: values,
    lossless: false,
    values,
    say: `${imageHeight}x${imageWidth}`,
  });
};

const frozenBackbone: TipRule = (input) => {
  const base = baseOf(input);
  if (base.frozenBackbone || base.model.backbone === null) return undefined;
  return propose(input, {
    id: 'frozen-backbone',
    change: { frozenBackbone: true },
    lossless: false,
    say: 'freeze backbone',
  });
};

/** Networks that are trained without an auxiliary head (mmseg 1.2.2, transformers 5, smp 0.6.0). */
const WITHOUT_AUXILIARY_HEAD =
  /^(segformer|segnext|segmenter|mask2former|maskformer|oneformer|eomt|maskrcnn|hrnet|sam)/;

const auxiliaryHead: TipRule = (input) => {
  const { auxiliaryHead: now, model } = baseOf(input);
  if (now === false || WITHOUT_AUXILIARY_HEAD.test(model.architecture) || model.implementation === 'smp')
    return undefined;
  return propose(input, {
    id: 'auxiliary-head',
    change: { auxiliaryHead: false },
    lossless: false,
    say: 'no auxiliary head',
  });
};

const lowResolutionLoss: TipRule = (input) => {
  const bytes = input.askedPasses.lossBytes;
  if (bytes < LARGE_LOSS * input.asked.bytes.allocatedPeak) return undefined;
  const savesGiB = (bytes * LOW_RESOLUTION_SHARE) / BYTES_PER_GIB;
  const values = { lossGiB: bytes / BYTES_PER_GIB, classes: input.asked.workload.numClasses };
  return { tip: { id: 'low-resolution-loss', savesGiB, timeFactor: 1, values }, gives: 'memory', lossless: false };
};

/** Zeroed in place the gradients stay through forward; released they do not. */
const setToNone: TipRule = (input) => {
  const base = baseOf(input);
  if (!base.residentGradients || base.gradientAccumulation > 1) return undefined;
  return propose(input, { id: 'set-to-none', change: { residentGradients: false }, lossless: true });
};

const fusedOptimizer: TipRule = (input) => {
  // Temporaries of the step matter only where the step is the peak.
  if (baseOf(input).optimizerStep === 'fused' || input.asked.peak.phase !== 'step') return undefined;
  return propose(input, { id: 'fused-optimizer', change: { optimizerStep: 'fused' }, lossless: true });
};

/** Reserved but unallocated memory, which growing segments give back. */
const expandableSegments: TipRule = (input) => {
  const { allocatedPeak } = input.asked.bytes;
  const { reserved } = input.askedPasses;
  if (baseOf(input).expandableSegments || reserved < allocatedPeak * (1 + LARGE_GAP)) return undefined;
  const effect = effectOf(input, { expandableSegments: true });
  if (effect === undefined) return undefined;
  const values = {
    reservedGiB: reserved / BYTES_PER_GIB,
    allocatedGiB: allocatedPeak / BYTES_PER_GIB,
    afterGiB: effect.estimate.bytes.reserved / BYTES_PER_GIB,
  };
  return { tip: { id: 'expandable-segments', savesGiB: 0, timeFactor: 1, values }, gives: 'memory', lossless: true };
};

/** Whole-image validation can need more than the training does. */
const slidingValidation: TipRule = (input) => {
  const { validationPeak, allocatedPeak } = input.asked.bytes;
  if (baseOf(input).validationMode !== 'whole' || validationPeak <= allocatedPeak) return undefined;
  const effect = effectOf(input, { validationMode: 'slide' });
  if (effect === undefined || effect.estimate.bytes.validationPeak >= validationPeak) return undefined;
  const values = {
    wholeGiB: validationPeak / BYTES_PER_GIB,
    slidingGiB: effect.estimate.bytes.validationPeak / BYTES_PER_GIB,
  };
  return { tip: { id: 'sliding-validation', savesGiB: 0, timeFactor: 1, values }, gives: 'memory', lossless: true };
};

/** In the order of advice.md; each is shown only when re-estimating shows a gain. */
export const memoryTips: readonly TipRule[] = [
  amp,
  sdpa,
  checkpointing,
  accumulation,
  outputStride,
  smallerCrop,
  frozenBackbone,
  auxiliaryHead,
  lowResolutionLoss,
  setToNone,
  fusedOptimizer,
  expandableSegments,
  slidingValidation,
];
