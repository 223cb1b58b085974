import type { Understanding } from '../../src/understanding/understanding.ts';

const nothing: Understanding = {
  locale: 'en',
  intent: 'size',
  intents: ['size'],
  slots: {},
  changes: [],
  artifact: null,
  toldDiagnosis: null,
  ambiguities: [],
  beliefs: [],
  outOfScope: [],
  acceptsDefault: false,
  leftOpen: null,
  startsAfresh: false,
  measured: null,
  compare: [],
  unknownNames: [],
  alternatives: [],
  pricedHours: null,
  command: null,
  recipe: null,
  keepsTotal: false,
};

/** What a message was understood to say: everything that is not given was not said. */
export function heard(said: Partial<Understanding>): Understanding {
  const intents = said.intents ?? (said.intent === undefined ? ['size' as const] : [said.intent]);
  return { ...nothing, ...said, intents, intent: said.intent ?? intents[0] ?? 'unknown' };
}
