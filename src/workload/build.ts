import { AppError } from '../errors.ts';
import type { Implementation, LossName, ModelSpec, OptimizerName, Workload } from '../estimator/workload.ts';
import { parseTorchVersion } from '../estimator/workload.ts';
import type { WorkloadFields } from './fields.ts';

export interface WorkloadSources {
  readonly model: ModelSpec;
  /** Said outright; wins. */
  readonly fields: WorkloadFields;
  /** Read from a config name, constructor or hub id; not an assumption, but weaker than `fields`. */
  readonly fromName: WorkloadFields;
  /** Size of the data set's pictures, where the data set is known. */
  readonly datasetImage?: { readonly height: number; readonly width: number } | undefined;
}

export interface BuiltWorkload {
  readonly workload: Workload;
  /** Names of the fields that a default filled in. */
  readonly assumed: readonly string[];
}

/** The release whose saved-tensor rules are followed when nothing is said (README, "Defaults"). */
const DEFAULT_TORCH = '2.13';
/** Fused attention became the default of `transformers` with torch 2.0. */
const SDPA_SINCE_TORCH = 2;
const DEFAULTS = {
  side: 512,
  batchSize: 4,
  numClasses: 19,
  instancesPerImage: 8,
  positiveRoisPerImage: 128,
} as const;

/** Libraries whose models compute the loss themselves, so that a loop holds only the loss through backward. */
const LOSS_IN_MODEL: ReadonlySet<Implementation> = new Set(['mmseg', 'mmdetection', 'detectron2', 'transformers']);

/** Transformer and ConvNeXt networks that their libraries train with AdamW; convolutional ones use SGD (mmseg 1.2.2 configs). */
const ADAMW_ARCHITECTURES = /^(segformer|segnext|mask2former|maskformer|oneformer|eomt|dpt|knet)/;
const ADAMW_BACKBONES = /^(mit|swin|convnext|vit|deit|beit|twins|poolformer|mscan|dinov2)/;
/** SETR and Segmenter keep SGD in spite of their ViT (mmseg 1.2.2 configs). */
const SGD_ARCHITECTURES = /^(setr|segmenter)/;

/** Fills every field of a workload and says which ones a default decided. */
export function buildWorkload(sources: WorkloadSources): BuiltWorkload {
  const { model } = sources;
  const given = mergeFields(sources.fromName, sources.fields);
  const assumed: string[] = [];
  const or = <T>(name: keyof WorkloadFields, value: T | null | undefined, fallback: () => T): T => {
    if (value !== null && value !== undefined) return value;
    assumed.push(name);
    return fallback();
  };
  const imageHeight = or('imageHeight', given.imageHeight ?? given.imageWidth, () => DEFAULTS.side);
  const imageWidth = or('imageWidth', given.imageWidth ?? given.imageHeight, () => DEFAULTS.side);
  const numClasses = or('numClasses', given.numClasses, () => DEFAULTS.numClasses);
  const torch = torchVersion(or('torch', given.torch, () => DEFAULT_TORCH));
  const workload: Workload = {
    model,
    imageHeight,
    imageWidth,
    batchSize: or('batchSize', given.batchSize, () => DEFAULTS.batchSize),
    numClasses,
    inputChannels: or('inputChannels', given.inputChannels, () => 3),
    precision: or('precision', given.precision, () => 'fp32'),
    optimizer: or('optimizer', given.optimizer, () => usualOptimizer(model)),
    optimizerStep: or('optimizerStep', given.optimizerStep, () => 'foreach'),
    loss: or('loss', given.loss, () => usualLoss(numClasses)),
    attention: or('attention', given.attention, () => usualAttention(model.implementation, torch)),
    gradientCheckpointing: given.gradientCheckpointing ?? false,
    frozenBackbone: given.frozenBackbone ?? false,
    frozenStages: given.frozenStages ?? null,
    norm: given.norm ?? null,
    auxiliaryHead: given.auxiliaryHead ?? null,
    outputStride: given.outputStride ?? null,
    baseChannels: given.baseChannels ?? null,
    outputHeld: or('outputHeld', given.outputHeld, () => holdsOutput(model)),
    gradientAccumulation: given.gradientAccumulation ?? 1,
    gpus: or('gpus', given.gpus, () => 1),
    instancesPerImage: given.instancesPerImage ?? DEFAULTS.instancesPerImage,
    positiveRoisPerImage: given.positiveRoisPerImage ?? DEFAULTS.positiveRoisPerImage,
    torch,
    residentGradients: given.residentGradients ?? false,
    expandableSegments: given.expandableSegments ?? false,
    multiScale: given.multiScale ?? null,
    convWorkspace: given.convWorkspace ?? false,
    fanInCopies: given.fanInCopies ?? false,
    kernelTemporaries: given.kernelTemporaries ?? true,
    validationHeight: given.validationHeight ?? sources.datasetImage?.height ?? imageHeight,
    validationWidth: given.validationWidth ?? sources.datasetImage?.width ?? imageWidth,
    validationBatch: given.validationBatch ?? 1,
    validationMode: given.validationMode ?? 'whole',
  };
  return { workload, assumed };
}

function mergeFields(weaker: WorkloadFields, stronger: WorkloadFields): WorkloadFields {
  const said = Object.entries(stronger).filter(([, value]) => value !== null && value !== undefined);
  return { ...weaker, ...Object.fromEntries(said) };
}

function torchVersion(text: string): number {
  const version = parseTorchVersion(text);
  if (version === undefined) {
    throw new AppError('invalid-input', 'torch: not a version such as 2.13', { details: { field: 'torch' } });
  }
  return version;
}

function usualOptimizer({ implementation, architecture, backbone }: ModelSpec): OptimizerName {
  switch (implementation) {
    case 'smp':
    case 'milesial':
      return 'adam';
    case 'transformers':
      return architecture === 'sam' ? 'adam' : 'adamw';
    case 'torchvision':
      return 'sgd';
    case 'mmseg':
    case 'mmdetection':
      if (SGD_ARCHITECTURES.test(architecture)) return 'sgd';
      return ADAMW_ARCHITECTURES.test(architecture) || ADAMW_BACKBONES.test(backbone ?? '') ? 'adamw' : 'sgd';
    default:
      return ADAMW_ARCHITECTURES.test(architecture) ? 'adamw' : 'sgd';
  }
}

function usualLoss(numClasses: number): LossName {
  return numClasses === 1 ? 'bce' : 'cross-entropy';
}

function usualAttention(implementation: Implementation, torch: number): 'eager' | 'sdpa' {
  return implementation === 'transformers' && torch >= SDPA_SINCE_TORCH ? 'sdpa' : 'eager';
}

function holdsOutput({ implementation, architecture }: ModelSpec): boolean {
  return !LOSS_IN_MODEL.has(implementation) && architecture !== 'maskrcnn';
}
