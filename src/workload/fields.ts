import { z } from 'zod';

import { AppError } from '../errors.ts';

/** Largest side of a training input (the same bound as in the estimator): beyond it no card holds one image of any network. */
const MAX_IMAGE_SIDE = 16_384;
/** Images per GPU; 128 ImageNet-sized images a GPU are usual, four thousand are a typing error. */
const MAX_BATCH = 4_096;

export const positiveInteger = (maximum: number) => z.number().int().min(1).max(maximum);
const side = positiveInteger(MAX_IMAGE_SIDE);
const batch = positiveInteger(MAX_BATCH);
export const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullish();

const precision = z.enum(['fp32', 'fp16', 'bf16', 'amp']).transform((value) => (value === 'amp' ? 'fp16' : value));

/** Fields of a training run as people and scripts give them; every one but the model has a documented default. */
export const workloadFields = {
  model: z.string().trim().min(1).max(4_000),
  implementation: optional(z.string().trim().toLowerCase()),
  backbone: optional(z.string().trim().min(1).max(200)),
  imageHeight: optional(side),
  imageWidth: optional(side),
  batchSize: optional(batch),
  numClasses: optional(positiveInteger(100_000)),
  inputChannels: optional(positiveInteger(1_024)),
  precision: optional(precision),
  optimizer: optional(z.enum(['sgd', 'adam', 'adamw'])),
  optimizerStep: optional(z.enum(['foreach', 'fused', 'for-loop'])),
  loss: optional(z.enum(['cross-entropy', 'dice', 'bce', 'cross-entropy+dice', 'dice+bce'])),
  instancesPerImage: optional(z.number().int().min(0).max(10_000)),
  positiveRoisPerImage: optional(z.number().int().min(0).max(10_000)),
  attention: optional(z.enum(['eager', 'sdpa'])),
  gradientCheckpointing: optional(z.boolean()),
  frozenBackbone: optional(z.boolean()),
  frozenStages: optional(z.number().int().min(0).max(100)),
  norm: optional(z.enum(['batch', 'frozen', 'none'])),
  auxiliaryHead: optional(z.boolean()),
  outputStride: optional(z.union([z.literal(8), z.literal(16), z.literal(32)])),
  baseChannels: optional(positiveInteger(1_024)),
  outputHeld: optional(z.boolean()),
  gradientAccumulation: optional(positiveInteger(100_000)),
  gpus: optional(positiveInteger(1_024)),
  gpu: optional(z.string().trim().min(1).max(200)),
  torch: optional(z.union([z.string(), z.number()]).transform(String)),
  residentGradients: optional(z.boolean()),
  expandableSegments: optional(z.boolean()),
  multiScale: optional(z.tuple([z.number().min(0.05).max(1), z.number().min(1).max(8)])),
  convWorkspace: optional(z.boolean()),
  fanInCopies: optional(z.boolean()),
  kernelTemporaries: optional(z.boolean()),
  validationHeight: optional(side),
  validationWidth: optional(side),
  validationBatch: optional(batch),
  validationMode: optional(z.enum(['whole', 'slide'])),
} as const;

export const workloadFieldsSchema = z
  .object(workloadFields)
  .omit({ model: true, implementation: true, backbone: true, gpu: true });

/** The fields of a run without its name: what a line, a dialog or a name's own words can give. */
/** A crop of fewer pixels is a typing error where a person speaks. */
const SMALLEST_CROP = 16;
const crop = optional(side.min(SMALLEST_CROP));
export const spokenFieldsSchema = workloadFieldsSchema.extend({ imageHeight: crop, imageWidth: crop });

export type WorkloadFields = z.output<typeof workloadFieldsSchema>;

/** @throws AppError `out-of-range` for a number outside what can be sized, `invalid-input` for anything else. */
export function parseFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join('.') ?? '';
  const outOfRange = issue?.code === 'too_big' || issue?.code === 'too_small';
  const problem = issue?.message ?? 'invalid';
  throw new AppError(outOfRange ? 'out-of-range' : 'invalid-input', field === '' ? problem : `${field}: ${problem}`, {
    details: { field },
  });
}
