import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { takeTurn } from '../../src/dialog/policy.ts';
import { initialState } from '../../src/dialog/reduce.ts';
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
  added: null,
  otherVersion: null,
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

/** The states and actions of a conversation of understood messages. */
export function talk(...messages: readonly Partial<Understanding>[]) {
  const turns = [];
  let state: DialogState = initialState('en');
  for (const message of messages) {
    const turn = takeTurn(state, heard(message));
    turns.push(turn);
    state = turn.state;
  }
  const last = turns.at(-1);
  if (last === undefined) throw new Error('nothing was said');
  return { turns, last, asked: turns.map((turn) => turn.state.asked), action: last.action };
}
