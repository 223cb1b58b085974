import type { Estimate } from '../estimator/estimate-result.ts';
import type { Slots } from '../understanding/understanding.ts';
import type { Facts, ModelFigure } from './facts.ts';
import type { Words } from './messages/index.ts';
import type { Choice } from './reply.ts';

/** The usual next questions after a figure, the most useful first. */
export function nextChoices(estimate: Estimate, facts: Facts, words: Words): readonly Choice[] {
  const { choices, say } = words.answer;
  const { precision, batchSize, gradientCheckpointing } = estimate.workload;
  const fp32 = precision === 'fp32';
  const library = facts.libraries?.[0];
  return [
    fp32 ? { label: choices.ampOn, say: say.ampOn, primary: true } : { label: choices.ampOff, say: say.ampOff },
    ...(holdsDouble(batchSize, facts) ? [{ label: choices.batch(batchSize * 2), say: say.batch(batchSize * 2) }] : []),
    { label: choices.order, say: say.order },
    ...(library === undefined
      ? []
      : [
          { label: shortLabel(choices.library(words.answer.shortLibraries[library.implementation])), say: library.say },
        ]),
    { label: choices.otherBudget, say: say.otherBudget },
    { label: choices.ownCard, say: say.ownCard },
    ...(batchSize > 1
      ? [{ label: choices.batch(Math.floor(batchSize / 2)), say: say.batch(Math.floor(batchSize / 2)) }]
      : []),
    ...(gradientCheckpointing || !canCheckpoint(facts)
      ? []
      : [{ label: choices.checkpointing, say: say.checkpointing }]),
    { label: choices.details, say: say.details },
  ];
}

/** Networks beside each other: one of them is taken, the lightest first. */
export function modelChoices(models: readonly ModelFigure[], words: Words): readonly Choice[] {
  return models
    .toSorted((left, right) => left.allocatedBytes - right.allocatedBytes)
    .map(({ label }) => ({ label: shortLabel(label), say: words.answer.say.take(label) }));
}

/** A larger batch is no useful next question where it would not fit as it is. */
function holdsDouble(batchSize: number, { recommendation }: Facts): boolean {
  const maximum = recommendation?.maxBatch;
  return maximum == null || (maximum.changes.length === 0 && maximum.batchPerGpu >= batchSize * 2);
}

/** The tip stands only where the library can do it and it helps. */
function canCheckpoint({ recommendation }: Facts): boolean {
  return recommendation?.tips.some(({ id }) => id === 'checkpointing') === true;
}

/** Tappable answers to the question for a slot. */
export function slotChoices(slot: string, attempt: number, words: Words): readonly Choice[] {
  const { say, choices } = words.answer;
  const fallback = attempt >= 3 ? [{ label: choices.defaultValue, say: say.defaultValue, primary: true }] : [];
  return [...fallback, ...offered(slot, words)];
}

function offered(slot: string, words: Words): readonly Choice[] {
  const { say, choices } = words.answer;
  switch (slot) {
    case 'model':
      return ['DeepLabV3+ ResNet-50', 'SegFormer B2', 'U-Net', 'UPerNet Swin-T'].map((model) => ({
        label: model,
        say: model,
      }));
    case 'imageHeight':
    case 'imageWidth':
      return [512, 1024].map((side) => ({ label: say.size(side), say: say.size(side) }));
    case 'batchSize':
      return [2, 4, 8, 16].map((batch) => ({ label: choices.batch(batch), say: say.batch(batch) }));
    case 'gpu':
      return ['RTX 3090', 'RTX 4090', 'A10'].map((card) => ({ label: card, say: card }));
    case 'budget':
      return [
        ...[10, 20].map((amount) => ({ label: `¥${amount}${words.answer.period.hour}`, say: say.budgetHour(amount) })),
        { label: `¥5000${words.answer.period.month}`, say: say.budgetMonth(5000) },
        { label: choices.noLimit, say: say.noLimit },
      ];
    default:
      return [{ label: choices.defaultValue, say: say.defaultValue }];
  }
}

/** What a conversation holds, as one line of plain words that could be typed again. */
export function slotsText(slots: Slots): string {
  const parts = [
    slots.modelText ?? [slots.model, slots.backbone].filter((part) => part !== undefined).join(' '),
    slots.imageHeight === undefined ? '' : `${slots.imageHeight}x${slots.imageWidth ?? slots.imageHeight}`,
    slots.batchSize === undefined ? '' : `batch ${slots.batchSize}${slots.batchScope === 'total' ? ' total' : ''}`,
    slots.gpus === undefined ? '' : `${slots.gpus} GPU`,
    slots.precision ?? '',
    slots.budget === undefined
      ? ''
      : `${slots.budget.amount} ${slots.budget.currency}/${slots.budget.period ?? 'hour'}`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

const MAX_LABEL = 20;

function shortLabel(label: string): string {
  return label.length <= MAX_LABEL ? label : `${label.slice(0, MAX_LABEL - 1)}…`;
}
