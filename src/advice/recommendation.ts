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
  | 'no-p2p';

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
  /** Images per optimizer step over all GPUs. */
  readonly imagesPerStep: number;
  readonly vcpu: number | null;
  readonly hostMemoryGiB: number | null;
}

export type RecommendationReason =
  | 'cheapest-per-image'
  | 'only-one-within-budget'
  | 'nothing-within-budget'
  | 'no-budget-given';

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

export interface RunCost {
  readonly iterations: number;
  readonly hours: readonly [number, number];
  readonly amount: readonly [number, number];
  readonly currency: 'CNY' | 'USD';
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
}
