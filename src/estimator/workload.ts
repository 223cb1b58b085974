/** Libraries whose version of a network is meant; "the same" model differs up to fivefold between them. */
export type Implementation =
  | 'mmseg'
  | 'smp'
  | 'torchvision'
  | 'transformers'
  | 'detectron2'
  | 'mmdetection'
  | 'ultralytics'
  | 'milesial'
  | 'monai'
  | 'original';

/** A constructor argument as JSON holds it. */
export type OptionValue = string | number | boolean | null | readonly number[];

/**
 * One network, identified: the family of code (`implementation` + `architecture`), the backbone by the library's own
 * name in canonical spelling, and what the variant changes. A variant is a row of `catalog/models.json`.
 */
export interface ModelSpec {
  readonly implementation: Implementation;
  /** Canonical: `deeplabv3plus`, `unet`, `segformer`, `mask2former` … */
  readonly architecture: string;
  /** Canonical: `resnet50`, `mit-b2`, `swin-t`; smp: the encoder name as the library spells it. Null where the network has no separate backbone. */
  readonly backbone: string | null;
  /** Constructor arguments in camelCase that differ from the library's defaults, e.g. `{ outputStride: 16, stem: 'v1' }`. */
  readonly options: Readonly<Record<string, OptionValue>>;
}

/** Type of activations: full precision, or autocast to a 16-bit type over fp32 master weights. */
export type Precision = 'fp32' | 'fp16' | 'bf16';
/** `sgd` has momentum; `adam` and `adamw` two moments. */
export type OptimizerName = 'sgd' | 'adam' | 'adamw';
/** Implementation of the step in torch: `foreach` is its default on CUDA. */
export type OptimizerStep = 'foreach' | 'fused' | 'for-loop';
/** Loss on the logits; a sum where two are named. Libraries with a loss of their own ignore it. */
export type LossName = 'cross-entropy' | 'dice' | 'bce' | 'cross-entropy+dice' | 'dice+bce';
/** Scores as a matrix, or `scaled_dot_product_attention`. */
export type AttentionKind = 'eager' | 'sdpa';
/** Normalisation in place of the model's own: trained batch norm, frozen batch norm, or none. */
export type NormKind = 'batch' | 'frozen' | 'none';

/** One training run on one GPU of a data-parallel group. Every field is set; `assumed` in the estimate names the defaults. */
export interface Workload {
  readonly model: ModelSpec;
  /** Pixels of the training input (crop). */
  readonly imageHeight: number;
  readonly imageWidth: number;
  /** Images per GPU and micro-batch. */
  readonly batchSize: number;
  readonly numClasses: number;
  readonly inputChannels: number;
  /** 16-bit = autocast with fp32 master weights. */
  readonly precision: Precision;
  readonly optimizer: OptimizerName;
  readonly optimizerStep: OptimizerStep;
  readonly loss: LossName;
  readonly attention: AttentionKind;
  readonly gradientCheckpointing: boolean;
  /** No parameter of the encoder is trained; its normalisation stays in train mode. */
  readonly frozenBackbone: boolean;
  /** Stem and the first n stages not trained; null: the model's own. */
  readonly frozenStages: number | null;
  readonly norm: NormKind | null;
  readonly auxiliaryHead: boolean | null;
  readonly outputStride: 8 | 16 | 32 | null;
  /** First width of a U-Net; null: the model's own. */
  readonly baseChannels: number | null;
  /** The loop keeps the model's output alive through backward. */
  readonly outputHeld: boolean;
  readonly gradientAccumulation: number;
  /** Data-parallel processes. */
  readonly gpus: number;
  /** Objects per image, for mask classifiers and R-CNN. */
  readonly instancesPerImage: number;
  readonly positiveRoisPerImage: number;
  /** Version of torch as a number: 2.13 → 2.13, 1.8 → 1.08 (see `parseTorchVersion`). */
  readonly torch: number;
  readonly residentGradients: boolean;
  readonly expandableSegments: boolean;
  /** `[min, max]` factors of a varying input size. */
  readonly multiScale: readonly [number, number] | null;
  readonly convWorkspace: boolean;
  readonly fanInCopies: boolean;
  readonly kernelTemporaries: boolean;
  readonly validationHeight: number;
  readonly validationWidth: number;
  readonly validationBatch: number;
  readonly validationMode: 'whole' | 'slide';
}

/** `"1.8"` → 1.08, `"2.13.0"` → 2.13: minor versions compare as numbers. */
export function parseTorchVersion(text: string): number | undefined {
  const match = /^(\d+)\.(\d{1,2})/.exec(text.trim());
  return match === null ? undefined : Number(match[1]) + Number(match[2]) / 100;
}
