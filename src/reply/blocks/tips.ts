import type { Recommendation, Tip } from '../../advice/recommendation.ts';
import { gibOf, percent, readable } from '../format.ts';
import type { Words } from '../messages/index.ts';
import type { Block } from '../reply.ts';
import { changesText } from './tiers.ts';

const SHOWN_FIRST = 6;

/** What to change to need less, each with its saving and its price in time; what else is good to know behind it. */
export function tipBlocks({ tips, maxBatch }: Recommendation, words: Words): readonly Block[] {
  const larger = maxBatch === null ? [] : [largestText(maxBatch, words)];
  const items = [...larger, ...tips.map((tip) => tipText(tip, words))];
  if (items.length === 0) return [];
  const title = words.answer.sections.change;
  const first: Block = { kind: 'list', level: 'details', title, items: items.slice(0, SHOWN_FIRST) };
  const rest = items.slice(SHOWN_FIRST);
  return rest.length === 0
    ? [first]
    : [first, { kind: 'list', level: 'details', title: words.answer.sections.details, items: rest }];
}

function largestText({ gpu, batchPerGpu, changes }: NonNullable<Recommendation['maxBatch']>, words: Words): string {
  // a smaller micro-batch says nothing about the largest one
  const needed = changes.filter(({ id }) => id !== 'micro-batch');
  const { upTo, upToWith } = words.answer.tip;
  return needed.length === 0 ? upTo(batchPerGpu, gpu) : upToWith(batchPerGpu, gpu, changesText(needed, words));
}

function tipText(tip: Tip, words: Words): string {
  const values = readable(tip.values);
  const what = isKnown(tip.id, words) ? words.tips.tips[tip.id](values) : tip.id;
  const effects = [
    ...(tip.savesGiB > 0 ? [words.answer.tip.saves(gibOf(tip.savesGiB))] : []),
    ...timeText(tip.timeFactor, words),
  ];
  if (effects.length === 0) return what;
  return words.locale === 'zh' ? `${what}（${effects.join('，')}）` : `${what} (${effects.join(', ')})`;
}

function isKnown(id: string, words: Words): id is keyof Words['tips']['tips'] {
  return id in words.tips.tips;
}

/** Below this a change of speed is inside the estimate's own range. */
const NOTICEABLE = 0.06;

function timeText(factor: number, words: Words): readonly string[] {
  if (Math.abs(factor - 1) < NOTICEABLE) return [];
  return factor < 1
    ? [words.answer.tip.faster((1 / factor).toFixed(1))]
    : [words.answer.tip.slower(percent(factor - 1))];
}
