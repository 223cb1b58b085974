import { replay, type TurnHeard } from './replay.ts';
import type { Transcript } from './transcript.ts';

type Values = Readonly<Record<string, unknown>>;

export interface Score {
  readonly turns: number;
  readonly slotF1: number;
  readonly joint: number;
  readonly intent: number;
  /** One line per turn that differs. */
  readonly differences: readonly string[];
}

const squash = (value: unknown): string =>
  String(value)
    .toLowerCase()
    .replace(/\/(8|14|16|32)$/, '')
    .replace(/[\s_-]/g, '');

const SAME_NAME: Readonly<Record<string, string>> = {
  'deeplabv3+': 'deeplabv3plus',
  'unet++': 'unetplusplus',
  fp16: 'amp',
};

/** Canonical spelling for comparison (test/fixtures/cases/README.md). */
const canonical = (value: unknown): string => SAME_NAME[squash(value)] ?? squash(value);
const gpuName = (value: unknown): string =>
  squash(value)
    .replace(/^(nvidia|geforce|tesla)+/, '')
    .replace(/^(rtx|gtx|quadro)/, '');

const isRecord = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const near = (got: unknown, want: unknown, tolerance: number): boolean =>
  typeof got === 'number' && typeof want === 'number' && Math.abs(got - want) <= tolerance * Math.abs(want);

function gpuAgrees(got: unknown, want: unknown): boolean {
  if (Array.isArray(want)) {
    return (
      Array.isArray(got) &&
      got.length === want.length &&
      want.every((one) => got.some((other) => gpuAgrees(other, one)))
    );
  }
  if (!isRecord(got) || !isRecord(want)) return false;
  return Object.entries(want).every(([key, value]) => {
    if (key === 'name') return gpuName(got[key]) === gpuName(value);
    return key === 'memoryGiB' ? near(got[key], value, 0.03) : squash(got[key]) === squash(value);
  });
}

function budgetAgrees(got: unknown, want: unknown): boolean {
  if (!isRecord(got) || !isRecord(want)) return false;
  const period = want['period'] === undefined || got['period'] === want['period'];
  return near(got['amount'], want['amount'], 0.001) && got['currency'] === want['currency'] && period;
}

/** A scope that was stated must be held; per-GPU batches times cards equal totals. */
function batchAgrees(slots: Values, want: Values): boolean {
  const { batchSize, batchScope } = slots;
  if (want['batchSize'] === null) return batchSize === undefined;
  if (typeof batchSize !== 'number' || typeof want['batchSize'] !== 'number') return false;
  if (want['batchScope'] === undefined || want['batchScope'] === batchScope) return batchSize === want['batchSize'];
  const gpus = Number(want['gpus'] ?? slots['gpus'] ?? Number.NaN);
  const total = (size: number, scope: unknown) => (scope === 'per_gpu' ? size * gpus : size);
  if (batchScope === undefined && gpus !== 1) return false;
  return total(batchSize, batchScope) === total(want['batchSize'], want['batchScope']);
}

function sidesAgree(slots: Values, want: unknown): boolean {
  const sides = [Number(slots['imageHeight']), Number(slots['imageWidth'])].sort((a, b) => a - b);
  return Array.isArray(want) && JSON.stringify(sides) === JSON.stringify(want.map(Number).sort((a, b) => a - b));
}

/** An HRNet backbone with its usual head may be called either. */
function modelAgrees(slots: Values, want: unknown): boolean {
  const usualHead = squash(slots['backbone']).startsWith('hrnet') && ['hrnet', 'fcn'].includes(canonical(want));
  return (
    canonical(slots['model']) === canonical(want) || (usualHead && ['hrnet', 'fcn'].includes(canonical(slots['model'])))
  );
}

function agrees(slots: Values, name: string, want: Values): boolean {
  const value = want[name];
  if (name === 'batchSize') return batchAgrees(slots, want);
  if (value === null) return slots[name] === undefined;
  switch (name) {
    case 'sizeAnyOrder':
      return sidesAgree(slots, value);
    case 'gpu':
      return gpuAgrees(slots[name], value);
    case 'budget':
      return budgetAgrees(slots[name], value);
    case 'model':
      return modelAgrees(slots, value);
    case 'backbone':
    case 'precision':
      return slots[name] !== undefined && canonical(slots[name]) === canonical(value);
    default:
      return typeof value === 'number' ? near(slots[name], value, 0.001) : slots[name] === value;
  }
}

const CHECKED_FOR_INVENTION = [
  'model',
  'imageHeight',
  'batchSize',
  'gpus',
  'budget',
  'gpu',
  'precision',
  'optimizer',
  'region',
];

function invented(slots: Values, want: Values): readonly string[] {
  return CHECKED_FOR_INVENTION.filter((name) => {
    const known = want[name] !== undefined || (name === 'imageHeight' && want['sizeAnyOrder'] !== undefined);
    return !known && slots[name] !== undefined && !(name === 'gpus' && slots[name] === 1);
  });
}

interface Judged {
  readonly right: number;
  readonly wrong: readonly string[];
  readonly intent: boolean | null;
}

function judge(heard: TurnHeard, expected: Transcript['turns'][number]['expect'], complete: boolean): Judged {
  const slots: Values = { ...heard.slots };
  const names = Object.keys(expected.slots).filter((name) => name !== 'batchScope');
  const wrong = names.filter((name) => !agrees(slots, name, expected.slots));
  const extra = complete ? invented(slots, expected.slots).map((name) => `invented ${name}`) : [];
  const intent = expected.intent === undefined ? null : [expected.intent].flat().includes(heard.intent);
  return { right: names.length - wrong.length, wrong: [...wrong, ...extra], intent };
}

/** Slot F1, share of turns with every slot right, and share of right intents over conversations. */
export function score(
  transcripts: readonly Transcript[],
  say: (user: string, turn: number) => string = (user) => user,
): Score {
  let right = 0;
  let wrong = 0;
  let turns = 0;
  let joint = 0;
  const intents: boolean[] = [];
  const differences: string[] = [];
  for (const { id, complete, turns: wanted } of transcripts) {
    const heard = replay(wanted.map(({ user }, index) => say(user, index)));
    wanted.forEach((turn, index) => {
      const one = heard[index];
      if (one === undefined) return;
      const judged = judge(one, turn.expect, complete === true);
      right += judged.right;
      wrong += judged.wrong.length;
      turns += 1;
      if (judged.wrong.length === 0) joint += 1;
      if (judged.intent !== null) intents.push(judged.intent);
      const bad = [...judged.wrong, ...(judged.intent === false ? [`intent ${one.intent}`] : [])];
      if (bad.length > 0) differences.push(`${id} turn ${index + 1} (${bad.join(', ')}): ${one.user.slice(0, 200)}`);
    });
  }
  return {
    turns,
    slotF1: (2 * right) / Math.max(1, 2 * right + 2 * wrong),
    joint: joint / Math.max(1, turns),
    intent: intents.filter(Boolean).length / Math.max(1, intents.length),
    differences,
  };
}
