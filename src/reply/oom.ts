import type { Estimate } from '../estimator/estimate-result.ts';
import type { Artifact } from '../understanding/understanding.ts';
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

/** What went wrong, with the figures of the message beside the estimate, and what to do next. */
export function oomBlocks(artifact: Artifact | null, estimate: Estimate | undefined, words: Words): readonly Block[] {
  const text = words.advice.oom;
  const diagnosis = artifact?.diagnosis == null ? null : text.diagnoses[artifact.diagnosis];
  const verdict = diagnosis?.verdict ?? text.unknown;
  const figures = [...artifactFigures(artifact, words), ...estimateFigures(artifact, estimate, words)];
  return [
    { kind: 'verdict', level: 'main', text: `${verdict}${besideEstimate(artifact, estimate, words)}` },
    ...(figures.length === 0
      ? []
      : [{ kind: 'facts', level: 'main', title: words.answer.sections.figures, items: figures } satisfies Block]),
    ...smiList(artifact, words),
    { kind: 'list', level: 'main', title: text.nextTitle, items: diagnosis?.next ?? text.unknownNext },
  ];
}

function besideEstimate(artifact: Artifact | null, estimate: Estimate | undefined, words: Words): string {
  const total = artifact?.totalGiB;
  if (total === undefined || estimate === undefined) return '';
  const needed = estimate.bytes.device / GIB;
  const { fitsAlone, withEstimate } = words.advice.oom;
  const text = needed <= total ? fitsAlone(gibOf(needed), gibOf(total)) : withEstimate(gibOf(needed), gibOf(total));
  return words.locale === 'zh' ? `：${text}` : `: ${text}`;
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

function estimateFigures(artifact: Artifact | null, estimate: Estimate | undefined, words: Words): readonly Figure[] {
  if (estimate === undefined) return [];
  const text = words.advice.oom.figures;
  const { allocatedPeak, device, validationPeak } = estimate.bytes;
  const validation = artifact?.diagnosis === 'validation' || artifact?.diagnosis === 'single_allocation';
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
