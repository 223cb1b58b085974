import type { Catalog } from '../../catalog/index.ts';
import type { Locale } from '../message.ts';
import { unclearMemory } from './gpu-mention.ts';
import type { Reading } from './reading.ts';
import { sumBelowNothing } from './slots/budget.ts';
import type { Ambiguity, SlotName, Slots } from './understanding.ts';

const MOST_CHOICES = 3;
/** Of a button (src/reply/reply.ts). */
const LONGEST_LABEL = 20;

/** One name for cards with 16, 24 or 48 GB that nobody rents out: which one decides the answer. */
function unclearCard({ gpu }: Slots, catalog: Catalog): readonly Ambiguity[] {
  if (gpu === undefined || !('name' in gpu) || gpu.name === undefined) return [];
  const match = catalog.findGpu(gpu.name, gpu.memoryGiB);
  if (match === undefined || !('ambiguous' in match)) return [];
  const rows = match.ambiguous;
  // one card with two memory sizes (V100, A100, H20) is judged in both instead of asked for
  const cards = new Set(rows.map(({ label }) => label.replace(/\s\d+GB$/, '')));
  if (cards.size < 2) return [];
  const candidates = rows
    .slice(0, MOST_CHOICES)
    .map(({ label }) => ({ label: label.slice(0, LONGEST_LABEL), say: label }));
  return [{ slot: 'gpu', typed: gpu.name, candidates }];
}

/** "10G 显存": is it there, or is it needed? */
function unclearNeed(reading: Reading, slots: Slots, locale: Locale): readonly Ambiguity[] {
  const typed = slots.gpu === undefined ? unclearMemory(reading) : null;
  const size = /\d{1,3}/.exec(typed ?? '')?.[0];
  if (typed === null || size === undefined) return [];
  const candidates =
    locale === 'zh'
      ? [
          { label: `我的卡有 ${size}G`, say: `我有 ${size}G 显存的卡` },
          { label: `需要 ${size}G`, say: `需要 ${size}G 显存` },
        ]
      : [
          { label: `my card has ${size} GB`, say: `I have a ${size} GB card` },
          { label: `it needs ${size} GB`, say: `it needs ${size} GB of VRAM` },
        ];
  return [{ slot: 'gpu', typed, candidates }];
}

/** "预算 -5": a slip of the finger, or a dash in front of the sum? */
function unclearSum(reading: Reading, { budget, gpus }: Slots, { locale, asked }: Beside): readonly Ambiguity[] {
  const sum = budget === undefined && gpus === undefined ? sumBelowNothing(reading.text, asked === 'budget') : null;
  if (sum === null) return [];
  const candidates =
    locale === 'zh'
      ? [
          { label: sum, say: `预算 ${sum}` },
          { label: '不限预算', say: '不限预算' },
        ]
      : [
          { label: sum, say: `budget ${sum}` },
          { label: 'no limit', say: 'no budget limit' },
        ];
  return [{ slot: 'budget', typed: `-${sum}`, candidates }];
}

interface Beside {
  readonly catalog: Catalog;
  readonly locale: Locale;
  readonly asked: SlotName | null;
}

/** Mentions that could mean several things and change the answer: asked with buttons, never guessed. */
export function findAmbiguities(reading: Reading, slots: Slots, beside: Beside): readonly Ambiguity[] {
  return [
    ...unclearCard(slots, beside.catalog),
    ...unclearNeed(reading, slots, beside.locale),
    ...unclearSum(reading, slots, beside),
  ];
}
