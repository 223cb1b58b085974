import type { Fit, Recommendation, Tip } from './recommendation.ts';

/** One line of `recommend --jsonl`: the shape of the documented format (docs: command line and machine-readable formats). */
export interface RecommendationJson {
  readonly id: string;
  readonly estimate: unknown;
  readonly tiers: readonly FitJson[];
  readonly recommended: (FitJson & { readonly reason: string }) | null;
  readonly own: FitJson | null;
  readonly tips: readonly {
    readonly id: string;
    readonly savesGiB: number;
    readonly timeFactor: number;
    readonly note: string;
  }[];
}

type FitJson = Pick<
  Fit,
  | 'tier'
  | 'status'
  | 'instanceType'
  | 'gpu'
  | 'gpus'
  | 'usableGiB'
  | 'neededGiB'
  | 'changes'
  | 'price'
  | 'budgetCost'
  | 'secondsPerIteration'
  | 'costPerThousandIterations'
  | 'notes'
>;

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function fitJson(fit: Fit): FitJson {
  const { budgetCost, secondsPerIteration: seconds, costPerThousandIterations: cost } = fit;
  return {
    tier: fit.tier,
    status: fit.status,
    instanceType: fit.instanceType,
    gpu: fit.gpu,
    gpus: fit.gpus,
    usableGiB: rounded(fit.usableGiB, 2),
    neededGiB: rounded(fit.neededGiB, 3),
    changes: fit.changes,
    price: fit.price,
    budgetCost: budgetCost === null ? null : { ...budgetCost, amount: rounded(budgetCost.amount, 4) },
    secondsPerIteration: seconds === null ? null : [rounded(seconds[0], 4), rounded(seconds[1], 4)],
    costPerThousandIterations: cost === null ? null : rounded(cost, 4),
    notes: fit.notes,
  };
}

function tipJson(tip: Tip): RecommendationJson['tips'][number] {
  const facts = Object.entries(tip.values).map(([name, value]) => {
    return `${name}: ${typeof value === 'number' ? rounded(value, 3) : value}`;
  });
  return {
    id: tip.id,
    savesGiB: rounded(tip.savesGiB, 3),
    timeFactor: rounded(tip.timeFactor, 3),
    note: facts.join(', '),
  };
}

/** `estimate` is the line that `estimate --jsonl` would print for the same input, without its id. */
export function recommendationJson(id: string, recommendation: Recommendation, estimate: unknown): RecommendationJson {
  const { recommended, own } = recommendation;
  return {
    id,
    estimate,
    tiers: recommendation.tiers.map(fitJson),
    recommended: recommended === null ? null : { ...fitJson(recommended), reason: recommended.reason },
    own: own === null ? null : fitJson(own),
    tips: recommendation.tips.map(tipJson),
  };
}
