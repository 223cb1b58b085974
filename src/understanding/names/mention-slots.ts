import type { Slots } from '../understanding.ts';
import type { ModelMention } from './mention.ts';

/**
 * What a mention puts into the dialog's slots. A config name's optimizer stays with the mention: it is the recipe's,
 * not something the person said, and the recipe's defaults bring it back.
 */
export function mentionSlots(mention: ModelMention): Slots {
  const { architecture, backbone, form, text } = mention;
  return {
    ...(architecture === null ? {} : { model: architecture }),
    ...(backbone === null ? {} : { backbone }),
    ...(form === 'plain' ? {} : { modelText: text }),
    ...pick(mention, SLOTS),
    ...(form === 'config' ? {} : pick(mention, ['optimizer'])),
  };
}

const SLOTS = [
  'implementation',
  'imageHeight',
  'imageWidth',
  'batchSize',
  'batchScope',
  'gpus',
  'numClasses',
  'inputChannels',
  'baseChannels',
  'precision',
  'loss',
  'outputStride',
  'auxiliaryHead',
  'attention',
  'iterations',
  'dataset',
] as const;

function pick<T extends object, K extends keyof T>(source: T, names: readonly K[]): { [N in K]?: T[N] } {
  const picked: { [N in K]?: T[N] } = {};
  for (const name of names) {
    if (source[name] !== undefined) picked[name] = source[name];
  }
  return picked;
}
