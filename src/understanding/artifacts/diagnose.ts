import { says } from '../lexicon/lexicon.ts';
import type { Diagnosis } from '../understanding.ts';
import type { OomReading } from './oom.ts';

/** CUDA context and libraries of one process (physics.md §3.6), and what NCCL adds where several cards are in use. */
const CONTEXT_GIB = 0.8;
const NCCL_GIB = 0.7;
/** More than this beyond the own context is somebody else's. */
const FOREIGN_GIB = 0.5;
/** Share of what is reserved that lies unused before fragmentation is the reason. */
const FRAGMENTED_SHARE = 0.1;
/** One request above this share of the card is no ordinary activation. */
const ABSURD_SHARE = 0.25;

type Figures = OomReading['figures'];

/** What the card holds beside this process's tensors and caches, where the message tells. */
function unexplainedGiB({
  totalGiB,
  freeGiB,
  allocatedGiB,
  reservedGiB,
  cachedGiB,
  processGiB,
}: Figures): number | null {
  if (totalGiB === undefined || freeGiB === undefined) return null;
  if (processGiB !== undefined) return totalGiB - freeGiB - processGiB + CONTEXT_GIB;
  if (reservedGiB !== undefined) return totalGiB - freeGiB - reservedGiB;
  if (allocatedGiB === undefined || cachedGiB === undefined) return null;
  return totalGiB - freeGiB - allocatedGiB - cachedGiB;
}

/** What others hold is the reason when it is more than a desktop's share, and without it the request had been met. */
function isOtherProcess({ figures, othersGiB }: OomReading): boolean {
  if (othersGiB > FOREIGN_GIB) return true;
  const { triedGiB = 0, freeGiB = 0, gpuIndex = 0 } = figures;
  const unexplained = unexplainedGiB(figures);
  if (unexplained === null) return false;
  const foreign = unexplained - CONTEXT_GIB - (gpuIndex > 0 ? NCCL_GIB : 0);
  return foreign > FOREIGN_GIB && foreign >= triedGiB - freeGiB;
}

function isFragmented({ triedGiB, freeGiB, allocatedGiB, reservedGiB, reservedUnallocatedGiB }: Figures): boolean {
  if (triedGiB !== undefined && freeGiB !== undefined && freeGiB >= triedGiB) return true;
  const unused =
    reservedUnallocatedGiB ??
    (reservedGiB === undefined || allocatedGiB === undefined ? 0 : reservedGiB - allocatedGiB);
  const reserved = reservedGiB ?? (allocatedGiB ?? 0) + unused;
  return unused > FRAGMENTED_SHARE * reserved && unused >= 0.5 * (triedGiB ?? 0);
}

function isAbsurd({ triedGiB, totalGiB, allocatedGiB }: Figures): boolean {
  if (triedGiB === undefined) return false;
  const card = totalGiB ?? Math.max(16, allocatedGiB ?? 0);
  return triedGiB > ABSURD_SHARE * card;
}

/** From the words around a failure: when it happens says more than the figures. */
export function diagnoseWords(text: string): Diagnosis | null {
  if (says('validation', text) && !/(?:no|without|before) (?:eval|validation)|没(?:到|有)验证/.test(text))
    return 'validation';
  if (says('leak', text)) return 'leak';
  return says('firstIteration', text) ? 'first_iteration' : null;
}

/**
 * The likeliest reason, in the order in which the signs are conclusive. Null where the message has no figures.
 * Terms: T total, A allocated, R reserved, F free, U this process (practitioners.md §1).
 */
export function diagnose(oom: OomReading, words: string): Diagnosis | null {
  const told = diagnoseWords(words);
  if (told !== null) return told;
  if (oom.kind === 'cudnn_error' || Object.keys(oom.figures).length === 0) return null;
  if (oom.kind === 'tensorflow_oom') return 'too_big';
  if (isOtherProcess(oom) && !isPlentyFree(oom.figures)) return 'other_process';
  if (isFragmented(oom.figures)) return 'fragmentation';
  return isAbsurd(oom.figures) ? 'single_allocation' : 'too_big';
}

/** The request was smaller than what was free: nobody else took the memory. */
function isPlentyFree({ triedGiB, freeGiB }: Figures): boolean {
  return triedGiB !== undefined && freeGiB !== undefined && freeGiB >= triedGiB;
}
