import type { Fit } from '../advice/recommendation.ts';
import type { Estimate } from '../estimator/estimate-result.ts';
import type { Artifact, Diagnosis } from '../understanding/understanding.ts';
import { gib, gibOf, significant } from './format.ts';
import type { Words } from './messages/index.ts';
import type { Block } from './reply.ts';

const GIB = 1024 ** 3;
const FIGURES = [
  'triedGiB',
  'totalGiB',
  'allocatedGiB',
  'reservedGiB',
  'cachedGiB',
  'reservedUnallocatedGiB',
  'freeGiB',
  'processGiB',
] as const;

export interface Failure {
  readonly artifact: Artifact | null;
  /** From the words or the figures, set without a pasted text too. */
  readonly diagnosis: Diagnosis | null;
  readonly estimate: Estimate | undefined;
  /** The card it failed on, judged for the same run. */
  readonly card: Fit | null;
}

/** What went wrong, with the figures of the message beside the estimate, and what to do next. */
export function oomBlocks(failure: Failure, words: Words): readonly Block[] {
  const figures = [...artifactFigures(failure.artifact, words), ...estimateFigures(failure, words)];
  const { verdict, beside, causes, next } = findings(failure, words);
  return [
    { kind: 'verdict', level: 'main', text: verdict },
    ...(beside === null ? [] : [{ kind: 'text', level: 'main', text: beside } satisfies Block]),
    ...(causes.length === 0
      ? []
      : [{ kind: 'list', level: 'main', title: words.advice.oom.disagreeTitle, items: causes } satisfies Block]),
    ...(figures.length === 0
      ? []
      : [{ kind: 'facts', level: 'main', title: words.answer.sections.figures, items: figures } satisfies Block]),
    ...smiList(failure.artifact, words),
    { kind: 'list', level: 'main', title: words.advice.oom.nextTitle, items: next },
  ];
}

interface Findings {
  readonly verdict: string;
  readonly beside: string | null;
  readonly causes: readonly string[];
  readonly next: readonly string[];
}

/** The reason that the figures give, reconciled with the estimate where the two differ. */
function findings(failure: Failure, words: Words): Findings {
  const text = words.advice.oom;
  const known = failure.diagnosis ?? impliedDiagnosis(failure);
  const room = roomOf(failure);
  const beside = room === null ? null : besideText(room, words);
  if (known === 'too_big' && room !== null && room.needed <= room.total) {
    const disagrees = disagreement(failure, { beside }, words);
    return disagrees ?? (room.needed < EDGE * room.total ? nothingInTheWay(beside, words) : onTheEdge(room, words));
  }
  const diagnosis = known === null ? null : text.diagnoses[known];
  if (known === 'other_process' && room !== null && room.needed > room.total) {
    // Alone on the card it would fail all the same.
    const { too_big: tooBig, other_process: others } = text.diagnoses;
    return {
      verdict: tooBig.verdict,
      beside: [beside, others.verdict].join(words.locale === 'zh' ? '' : ' '),
      causes: [],
      next: [...tooBig.next, ...others.next],
    };
  }
  const shared = known === 'other_process' ? disagreement(failure, { beside: null }, words) : null;
  if (shared !== null) {
    // Both at once: others hold memory, and the run itself is larger than the one described.
    const { verdict, next } = text.diagnoses.other_process;
    return { verdict, beside: shared.verdict, causes: shared.causes, next: [...next, ...shared.next] };
  }
  const verdict = diagnosis?.verdict ?? (beside === null ? text.unknown : text.fitsByEstimate);
  return {
    verdict,
    beside,
    causes: [],
    next: diagnosis?.next ?? (beside === null ? text.unknownNext : text.unknownNext.slice(0, 1)),
  };
}

/** What the run held and asked for when it failed. */
function failedAtGiB({ allocatedGiB, triedGiB = 0 }: Artifact): number | null {
  return allocatedGiB === undefined ? null : allocatedGiB + triedGiB;
}

