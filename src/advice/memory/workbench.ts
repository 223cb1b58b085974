import { LeastRecent } from '../../estimator/least-recent.ts';
import type { Workload } from '../../estimator/workload.ts';
import type { Card } from '../choice/card.ts';
import { type Mitigated, mitigate } from '../mitigations.ts';
import type { AdvicePorts } from '../request.ts';
import { type EstimateOf, rememberEstimates } from './estimates.ts';

type Seconds = readonly [number, number];

/** A workload as one card runs it, with the seconds of an optimizer step there. */
export interface OnCard extends Mitigated {
  /** `vcpusPerGpu` undefined: loading is never the bound. */
  secondsWith(vcpusPerGpu: number | undefined): Seconds;
}

type Sources = Pick<AdvicePorts, 'estimate' | 'secondsPerIteration' | 'catalog' | 'variantOf'>;

/** What recommendations of one workload share whatever the region, the budget and the way of paying: nothing here knows a price. */
export class Workbench {
  readonly estimate: EstimateOf;
  /** The asked workload; the same object for every recommendation. */
  readonly workload: Workload;
  private readonly sources: Sources;
  private readonly onCards = new WeakMap<Workload, WeakMap<Card, OnCard>>();

  constructor(workload: Workload, sources: Sources) {
    this.workload = workload;
    this.sources = sources;
    this.estimate = rememberEstimates(sources.estimate);
  }

  serves({ estimate, secondsPerIteration, catalog, variantOf }: Sources): boolean {
    const { sources } = this;
    return (
      sources.estimate === estimate &&
      sources.secondsPerIteration === secondsPerIteration &&
      sources.catalog === catalog &&
      sources.variantOf === variantOf
    );
  }

  /** The shortest list of changes that fits the card, judged once. */
  onCard(workload: Workload, card: Card): OnCard {
    let cards = this.onCards.get(workload);
    if (cards === undefined) {
      cards = new WeakMap();
      this.onCards.set(workload, cards);
    }
    const before = cards.get(card);
    if (before !== undefined) return before;
    const made = this.judge(workload, card);
    cards.set(card, made);
    return made;
  }

  private judge(workload: Workload, { spec }: Card): OnCard {
    const mitigated = mitigate(this.estimate, workload, spec);
    const { secondsPerIteration } = this.sources;
    const known = new Map<number | undefined, Seconds>();
    const secondsWith = (vcpusPerGpu: number | undefined): Seconds => {
      const options = vcpusPerGpu === undefined ? {} : { vcpusPerGpu };
      const seconds = known.get(vcpusPerGpu) ?? secondsPerIteration(mitigated.estimate, spec, options);
      known.set(vcpusPerGpu, seconds);
      return seconds;
    };
    return { ...mitigated, secondsWith };
  }
}

/** Tips and limits of the cards that one workload was judged on. */
const REMEMBERED = 200;
/** Workloads that are talked about at a time. */
const WORKLOADS = 8;

const benches = new LeastRecent<string, Workbench>(WORKLOADS);

/** The bench of this workload: the one that an earlier recommendation left, if it was made from the same sources. */
export function workbenchOf(ports: AdvicePorts, workload: Workload): Workbench {
  const key = JSON.stringify(workload);
  const before = benches.get(key);
  if (before?.serves(ports) === true) return before;
  const bench = new Workbench(workload, ports);
  benches.set(key, bench);
  return bench;
}

/** Computes once for a bench what `key` says everything about; `make` must read nothing else that changes. */
export function oncePerBench<T>(): (bench: Workbench, key: string, make: () => T) => T {
  const benchesKnown = new WeakMap<Workbench, LeastRecent<string, { readonly value: T }>>();
  return (bench, key, make) => {
    const known = benchesKnown.get(bench) ?? new LeastRecent<string, { readonly value: T }>(REMEMBERED);
    benchesKnown.set(bench, known);
    const entry = known.get(key) ?? { value: make() };
    known.set(key, entry);
    return entry.value;
  };
}
