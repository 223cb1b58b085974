import type { Fit } from '../advice/recommendation.ts';
import type { Estimate } from '../estimator/estimate-result.ts';
import type { Artifact, Diagnosis } from '../understanding/understanding.ts';
import { gib, gibOf } from './format.ts';
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
  const text = words.advice.oom;
  const known = failure.diagnosis ?? impliedDiagnosis(failure);
  const diagnosis = known === null ? null : text.diagnoses[known];
  const beside = besideEstimate(failure, words);
  const verdict = diagnosis?.verdict ?? (beside === null ? text.unknown : text.fitsByEstimate);
  const figures = [...artifactFigures(failure.artifact, words), ...estimateFigures(failure, words)];
  return [
    { kind: 'verdict', level: 'main', text: verdict },
    ...(beside === null ? [] : [{ kind: 'text', level: 'main', text: beside } satisfies Block]),
    ...(figures.length === 0
      ? []
      : [{ kind: 'facts', level: 'main', title: words.answer.sections.figures, items: figures } satisfies Block]),
    ...smiList(failure.artifact, words),
    { kind: 'list', level: 'main', title: text.nextTitle, items: diagnosis?.next ?? text.unknownNext },
  ];
}

/** Told only that it failed: when the estimate does not fit the card either, that is the reason. */
function impliedDiagnosis({ card }: Failure): Diagnosis | null {
  if (card === null) return null;
  return card.changes.length > 0 || card.status === 'does-not-fit' ? 'too_big' : null;
}

function besideEstimate({ artifact, estimate, card }: Failure, words: Words): string | null {
  const total = artifact?.totalGiB ?? card?.usableGiB;
  if (total === undefined || estimate === undefined) return null;
  const needed = estimate.bytes.device / GIB;
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
  const { totalGiB, freeGiB, processGiB } = artifact;
  const mine = processGiB ?? artifact.reservedGiB ?? artifact.cachedGiB;
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
