import { z } from 'zod';

/** A day, or only its month or year where the source gives no more. */
const day = z.string().regex(/^\d{4}(-\d{2}(-\d{2})?)?$/, 'a date such as 2026-11-30');
const text = z.string().min(1);
const positive = z.number().positive().finite();
const count = z.number().int().positive();
const figure = z.number().nonnegative().finite().nullable();
const currency = z.enum(['CNY', 'USD']);
const sources = z.record(z.string(), z.unknown());

const gpu = z.strictObject({
  /** Vendor's full name: the key that instance rows use. */
  name: text,
  /** Short name for answers: `A10`, `V100 32GB`, `RTX 3090`. */
  label: text,
  vendor: text,
  aliases: z.array(text),
  /** As nvidia-smi prints them. */
  smiNames: z.array(text),
  architecture: z.enum(['Maxwell', 'Pascal', 'Volta', 'Turing', 'Ampere', 'Ada', 'Hopper', 'Blackwell', 'other']),
  generation: text,
  computeCapability: text.nullable(),
  nominalMemoryGB: positive,
  nvidiaSmiTotalMiB: figure,
  /** What torch reports as total memory; null where nobody published it. */
  usableMiB: figure,
  memoryBandwidthGBps: figure,
  fp32Tflops: figure,
  tf32Tflops: figure,
  /** Dense, FP32 accumulate. */
  fp16TensorTflops: figure,
  bf16: z.boolean(),
  /** Sum of both directions, as vendors print it. */
  nvlinkGBps: figure,
  /** One direction between two cards: measured, else half of the printed sum. */
  nvlinkPairGBps: z.number().nonnegative(),
  /** Copies between cards without the host; null where nobody measured or published it. */
  peerToPeer: z.boolean().nullable(),
  powerW: figure,
  torchWheels: z.enum(['default-wheels', 'cu126-wheels-only', 'unsupported', 'rocm-wheels', 'vendor-plugin']),
  training: z.enum(['suitable', 'legacy', 'not-suitable']),
  alibabaFamilies: z.array(text),
  note: z.string().nullable(),
  laptopVariants: z.array(z.strictObject({ smiName: text.nullable(), memoryGB: positive.nullable() })).optional(),
  /** Field → key of the file's sources. */
  fieldSources: z.record(z.string(), z.string()),
  source: z.array(text).min(1),
  /** Fields given from memory by whoever collected the row. */
  recalledFields: z.array(text),
  checkedOn: day,
});

const ambiguousGpu = z.strictObject({
  typed: text,
  /** Full name to take when nothing else is said; null: ask. */
  default: text.nullable(),
  candidates: z.array(text).min(1),
  reason: text,
});

const instance = z.strictObject({
  instanceType: text,
  family: text,
  mode: z.enum(['passthrough', 'bare-metal', 'vgpu']),
  vcpu: count,
  memoryGiB: positive,
  /** Name of a GPU row where the card is known, else a description. */
  gpu: text,
  gpuVendor: text,
  gpuConfidence: text,
  gpuApiLabel: text,
  /** A fraction on vGPU types. */
  gpuCount: positive,
  /** Label memory of one GPU (of the slice on vGPU types). */
  gpuMemoryGB: positive.nullable(),
  networkGbps: z.number().nonnegative(),
  erdma: z.boolean().nullable(),
  nvlink: z.boolean().nullable(),
  /** What the vendor's documentation says about the family; proposable when it begins with "listed". */
  docStatus: text,
  activeOnInternationalSite: z.boolean().nullable(),
  measured: z
    .strictObject({
      productName: text,
      memoryTotalMiB: figure,
      memoryReservedMiB: figure,
      driver: text.nullable(),
      checkedOn: day,
    })
    .nullable(),
  source: z.array(text).min(1),
  checkedOn: day,
});

const price = z.strictObject({
  instanceType: text,
  region: text,
  currency,
  /** Pay-as-you-go, instance alone, Linux. */
  amountPerHour: positive,
  /** Spot market price when the source gives one. */
  spotPerHour: positive.optional(),
  source: text,
  checkedOn: day,
});

const observedPrice = z.strictObject({
  instanceType: text,
  /** Regions that the quotation names; empty: none, so it counts nowhere. */
  regions: z.array(text),
  currency,
  amountPerHour: positive,
  spotPerHour: positive.nullable(),
  amountPerMonth: positive.nullable(),
  note: text,
  source: text,
  checkedOn: day.nullable(),
});

const disk = z.strictObject({
  category: text,
  level: z.enum(['PL0', 'PL1', 'PL2', 'PL3']),
  cnyPerGiBMonth: figure,
  cnyPerGiBHour: figure,
  minimumGiB: count,
  maximumIops: count,
  maximumMBps: count,
  source: text,
  checkedOn: day,
});

