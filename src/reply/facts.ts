import type { Belief } from '../advice/beliefs.ts';
import type { Comparison } from '../advice/measurement.ts';
import type { Fit, Recommendation } from '../advice/recommendation.ts';
import type { ErrorCode } from '../errors.ts';
import type { Implementation } from '../estimator/workload.ts';

/** The same name in another library: what it would need there. */
export interface LibraryFigure {
  readonly implementation: Implementation;
  readonly allocatedBytes: number;
  /** The message that switches to it. */
  readonly say: string;
}

/** The largest batch or picture that a card holds. */
export interface Maximum {
  readonly card: string;
  /** 0: not even one. */
  readonly batch?: number;
  readonly size?: { readonly height: number; readonly width: number };
  readonly neededGiB: number;
  readonly usableGiB: number;
}

export interface PriceOffer {
  readonly card: string;
  readonly instanceType: string;
  readonly gpus: number;
  readonly vcpu: number;
  readonly hostMemoryGiB: number;
  readonly amountPerHour: number;
  readonly currency: 'CNY' | 'USD';
  readonly region: string;
  readonly checkedOn: string;
  readonly observed: boolean;
}

/** Prices of a named card or instance type, cheapest first; none: no public price. */
export interface PriceFacts {
  readonly card: string;
  readonly offers: readonly PriceOffer[];
  readonly hours: number | null;
  /** For how many hours a month's machine runs. */
  readonly hoursPerMonth: number;
  /** A sum of money and how long the machine can be had for it. */
  readonly lasts: { readonly amount: number; readonly currency: 'CNY' | 'USD'; readonly hours: number } | null;
  /** The asked region, where the offers are of other ones because it has none. */
  readonly notIn: string | null;
}

/** The lowest hourly price that holds the run, on a host of any size. */
export interface LowestFacts {
  readonly fit: Fit;
  readonly offer: PriceOffer;
}

/** A recipe moved to other GPUs: micro-batch × accumulation × GPUs = total batch. */
export interface RecipeFacts {
  readonly totalBatch: number;
  readonly fromGpus: number;
  readonly fromBatch: number;
  readonly gpus: number;
  readonly batchPerGpu: number;
  readonly accumulation: number;
  /** Other ways to the same total, larger micro-batches first. */
  readonly options: readonly { readonly batchPerGpu: number; readonly accumulation: number }[];
  /** A step without accumulation, where it sees another number of images. */
  readonly plain: { readonly batchPerGpu: number; readonly total: number } | null;
  /** Whether the named cards hold a step of it; empty where none is named or the run is not known. */
  readonly cards: readonly Fit[];
}

/** A network of a comparison, sized for the same run. */
export interface ModelFigure {
  readonly label: string;
  readonly allocatedBytes: number;
  readonly deviceBytes: number;
  /** The cards that were named. */
  readonly cards: readonly Fit[];
}

export interface Problem {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, string>>;
}

/** What was computed for one turn; a reply is written from these and the turn, and from nothing else. */
export interface Facts {
  readonly recommendation?: Recommendation;
  /** Names of workload fields that a default filled in. */
  readonly assumed?: readonly string[];
  readonly libraries?: readonly LibraryFigure[];
  /** Networks that are compared with each other. */
  readonly models?: readonly ModelFigure[];
  /** What the other of two runs needs, in the order of the message's alternatives; null where it cannot be trained. */
  readonly others?: readonly (number | null)[];
  readonly maxima?: readonly Maximum[];
  readonly prices?: readonly PriceFacts[];
  readonly lowest?: LowestFacts;
  /** Told figures beside the estimate. */
  readonly comparisons?: readonly Comparison[];
  readonly recipe?: RecipeFacts;
  readonly problem?: Problem;
  /** What went wrong inside, for the log; the person is told only that it did. */
  readonly failure?: unknown;
  /** Facts that put right what the person believes. */
  readonly beliefs?: readonly Belief[];
  readonly unknownGpus?: readonly string[];
  /** Named chips that share their memory with the system. */
  readonly sharedMemory?: readonly {
    readonly card: string;
    readonly cuda: boolean;
    readonly memoryGiB: number | null;
  }[];
  /** Named accelerators that have no CUDA. */
  readonly withoutCuda?: readonly string[];
  /** Asked for, and not to be had from this library. */
  readonly unsupported?: readonly ('checkpointing' | 'sdpa')[];
}
