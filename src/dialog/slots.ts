import type { Budget, GpuMention, Intent, SlotChange, SlotName, Slots } from '../understanding/understanding.ts';

/** The question that a slot belongs to: height and width are one question. */
export type RequiredSlot = 'model' | 'imageHeight' | 'batchSize' | 'budget';

/** Networks that are built on whichever backbone the person picks; the others bring their own. */
const HEADS_ON_ANY_BACKBONE: ReadonlySet<string> = new Set([
  'ann', 'apcnet', 'ccnet', 'danet', 'deeplabv3', 'deeplabv3plus', 'dmnet', 'dnlnet', 'emanet', 'encnet', 'fastfcn', 'fcn',
  'fpn', 'gcnet', 'isanet', 'knet', 'linknet', 'manet', 'mask2former', 'maskformer', 'maskrcnn', 'nonlocal', 'ocrnet',
  'oneformer', 'pan', 'panoptic-fpn', 'pointrend', 'psanet', 'pspnet', 'semantic-fpn', 'unet', 'unetplusplus', 'upernet',
]); // biome-ignore format: one list
/** Networks whose positions are learned for one input size: nothing to ask. */
const FIXED_INPUT: ReadonlySet<string> = new Set(['sam', 'swin-unet', 'transunet']);
/** Backbones that belong to one network and do not carry over to another. */
const TIED_BACKBONE = /^(mit|mscan|stdc|hrnet)/;

const NEEDS: Readonly<Record<Intent, readonly RequiredSlot[]>> = {
  size: ['model', 'imageHeight', 'batchSize', 'budget'],
  what_if: ['model', 'imageHeight', 'batchSize', 'budget'],
  fits: ['model', 'imageHeight', 'batchSize'],
  compare: ['model', 'imageHeight', 'batchSize'],
  price: ['model', 'imageHeight', 'batchSize'],
  max_batch: ['model', 'imageHeight'],
  max_size: ['model', 'batchSize'],
  oom_report: ['model', 'imageHeight', 'batchSize'],
  translate: ['batchSize'],
  measurement: ['model', 'imageHeight', 'batchSize'],
  undo: [],
  help: [],
  reset: [],
  greeting: [],
  unknown: [],
};

/** Slots that an intent needs, in the order in which they are asked. Who names a card has chosen: no budget is asked. */
export function requiredSlots(intent: Intent, { model, gpu }: Slots): readonly RequiredSlot[] {
  const needed = gpu === undefined ? NEEDS[intent] : NEEDS[intent].filter((slot) => slot !== 'budget');
  return model !== undefined && FIXED_INPUT.has(model) ? needed.filter((slot) => slot !== 'imageHeight') : needed;
}

export function isFilled(slots: Slots, slot: SlotName): boolean {
  return slots[slot] !== undefined;
}

/** Cards named in the conversation, as a list. */
export function namedGpus(slots: Slots): readonly GpuMention[] {
  if (slots.gpu === undefined) return [];
  return isMentionList(slots.gpu) ? slots.gpu : [slots.gpu];
}

/** Cards whose price is meant: with a run at hand, an own card or a bare memory size asks what the run costs. */
export function pricedGpus(slots: Slots): readonly GpuMention[] {
  if (slots.model === undefined) return namedGpus(slots);
  if (slots.owned === true) return [];
  return namedGpus(slots).filter(({ name, instance, family }) => (name ?? instance ?? family) !== undefined);
}

function isMentionList(gpu: GpuMention | readonly GpuMention[]): gpu is readonly GpuMention[] {
  return Array.isArray(gpu);
}

/** Slots after a message: what it says replaces what was held, and takes along what no longer belongs to it. */
export function mergeSlots(held: Slots, said: Slots): Slots {
  const kept = withoutRefused(without(held, outdatedBy(held, said)), said.avoid ?? []);
  const merged = { ...kept, ...said };
  const avoid = avoided(held, said);
  const named = avoid.length === 0 ? without(merged, ['avoid']) : { ...merged, avoid };
  if (said.budget === undefined || held.budget === undefined) return named;
  return { ...named, budget: mergeBudget(held.budget, said.budget) };
}

/** A card that is refused is not asked about any more. */
function withoutRefused(held: Slots, refused: readonly string[]): Slots {
  const named = namedGpus(held);
  if (refused.length === 0 || named.length === 0) return held;
  const [first, ...others] = named.filter(({ name }) => name === undefined || !refused.includes(name));
  if (first === undefined) return without(held, ['gpu', 'owned']);
  return 1 + others.length === named.length ? held : { ...held, gpu: others.length === 0 ? first : [first, ...others] };
}