const crop = z.strictObject({
  height: count,
  width: count,
  totalBatch: count.nullable(),
  iterations: z.array(count).nullable(),
  epochs: positive.nullable(),
  origin: text,
});

const dataset = z.strictObject({
  id: text,
  name: text,
  names: z.strictObject({ en: z.array(text), zh: z.array(text) }),
  domain: text,
  task: z.array(text),
  numClasses: count.nullable(),
  backgroundIsAClass: z.boolean().nullable(),
  ignoreIndex: z.number().int().nullable(),
  labelsInFile: count.nullable(),
  classNote: z.string().nullable(),
  trainImages: count.nullable(),
  valImages: count.nullable(),
  testImages: count.nullable(),
  unit: text,
  splitNote: z.string().nullable(),
  imageWidth: count.nullable(),
  imageHeight: count.nullable(),
  sizeVaries: z.boolean(),
  channels: count,
  fileType: text,
  diskGB: positive.nullable(),
  diskBasis: z.string().nullable(),
  decodedTrainGB: figure,
  crops: z.array(crop),
  access: z.string().nullable(),
  note: z.string().nullable(),
  fromMemory: z.array(text),
  sources: z.array(text).min(1),
  checkedOn: day,
});

const accuracy = z.strictObject({
  id: text,
  method: text,
  backbone: text.nullable(),
  variant: text.nullable(),
  dataset: text,
  cropHeight: count.nullable(),
  cropWidth: count.nullable(),
  iterations: count.nullable(),
  epochs: positive.nullable(),
  gpus: count.nullable(),
  batchPerGpu: positive.nullable(),
  totalBatch: count.nullable(),
  optimizer: text.nullable(),
  precision: text.nullable(),
  metric: text,
  /** Percent. */
  value: z.number().min(0).max(100),
  multiScaleFlip: z.number().min(0).max(100).nullable(),
  foregroundDice: z.number().optional(),
  config: text.nullable(),
  library: text,
  source: text,
  verification: text,
  checkedAgainstMetafile: z.boolean().optional(),
  note: z.string().nullable(),
  checkedOn: day,
});

const recipe = z.strictObject({
  id: text,
  library: text,
  families: z.array(text).min(1),
  datasets: z.array(text),
  optimizer: text,
  learningRate: positive,
  momentum: figure,
  weightDecay: figure,
  headLearningRateFactor: figure,
  backboneLearningRateFactor: figure,
  schedule: z.record(z.string(), z.unknown()),
  gradientClipNorm: figure,
  totalBatch: count.nullable(),
  gpus: count.nullable(),
  batchPerGpu: positive.nullable(),
  iterations: count.nullable(),
  iterationsDerived: count.nullable(),
  epochs: positive.nullable(),
  epochsStated: z.boolean(),
  imagesSeen: positive.nullable(),
  /** [height, width] in pixels. */
  crop: z.array(count).nullable(),
  augmentation: z.record(z.string(), z.unknown()),
  precision: text,
  learningRateScaling: z.strictObject({
    rule: z.enum(['linear', 'fixed']).nullable(),
    referenceBatch: count.nullable(),
    basis: text,
  }),
  source: text,
  verification: text,
  note: z.string().nullable(),
  checkedOn: day,
});

/** One schema per row kind; `catalog/load.ts` reads every file through them. Units are in the names. */
export const rowSchemas = {
  gpu,
  ambiguousGpu,
  instance,
  price,
  observedPrice,
  usdMinimum: z.strictObject({ instanceType: text, amountPerHour: positive, source: text, checkedOn: day }),
  disk,
  dataset,
  ambiguousDataset: z.strictObject({ term: text, ids: z.array(text).min(2) }),
  accuracy,
  recipe,
} as const;

/** What stands at the top of a file beside its rows. */
export const headSchemas = {
  common: z.object({ checkedOn: day.optional(), sources: sources.optional() }),
  prices: z.object({
    checkedOn: day,
    sources,
    subscription: z.strictObject({
      /** Hours of pay-as-you-go that one month of subscription costs. */
      hoursPerMonth: positive,
      verifiedFor: z.array(text),
      source: text,
      checkedOn: day,
    }),
    /** Regions that still have price rows and are being shut down. */
    closing: z.strictObject({ regions: z.array(text), source: text, checkedOn: day }).optional(),
    storage: z.strictObject({
      snapshotCnyPerGiBMonth: positive,
      objectStorageCnyPerGiBMonth: positive,
      publicTrafficCnyPerGB: positive,
      source: text,
      checkedOn: day,
    }),
  }),
} as const;