/** The message shows more than the estimate allows for: the run is another than the one described. */
function disagreement(
  { artifact, estimate }: Failure,
  { beside }: { readonly beside: string | null },
  words: Words,
): Findings | null {
  const pasted = artifact === null ? null : failedAtGiB(artifact);
  if (pasted === null || estimate === undefined) return null;
  const estimated = estimate.bytes.allocatedPeak / GIB;
  if (pasted <= estimated * (1 + estimate.uncertainty.relative)) return null;
  const { disagrees, causes, disagreeNext } = words.advice.oom;
  const fixed = (estimate.bytes.parameters + estimate.bytes.buffers + estimate.bytes.optimizerState) / GIB;
  const times = (pasted - fixed) / (estimated - fixed);
  const batch = significant(estimate.workload.batchSize * times);
  const larger = causes.larger(gibOf(pasted), batch, Math.sqrt(times).toFixed(2));
  return {
    verdict: disagrees(gibOf(pasted), gibOf(estimated)),
    beside,
    causes: [larger, causes.library, causes.besides],
    next: disagreeNext,
  };
}

/** A share of the card beyond which an estimate's error or fragments decide. */
const EDGE = 0.85;

/** It fits with room to spare, and the message has no figures that say why it did not. */
function nothingInTheWay(beside: string | null, words: Words): Findings {
  const { fitsByEstimate, diagnoses, unknownNext } = words.advice.oom;
  return {
    verdict: fitsByEstimate,
    beside,
    causes: [],
    next: [...diagnoses.other_process.next, ...unknownNext.slice(0, 1)],
  };
}

function onTheEdge({ needed, total }: Room, words: Words): Findings {
  const { onTheEdge: verdict, diagnoses } = words.advice.oom;
  return { verdict: verdict(gibOf(needed), gibOf(total)), beside: null, causes: [], next: diagnoses.too_big.next };
}

/** Told only that it failed: when the estimate does not fit the card either, that is the reason. */
function impliedDiagnosis({ card }: Failure): Diagnosis | null {
  if (card === null) return null;
  return card.changes.length > 0 || card.status === 'does-not-fit' ? 'too_big' : null;
}

interface Room {
  /** What nvidia-smi would show. */
  readonly needed: number;
  readonly total: number;
}

function roomOf({ artifact, estimate, card }: Failure): Room | null {
  const total = artifact?.totalGiB ?? card?.usableGiB;
  return total === undefined || estimate === undefined ? null : { needed: estimate.bytes.device / GIB, total };
}

function besideText({ needed, total }: Room, words: Words): string {
  const { fitsAlone, withEstimate } = words.advice.oom;
  return needed <= total ? fitsAlone(gibOf(needed), gibOf(total)) : withEstimate(gibOf(needed), gibOf(total));
}

interface Figure {
  readonly label: string;
  readonly value: string;
}

function artifactFigures(artifact: Artifact | null, words: Words): readonly Figure[] {
  if (artifact === null) return [];
  const text = words.advice.oom.figures;
  const figures = FIGURES.flatMap((name): Figure[] => {
    const amount = artifact[name];
    return amount === undefined ? [] : [{ label: text[name], value: gibOf(amount) }];
  });
  const { totalGiB, freeGiB, processGiB, reservedGiB, cachedGiB, allocatedGiB = 0 } = artifact;
  // "cached" of the old wording is what the process holds beside its tensors
  const held = cachedGiB === undefined ? undefined : allocatedGiB + cachedGiB;
  const mine = processGiB ?? reservedGiB ?? held;
  if (totalGiB === undefined || freeGiB === undefined || mine === undefined) return figures;
  const others = totalGiB - freeGiB - mine;
  return others > 0.05 ? [...figures, { label: text.otherGiB, value: gibOf(others) }] : figures;
}

function estimateFigures({ diagnosis, estimate }: Failure, words: Words): readonly Figure[] {
  if (estimate === undefined) return [];
  const text = words.advice.oom.figures;
  const { allocatedPeak, device, validationPeak } = estimate.bytes;
  const validation = diagnosis === 'validation' || diagnosis === 'single_allocation';
  return [
    { label: text.estimate, value: gib(allocatedPeak) },
    { label: text.device, value: gib(device) },
    ...(validation ? [{ label: text.validation, value: gib(validationPeak) }] : []),
  ];
}

function smiList(artifact: Artifact | null, words: Words): readonly Block[] {
  const text = words.advice.oom;
  const items = (artifact?.gpus ?? []).map(({ index, name, usedMiB, totalMiB }) =>
    text.gpuLine(index, name ?? '', String(usedMiB ?? '?'), String(totalMiB ?? '?')),
  );
  return items.length === 0 ? [] : [{ kind: 'list', level: 'details', title: text.smi, items }];
}
