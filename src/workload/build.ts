import type { ModelDefaults } from '../../catalog/resolve-model.ts';
import { AppError } from '../errors.ts';
import type { LossName, ModelSpec, OptimizerName, OptimizerStep, Workload } from '../estimator/workload.ts';
import { parseTorchVersion } from '../estimator/workload.ts';
import { parseFields, type WorkloadFields, workloadFieldsSchema } from './fields.ts';

export interface WorkloadSources {
  readonly model: ModelSpec;
  /** What a run of this network usually is. */
  readonly defaults: ModelDefaults;
  /** Said outright; wins. */
  readonly fields: WorkloadFields;
  /** Read from a config name, constructor or hub id; not an assumption, but weaker than `fields`. */
  readonly fromName: WorkloadFields;
  /** Size of the data set's pictures, where the data set is known. */
  /** What the name itself left open, as names of fields. */
  readonly assumed: readonly string[];
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
/** Said in README, "Defaults": the same for every network, whatever data its own recipe was written for. */
const USUAL = { side: 512, batchSize: 4, numClasses: 19 } as const;
/** timm names end in the side of the images for which positions or windows are laid out, where a size is part of the network. */
const SIDE_IN_NAME = /^tu-.*_(?:patch\d+|window\d+|tf|rw)_(\d{3})(?:\.|$)/;
/** Objects in a picture, and mask regions that a trained Mask R-CNN samples at most (torchvision 0.28 reference code). */
const INSTANCES = { instancesPerImage: 8, positiveRoisPerImage: 128 } as const;

/**
 * Mask classifiers that make one mask per class that occurs (MMSegmentation): the fullest batch of a training decides its
 * peak. Fitted on three measured Mask2Former trainings (ADE20K, Cityscapes), all within 1 %; MaskFormer stays 5–11 % low.
 */
const CLASSES_IN_FULLEST_IMAGE = 16;

function usualInstances({ implementation, architecture }: WorkloadSources['model'], numClasses: number): number {
  const semantic = implementation === 'mmseg' && (architecture === 'mask2former' || architecture === 'maskformer');
  return semantic ? Math.min(CLASSES_IN_FULLEST_IMAGE, numClasses) : INSTANCES.instancesPerImage;
}

/** Fills every field of a workload and says which ones a default decided. */
export function buildWorkload(sources: WorkloadSources): BuiltWorkload {
  const { model, defaults } = sources;
  const given = mergeFields(sources.fromName, sources.fields);
  const assumed: string[] = [...sources.assumed];
  const or = <T>(name: keyof WorkloadFields, value: T | null | undefined, fallback: () => T): T => {
    if (value !== null && value !== undefined) return value;
    assumed.push(name);
    return fallback();
  };
  const imageHeight = or('imageHeight', given.imageHeight ?? given.imageWidth, () => usualSide(model, defaults).height);
  const imageWidth = or('imageWidth', given.imageWidth ?? given.imageHeight, () => usualSide(model, defaults).width);
  const numClasses = or('numClasses', given.numClasses, () => USUAL.numClasses);
  const optimizer = or('optimizer', given.optimizer, () => defaults.optimizer);
  const torch = torchVersion(or('torch', given.torch, () => DEFAULT_TORCH));
  const workload: Workload = {
    model,
    imageHeight,
    imageWidth,
    batchSize: or('batchSize', given.batchSize, () => defaults.recipeBatch ?? USUAL.batchSize),
    numClasses,
    inputChannels: or('inputChannels', given.inputChannels, () => defaults.inputChannels),
    precision: or('precision', given.precision, () => defaults.precision),
    optimizer,
    optimizerStep: or('optimizerStep', given.optimizerStep, () => usualStep(model, optimizer)),
    loss: or('loss', given.loss, () => usualLoss(defaults, numClasses)),
    attention: or('attention', given.attention, () => usualAttention(defaults, torch)),
    gradientCheckpointing: given.gradientCheckpointing ?? false,
    frozenBackbone: given.frozenBackbone ?? false,
    frozenStages: given.frozenStages ?? null,
    norm: given.norm ?? null,
    auxiliaryHead: given.auxiliaryHead ?? null,
    outputStride: given.outputStride ?? null,
    baseChannels: given.baseChannels ?? null,
    outputHeld: or('outputHeld', given.outputHeld, () => defaults.outputHeld),
    gradientAccumulation: given.gradientAccumulation ?? 1,
    gpus: or('gpus', given.gpus, () => 1),
    instancesPerImage: given.instancesPerImage ?? usualInstances(model, numClasses),
    positiveRoisPerImage: given.positiveRoisPerImage ?? INSTANCES.positiveRoisPerImage,
    torch,
    residentGradients: given.residentGradients ?? keepsGradients(model),
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

/** ultralytics asks for the fused step of Adam and AdamW (8.4.190, engine/trainer.py). */
function usualStep({ implementation }: WorkloadSources['model'], optimizer: OptimizerName): OptimizerStep {
  return implementation === 'ultralytics' && optimizer !== 'sgd' ? 'fused' : 'foreach';
}

/** ultralytics steps once in 64 images (`nbs` in cfg/default.yaml, 8.4.190): until then gradients stay. */
function keepsGradients({ implementation }: WorkloadSources['model']): boolean {
  return implementation === 'ultralytics';
}

/** What a name says is as free as what people write: only what counts of it has to be possible. */
function mergeFields(weaker: WorkloadFields, stronger: WorkloadFields): WorkloadFields {
  const said = Object.fromEntries(
    Object.entries(stronger).filter(([, value]) => value !== null && value !== undefined),
  );
  const left = Object.fromEntries(
    Object.entries(weaker).filter(([name, value]) => value !== undefined && said[name] === undefined),
  );
  return Object.keys(left).length === 0 ? said : { ...parseFields(workloadFieldsSchema, left), ...said };
}

function torchVersion(text: string): number {
  const version = parseTorchVersion(text);
  if (version === undefined) {
    throw new AppError('invalid-input', 'torch: not a version such as 2.13', { details: { field: 'torch' } });
  }
  return version;
}

function usualSide(model: ModelSpec, { recipeSize, fixedSize }: ModelDefaults) {
  const meant = recipeSize ?? fixedSize;
  if (meant !== null) return meant;
  const side = Number(SIDE_IN_NAME.exec(model.backbone ?? '')?.[1] ?? USUAL.side);
  return { height: side, width: side };
}

function usualLoss({ loss }: ModelDefaults, numClasses: number): LossName {
  return loss ?? (numClasses === 1 ? 'bce' : 'cross-entropy');
}

function usualAttention({ attention }: ModelDefaults, torch: number): 'eager' | 'sdpa' {
  return attention === 'sdpa' && torch >= SDPA_SINCE_TORCH ? 'sdpa' : 'eager';
}
