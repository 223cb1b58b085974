import type { Estimate } from '../estimator/estimate-result.ts';

export type FitStatus =
  | 'fits'
  | 'fits-with-changes'
  | 'price-on-request'
  | 'over-budget'
  | 'not-in-region'
  | 'no-candidate'
  | 'does-not-fit';

/** What the person can spend; without a period an hourly price is meant. */
export interface BudgetLimit {
  readonly amount: number;
  readonly currency: 'CNY' | 'USD';
  readonly period?: 'hour' | 'day' | 'month' | 'total';
}

export type ChargeType = 'PostPaid' | 'Spot' | 'PrePaid';

/** A change to the workload that makes it fit, in the order that advice.md prescribes. */
export interface Change {
  readonly id: 'amp' | 'sdpa' | 'checkpointing' | 'micro-batch';
  readonly value?: number;
}

export interface Price {
  readonly amount: number;
  readonly currency: 'CNY' | 'USD';
  readonly period: 'hour';
  readonly region: string;
  readonly chargeType: ChargeType;
  readonly checkedOn: string;
  /** A single quotation instead of a row of the price file. */
  readonly observed: boolean;
}

export type FitNote =
  | 'host-memory-below-rule'
  | 'host-cpu-below-rule'
  | 'subscription-unverified'
  | 'spot-price-unknown'
  | 'observed-price'
  | 'old-gpu-wheels'
  | 'no-bf16'
  | 'no-p2p'
  /** The run would take longer than the person has (`Recommendation.deadlineHours`). */
  | 'misses-deadline';

/** One judged instance type (or own card). */
export interface Fit {
  readonly tier: 'A' | 'B' | 'C' | null;
  readonly status: FitStatus;
  readonly instanceType: string | null;
  readonly gpu: string;
  readonly gpus: number;
  readonly usableGiB: number;
  /** Left side of the feasibility formula after the changes. */
  readonly neededGiB: number;
  /** The same before the changes; absent where there are none. */
  readonly asIsGiB?: number;
  readonly changes: readonly Change[];
  readonly price: Price | null;
  readonly budgetCost: {
    readonly amount: number;
    readonly currency: 'CNY' | 'USD';
    readonly chargeType: ChargeType;
  } | null;
  /** Low and high. */
  readonly secondsPerIteration: readonly [number, number] | null;
  readonly costPerThousandIterations: number | null;
  readonly notes: readonly FitNote[];
  /** Regions that sell the type, when the asked one does not. */
  readonly soldIn?: readonly string[];
  /** What it costs in each of them. */
  readonly pricesElsewhere?: readonly Price[];
  /** Images per optimizer step over all GPUs. */
  readonly imagesPerStep: number;
  readonly vcpu: number | null;
  readonly hostMemoryGiB: number | null;
  /** Numbers of GPUs that this card is sold with, when the asked number is not among them. */
  readonly soldCounts?: readonly number[];
  /** Hours of the whole run at the geometric middle of the time range, when its length is known. */
  readonly runHours?: number;
  /** Zones that could deliver the type when the live source was asked; empty: sold out in the region. */
  readonly zonesWithStock?: readonly string[];
}

export type RecommendationReason =
  | 'cheapest-per-image'
  | 'only-one-within-budget'
  | 'nothing-within-budget'
  | 'no-budget-given'
  | 'nothing-within-deadline';

export interface Tip {
  readonly id: string;
  /** Saved of the allocated peak; 0 where the tip is not about memory. */
  readonly savesGiB: number;
  /** New ÷ old seconds per image; 1 where it does not change. */
  readonly timeFactor: number;
  /** Figures that the message of this tip needs. */
  readonly values: Readonly<Record<string, string | number>>;
  /** What to say to apply it, when it is a change of the workload. */
  readonly say?: string;
}

/** Where the length of a run comes from: said, computed from epochs, or the usual run on that data set. */
export type RunBasis = 'stated' | 'epochs' | 'usual';

export interface RunCost {
  readonly iterations: number;
  readonly basis: RunBasis;
  readonly hours: readonly [number, number];
  readonly amount: readonly [number, number];
  readonly currency: 'CNY' | 'USD';
}

/** vCPUs, memory, disk and network beside the card; sizes in GiB and MB/s. */
export interface HostAdvice {
  readonly vcpuPerGpu: number;
  readonly workersPerProcess: number;
  /** Processes, workers × prefetched batches and the page cache that the loader needs. */
  readonly neededMemoryGiB: number;
  /** The rule of the choice: 1.5 × the instance's GPU memory. */
  readonly ruleMemoryGiB: number;
  readonly hostMemoryGiB: number;
  readonly readMBps: number | null;
  readonly disk: {
    readonly level: 'PL0' | 'PL1' | 'PL2' | 'PL3';
    readonly sizeGiB: number;
    readonly cnyPerMonth: number | null;
    readonly cnyPerHour: number | null;
    readonly checkedOn: string;
  };
  /** Data too large for a system disk: mount NAS or OSS and cache locally. */
  readonly sharedStorage: boolean;
  /** Null where no document says it. */
  readonly erdma: boolean | null;
  readonly nvlink: boolean | null;
  /** Peer-to-peer copies between the cards of the instance; false on A10. */
  readonly peerToPeer: boolean | null;
}

/** How prices of the other currency were converted, and where prices came from. */
export interface PriceBasis {
  readonly usdCny: number;
  readonly origin: 'snapshot' | 'public' | 'api';
  /** A live source was asked for, did not answer, and the snapshot stands in. */
  readonly fellBack: boolean;
}

/** Everything an answer is written from. */
export interface Recommendation {
  readonly estimate: Estimate;
  readonly region: string;
  readonly chargeType: ChargeType;
  readonly budget: BudgetLimit | null;
  readonly tiers: readonly Fit[];
  /** Bests of every GPU model, in the order of preference. */
  readonly bests: readonly Fit[];
  readonly recommended: (Fit & { readonly reason: RecommendationReason }) | null;
  readonly own: Fit | null;
  readonly tips: readonly Tip[];
  readonly run: RunCost | null;
  /** Cards the person named, each judged on its own; `tiers` then holds only these. */
  readonly named: readonly Fit[];
  /** When nobody sells the asked number of GPUs: the choice for the next larger number, with as many images per GPU. */
  readonly nextCount: Fit | null;
  readonly deadlineHours: number | null;
  /** Hours that a budget for the whole run buys, when the run's length is not known. */
  readonly hoursBought: number | null;
  /** Beside the recommended type; null without one. */
  readonly host: HostAdvice | null;
  /** Largest batch per GPU on the recommended card (else the own one), with the changes that make it fit. */
  readonly maxBatch: {
    readonly gpu: string;
    readonly batchPerGpu: number;
    readonly changes: readonly Change[];
  } | null;
  readonly priceBasis: PriceBasis;
}
