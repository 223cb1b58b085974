import type { Slots } from '../understanding/understanding.ts';

/** Slots as the text fields of a form: what a person would type there. */
export function prefillFields(slots: Slots): Readonly<Record<string, string>> {
  const { modelText, model, backbone, imageHeight, imageWidth, batchSize, budget } = slots;
  const name = modelText ?? [model, backbone].filter((part) => part !== undefined).join(' ');
  return {
    ...(name === '' ? {} : { model: name }),
    ...(imageHeight === undefined ? {} : { size: `${imageHeight}x${imageWidth ?? imageHeight}` }),
    ...(batchSize === undefined ? {} : { batch: String(batchSize) }),
    ...(budget === undefined ? {} : { budget: `${budget.amount} ${budget.currency}/${budget.period ?? 'hour'}` }),
  };
}
