import type { Catalog } from '../../catalog/index.ts';
import type { PriceBook } from '../../catalog/price-book.ts';
import type { Estimate, GpuSpec } from '../estimator/estimate-result.ts';
import type { ModelSpec, Workload } from '../estimator/workload.ts';
import type { BudgetLimit, ChargeType } from './recommendation.ts';

/** The person's own card: by name, by memory alone ("24G 的卡"), or both. */
export interface OwnGpu {
  readonly name?: string;
  readonly memoryGiB?: number;
  readonly count?: number;
}

/** What the person narrowed the rented machines to; empty lists mean no narrowing. */
export interface RentalFilter {
  /** Names as typed, each with its own number where several are compared; one that is sold nowhere is judged like an own card. */
  readonly gpus: readonly OwnGpu[];
  /** `ecs.gn7i-c16g1.4xlarge` or `gn7i`; asked for by name, bare metal and vGPU types count too. */
  readonly instances: readonly string[];
}

/** Length of the run as far as it was said. */
export interface RunLength {
  readonly iterations?: number;
  readonly epochs?: number;
  readonly trainImages?: number;
  /** Id of a catalogue row. */
  readonly dataset?: string;
}

export interface RecommendationRequest {
  /** `batchSize` per GPU and micro-batch, `gpus` as asked. */
  readonly workload: Workload;
  readonly budget: BudgetLimit | null;
  readonly region: string;
  readonly chargeType: ChargeType;
  /** Images per step over all GPUs when the number of GPUs is free to choose; null: `workload.gpus` is fixed. */
  readonly freeTotalBatch: number | null;
  readonly only: RentalFilter | null;
  readonly own: OwnGpu | null;
  /** Cards that are not wanted, by the name without memory ("V100"): none of their machines is proposed. */
  readonly avoid?: readonly string[];
  readonly run: RunLength;
  /** Judge budgets and deadlines by the usual run on the data set when its length was not said. */
  readonly assumeUsualRun: boolean;
  readonly deadlineHours: number | null;
  /** Hours of a month in which a monthly machine is used. */
  readonly hoursPerMonth: number;
}

/** What the time of one optimizer step depends on beside card and workload. */
export interface TimingOptions {
  readonly vcpusPerGpu?: number;
  readonly channelsLast?: boolean;
}

/** The estimator and the facts, passed in. */
export interface AdvicePorts {
  readonly catalog: Catalog;
  readonly prices: PriceBook;
  /** CNY for one USD, a planning rate. */
  readonly usdCny: number;
  /** @throws AppError `unsupported-combination` for a workload that the library cannot train. */
  readonly estimate: (workload: Workload) => Estimate;
  /** Low and high seconds of one optimizer step, all its micro-batches included. */
  readonly secondsPerIteration: (estimate: Estimate, gpu: GpuSpec, options: TimingOptions) => readonly [number, number];
  /** The same network on another backbone, where options follow the size; default: only the backbone is exchanged. */
  readonly variantOf?: (model: ModelSpec, backbone: string) => ModelSpec | undefined;
}
