import { z } from 'zod';

const text = z.string().min(1);
const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const optionValue = z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.number()).readonly()]);
const optionValues = z.record(z.string(), optionValue);
/** Libraries that the estimator knows networks of (`Implementation`). */
export const implementationSchema = z.enum([
  'mmseg',
  'smp',
  'torchvision',
  'transformers',
  'detectron2',
  'mmdetection',
  'ultralytics',
  'milesial',
  'monai',
  'original',
]);

/** One network of one library: what it may be built with, and what a run of it usually looks like. */
const modelRowSchema = z.strictObject({
  implementation: implementationSchema,
  architecture: text,
  /** Order among the libraries for the plain name; 0 is meant when the words do not decide. */
  rank: z.number().int().nonnegative(),
  /** Other canonical names that mean this row when its library is known (`deeplabv3` of transformers is MobileNetV2's). */
  alsoNamed: z.array(text).optional(),
  /** Names of backbone groups or single backbones; a trailing `*` matches any ending. Empty: no separate backbone. */
  backbones: z.array(text),
  defaultBackbone: text.nullable(),
  /** Every option that tells variants apart, with the library's default. */
  options: optionValues,
  /** What the library's configuration class builds without a checkpoint. */
  configured: z.strictObject({ backbone: text, options: optionValues.optional() }).optional(),
  /** Other heads that a name of this row may carry in `options.head`. */
  heads: z.array(text).optional(),
  /** Architecture words beside the name that add nothing ("Mask R-CNN R50-FPN"). */
  absorbs: z.array(text).optional(),
  optimizer: z.enum(['sgd', 'adam', 'adamw']),
  loss: z.enum(['cross-entropy', 'dice', 'bce', 'cross-entropy+dice', 'dice+bce']).optional(),
  /** The size that positions or windows are learned for; without it any size may be said. */
  imageHeight: z.number().int().positive().optional(),
  imageWidth: z.number().int().positive().optional(),
  attention: z.enum(['eager', 'sdpa']).nullable(),
  outputHeld: z.boolean(),
  source: text,
  checkedOn: day,
});

/** What a recipe sets beside what its name says: a variant of a row. */
const recipeSchema = z.strictObject({
  implementation: implementationSchema,
  /** A trailing `*` matches any ending. */
  architecture: text,
  when: z.strictObject({
    head: text.optional(),
    /** A trailing `*` matches any ending. */
    backbones: z.array(text).optional(),
    dataset: text.optional(),
    /** All of these words stand in the name. */
    words: z.array(text).optional(),
  }),
  options: optionValues.optional(),
  backbone: text.optional(),
  imageHeight: z.number().int().positive().optional(),
  imageWidth: z.number().int().positive().optional(),
  precision: z.enum(['fp32', 'fp16']).optional(),
  optimizer: z.enum(['sgd', 'adam', 'adamw']).optional(),
  inputChannels: z.number().int().positive().optional(),
  batchSize: z.number().int().positive().optional(),
  source: text,
});

export const modelsFileSchema = z.strictObject({
  about: text,
  /** Group name → canonical backbones. */
  backbones: z.record(z.string(), z.array(text)),
  /** Canonical backbone → the name that a library knows it by. */
  libraryNames: z.record(z.string(), z.record(z.string(), text)),
  /** Combinations that a library refuses. */
  refused: z.array(
    z.strictObject({
      implementation: implementationSchema,
      architectures: z.array(text),
      backbones: z.array(text),
      /** Only where the encoder is dilated: at output stride 32 it is not. */
      dilated: z.literal(true).optional(),
      /** What is told of it, by whoever words it. */
      rule: z.enum(['cannot-dilate', 'no-mit', 'vit-needs-dpt']),
      reason: text,
      source: text,
    }),
  ),
  /** Names without a row here, with the nearest that has one. */
  nearest: z.record(z.string(), text),
  rows: z.array(modelRowSchema),
  recipes: z.array(recipeSchema),
});

const nameMeaning = z.strictObject({
  architecture: text.optional(),
  backbone: text.optional(),
  implementation: implementationSchema.optional(),
  options: optionValues.optional(),
  weak: z.boolean().optional(),
  partner: z.enum(['beside', 'near']).optional(),
  ask: z.array(text).optional(),
  variant: text.optional(),
});

export const aliasesFileSchema = z.strictObject({
  about: text,
  source: text,
  checkedOn: day,
  names: z.array(
    z.strictObject({ is: nameMeaning, say: z.array(text), v: z.record(z.string(), z.array(text)).optional() }),
  ),
  datasets: z.array(
    z.strictObject({ say: text, dataset: text.nullable(), numClasses: z.number().int().positive().nullable() }),
  ),
});

export type ModelRow = z.infer<typeof modelRowSchema>;
export type Recipe = z.infer<typeof recipeSchema>;
export type ModelsFile = z.infer<typeof modelsFileSchema>;
export type AliasesFile = z.infer<typeof aliasesFileSchema>;
/** What a typed name stands for. `weak`, `partner`, `ask`: see aliases.json. */
export type NameMeaning = z.infer<typeof nameMeaning>;