/** Cards that were refused, until one of them is asked about after all. */
function avoided(held: Slots, said: Slots): readonly string[] {
  const wanted = new Set(namedGpus(said).map(({ name }) => name));
  return [...new Set([...(held.avoid ?? []), ...(said.avoid ?? [])])].filter((name) => !wanted.has(name));
}

function mergeBudget(held: Budget, said: Budget): Budget {
  return said.period === undefined && held.period !== undefined ? { ...said, period: held.period } : said;
}

function outdatedBy(held: Slots, said: Slots): readonly SlotName[] {
  const outdated: SlotName[] = [];
  const otherModel = said.model !== undefined && held.model !== undefined && said.model !== held.model;
  const otherBackbone = said.backbone !== undefined && held.backbone !== undefined && said.backbone !== held.backbone;
  if (otherModel) outdated.push('implementation', 'outputStride', 'auxiliaryHead', 'baseChannels');
  if (otherModel && !carriesBackbone(said.model, held.backbone)) outdated.push('backbone');
  if (otherModel || otherBackbone || said.implementation !== undefined) outdated.push('modelText');
  if (said.gpu !== undefined) outdated.push('owned');
  if (said.epochs !== undefined) outdated.push('iterations');
  if (said.iterations !== undefined) outdated.push('epochs');
  return outdated;
}

function carriesBackbone(model: string | undefined, backbone: string | undefined): boolean {
  if (model === undefined || backbone === undefined) return false;
  return HEADS_ON_ANY_BACKBONE.has(model) && !TIED_BACKBONE.test(backbone);
}

/** Relative changes and clearings of a message, applied to what is held after its plain values. */
export function applyChanges(slots: Slots, changes: readonly SlotChange[]): Slots {
  return changes.reduce(applyChange, slots);
}

function applyChange(slots: Slots, change: SlotChange): Slots {
  if ('clear' in change) return without(slots, clearedWith(change.slot));
  if ('swap' in change) return swapSides(slots);
  switch (change.slot) {
    case 'batchSize':
      return slots.batchSize === undefined ? slots : { ...slots, batchSize: scaled(slots.batchSize, change.multiply) };
    case 'gpus':
      return { ...slots, gpus: scaled(slots.gpus ?? 1, change.multiply) };
    case 'imageSize':
      return scaleImage(slots, change.multiply);
    case 'budget':
      return slots.budget === undefined ? slots : { ...slots, budget: scaleBudget(slots.budget, change.multiply) };
  }
}

function clearedWith(slot: SlotName): readonly SlotName[] {
  switch (slot) {
    case 'model':
      return ['model', 'backbone', 'implementation', 'modelText', 'outputStride', 'auxiliaryHead', 'baseChannels'];
    case 'imageHeight':
    case 'imageWidth':
      return ['imageHeight', 'imageWidth'];
    case 'batchSize':
      return ['batchSize', 'batchScope'];
    case 'gpu':
      return ['gpu', 'owned'];
    default:
      return [slot];
  }
}

function swapSides({ imageHeight, imageWidth, ...rest }: Slots): Slots {
  return {
    ...rest,
    ...(imageWidth === undefined ? {} : { imageHeight: imageWidth }),
    ...(imageHeight === undefined ? {} : { imageWidth: imageHeight }),
  };
}

function scaleImage(slots: Slots, factor: number): Slots {
  const { imageHeight, imageWidth } = slots;
  return {
    ...slots,
    ...(imageHeight === undefined ? {} : { imageHeight: scaled(imageHeight, factor) }),
    ...(imageWidth === undefined ? {} : { imageWidth: scaled(imageWidth, factor) }),
  };
}

function scaleBudget(budget: Budget, factor: number): Budget {
  return { ...budget, amount: Math.round(budget.amount * factor * 100) / 100 };
}

function scaled(value: number, factor: number): number {
  return Math.max(1, Math.round(value * factor));
}

/** Slots less some of them. */
export function without(slots: Slots, names: readonly SlotName[]): Slots {
  const dropped: ReadonlySet<string> = new Set(names);
  return Object.fromEntries(Object.entries(slots).filter(([name]) => !dropped.has(name)));
}
