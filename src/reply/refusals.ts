import type { SlotName } from '../understanding/understanding.ts';
import type { Problem } from './facts.ts';
import type { Words } from './messages/index.ts';
import type { Choice } from './reply.ts';

/** Rules of networks about the sides of their pictures. */
const ABOUT_SIDES: ReadonlySet<string> = new Set([
  'multiple-of',
  'square-multiple-of',
  'fixed-size',
  'at-least',
  'square',
]);

/** What has to be said anew where a network refuses a run; empty where only another network helps. */
export function slotsOfRule(rule: string): readonly SlotName[] {
  if (ABOUT_SIDES.has(rule)) return ['imageHeight', 'imageWidth'];
  switch (rule) {
    case 'two-classes':
      return ['numClasses'];
    case 'output-stride':
      return ['outputStride'];
    case 'no-checkpointing':
      return ['gradientCheckpointing'];
    default:
      return [];
  }
}

/** Why the network refuses the run, with its figures; null where the rule is not known. */
export function refusalText({ details }: Problem, words: Words): string | null {
  const { refused } = words.dialog;
  const rule = details['rule'] ?? '';
  return isRefusal(rule, words) ? refused[rule](details) : null;
}

function isRefusal(rule: string, words: Words): rule is keyof Words['dialog']['refused'] {
  return rule in words.dialog.refused;
}

/** Sizes near the refused one that the network takes. */
export function sizeChoices({ details }: Problem): readonly Choice[] {
  const number = (name: string): number => Number(details[name] ?? Number.NaN);
  const [height, width] = [number('height'), number('width')];
  return sizesFor(details['rule'] ?? '', { height, width, number }).map(([tall, wide]) => {
    const size = `${tall}x${wide}`;
    return { label: size, say: size };
  });
}

interface Refused {
  readonly height: number;
  readonly width: number;
  readonly number: (name: string) => number;
}

function sizesFor(rule: string, { height, width, number }: Refused): readonly (readonly [number, number])[] {
  const longer = Math.max(height, width);
  const step = number('multipleOf');
  const below = (side: number): number => Math.max(step, Math.floor(side / step) * step);
  const above = (side: number): number => Math.ceil(side / step) * step;
  switch (rule) {
    case 'multiple-of':
      return Number.isFinite(height * step)
        ? [
            [below(height), below(width)],
            [above(height), above(width)],
          ]
        : [];
    case 'square-multiple-of':
      return Number.isFinite(longer * step) ? [[above(longer), above(longer)]] : [];
    case 'square':
      return Number.isFinite(longer) ? [[longer, longer]] : [];
    case 'fixed-size':
      return [[number('side'), number('side')]];
    default:
      return [];
  }
}
