import { z } from 'zod';

import { optional, positiveInteger, workloadFields } from '../workload/fields.ts';

const lineId = z.union([z.string(), z.number()]);

/** One line of `estimate --jsonl`. */
export const estimateLineSchema = z.object({ id: lineId, ...workloadFields });

const budget = z.object({
  amount: z.number().positive().finite(),
  currency: z.enum(['CNY', 'USD']).default('CNY'),
  period: z.enum(['hour', 'day', 'month', 'total']).default('hour'),
});

const ownGpu = z.object({
  name: optional(z.string().trim().min(1).max(200)),
  memoryGiB: optional(z.number().positive().max(10_000)),
  count: optional(positiveInteger(1_024)),
});

/** One line of `recommend --jsonl`. */
export const recommendLineSchema = estimateLineSchema.extend({
  budget: optional(budget),
  region: optional(z.string().trim().min(1).max(64)),
  chargeType: optional(z.enum(['PostPaid', 'Spot', 'PrePaid'])),
  totalBatch: optional(positiveInteger(1_000_000)),
  ownGpu: optional(ownGpu),
  iterations: optional(positiveInteger(1_000_000_000)),
  epochs: optional(z.number().positive().max(1_000_000)),
  trainImages: optional(positiveInteger(1_000_000_000)),
  dataset: optional(z.string().trim().min(1).max(200)),
  deadlineHours: optional(z.number().positive().max(1_000_000)),
  hoursPerMonth: optional(z.number().positive().max(744)),
});

export type EstimateLine = z.output<typeof estimateLineSchema>;
export type RecommendLine = z.output<typeof recommendLineSchema>;
