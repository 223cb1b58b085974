import { z } from 'zod';

import type { SlotName } from '../understanding/understanding.ts';
import type { DialogState } from './dialog-state.ts';

const optional = <Schema extends z.ZodType>(schema: Schema) => schema.exactOptional();
const text = optional(z.string());
const amount = optional(z.number());
const flag = optional(z.boolean());

const gpu = z.object({ name: text, memoryGiB: amount, instance: text, family: text, count: amount });
const budget = z.object({
  amount: z.number(),
  currency: z.enum(['CNY', 'USD']),
  period: optional(z.enum(['hour', 'day', 'month', 'total'])),
});

const slots = z.object({
  model: text,
  backbone: text,
  implementation: text,
  modelText: text,
  imageHeight: amount,
  imageWidth: amount,
  batchSize: amount,
  batchScope: optional(z.enum(['per_gpu', 'total'])),
  gpus: amount,
  gpu: optional(z.union([gpu, z.array(gpu)])),
  owned: flag,
  avoid: optional(z.array(z.string())),
  budget: optional(budget),
  precision: optional(z.enum(['fp32', 'fp16', 'bf16', 'amp'])),
  numClasses: amount,
  inputChannels: amount,
  baseChannels: amount,
  optimizer: optional(z.enum(['sgd', 'adam', 'adamw'])),
  region: text,
  chargeType: optional(z.enum(['PostPaid', 'Spot', 'PrePaid'])),
  outputStride: optional(z.union([z.literal(8), z.literal(16), z.literal(32)])),
  dataset: text,
  loss: optional(z.enum(['cross-entropy', 'dice', 'bce', 'cross-entropy+dice', 'dice+bce'])),
  gradientCheckpointing: flag,
  gradientAccumulation: amount,
  frozenBackbone: flag,
  norm: optional(z.enum(['batch', 'frozen'])),
  auxiliaryHead: flag,
  attention: optional(z.enum(['eager', 'sdpa'])),
  iterations: amount,
  epochs: amount,
  trainImages: amount,
  deadlineHours: amount,
  hoursPerMonth: amount,
});

const slotName = slots.keyof();

/** Every slot there is. */
export const slotNames: readonly SlotName[] = slotName.options;
const intent = z.enum([
  'size',
  'fits',
  'max_batch',
  'max_size',
  'compare',
  'price',
  'oom_report',
  'what_if',
  'translate',
  'measurement',
  'undo',
  'help',
  'reset',
  'greeting',
  'unknown',
]);

const step = z.object({
  slots,
  intent: intent.nullable(),
  compared: optional(z.array(z.string())),
  otherVersion: text,
});
/** As states of before 2026-12 hold it. */
const slotsAlone = slots.transform((held) => ({ slots: held, intent: null }));

const failure = z.object({
  kind: z.enum([
    'cuda_oom',
    'paddle_oom',
    'tensorflow_oom',
    'cudnn_error',
    'nvidia_smi',
    'training_log',
    'host_oom',
    'config',
    'code',
  ]),
  diagnosis: z
    .enum([
      'too_big',
      'fragmentation',
      'other_process',
      'single_allocation',
      'first_iteration',
      'validation',
      'host_memory',
      'leak',
    ])
    .nullable(),
  gpuIndex: amount,
  triedGiB: amount,
  totalGiB: amount,
  allocatedGiB: amount,
  freeGiB: amount,
  reservedGiB: amount,
  cachedGiB: amount,
  processGiB: amount,
  reservedUnallocatedGiB: amount,
});

const choice = z.object({
  slot: slotName,
  typed: z.string(),
  candidates: z.array(z.object({ label: z.string(), say: z.string() })),
});

const state = z.object({
  schema: z.literal(1),
  locale: z.enum(['zh', 'en']),
  slots,
  asked: slotName.nullable(),
  attempts: z.number().int(),
  waived: z.array(slotName),
  intent: intent.nullable(),
  answered: z.boolean(),
  history: z.array(z.union([step, slotsAlone])),
  estimateCode: z.string().nullable(),
  failure: optional(failure),
  choice: optional(choice),
  compared: optional(z.array(z.string())),
  otherVersion: text,
});

/** Slots as stored; its type is checked against the contract by the functions below. */
export const slotsSchema: z.ZodType<DialogState['slots']> = slots;

/** Stored state → state; undefined for what another version of the program wrote: the conversation then starts anew. */
export function parseDialogState(value: unknown): DialogState | undefined {
  return state.safeParse(value).data;
}
