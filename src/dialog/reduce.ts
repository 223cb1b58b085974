import type { Locale } from '../message.ts';
import type { Ambiguity, Intent, SlotName, Slots, Understanding } from '../understanding/understanding.ts';
import type { DialogState, Step } from './dialog-state.ts';
import { applyChanges, mergeSlots, namedGpus, without } from './slots.ts';

/** Steps that undo can go back. */
const MAX_HISTORY = 10;

/** Intents that are served until another one comes; the rest are asides. */
const SERVED: ReadonlySet<Intent> = new Set([
  'size',
  'fits',
  'max_batch',
  'max_size',
  'compare',
  'price',
  'oom_report',
  'translate',
]);

export function initialState(locale: Locale): DialogState {
  return {
    schema: 1,
    locale,
    slots: {},
    asked: null,
    attempts: 0,
    waived: [],
    intent: null,
    answered: false,
    history: [],
    estimateCode: null,
  };
}

/** What is known after a message. Which action follows is the policy's choice. */
export function reduceDialog(state: DialogState, understanding: Understanding): DialogState {
  const heard = { ...state, locale: understanding.locale };
  switch (understanding.intent) {
    case 'reset':
      return { ...initialState(understanding.locale), history: remember(state) };
    case 'undo':
      return undo(heard);
    default:
      return merge(understanding.startsAfresh ? startAfresh(heard) : settled(heard, understanding), understanding);
  }
}

function merge(state: DialogState, understanding: Understanding): DialogState {
  const heard = state.asked === 'gpu' ? asOwned(understanding.slots) : understanding.slots;
  const said = besideCompared(state, understanding, heard);
  const slots = applyChanges(mergeSlots(state.slots, said), understanding.changes);
  const intent = servedIntent(state, understanding, slots);
  const networks = intent === 'compare' ? comparedNow(state, understanding) : {};
  const changed = !sameSlots(slots, state.slots) || (networks.compared ?? state.compared) !== state.compared;
  const { compared: _before, otherVersion: _held, ...rest } = state;
  return {
    ...rest,
    ...versionNow(state, understanding),
    slots,
    waived: waivedAfter(state, understanding, slots),
    intent,
    history: changed ? remember(state) : state.history,
    ...failureIn(understanding),
    ...networks,
  };
}

const OF_NETWORK: readonly SlotName[] = ['model', 'backbone', 'implementation', 'modelText', 'outputStride'];

/** A network that is named anew stands as published, unless its name says otherwise. */
function versionNow(state: DialogState, { otherVersion, slots }: Understanding): Pick<DialogState, 'otherVersion'> {
  const held = slots.model === undefined && slots.backbone === undefined ? state.otherVersion : undefined;
  const version = otherVersion ?? held;
  return version === undefined ? {} : { otherVersion: version };
}

/** "加上 L20", "add deeplabv3+": one more of what is compared, nothing in its place. */
function besideCompared(state: DialogState, { added }: Understanding, said: Slots): Slots {
  if (added === null || state.intent !== 'compare') return said;
  if (added.length > 0 && state.compared !== undefined) return without(said, OF_NETWORK);
  const [held, more] = [namedGpus(state.slots), namedGpus(said)];
  const others = more.filter((card) => !held.some((one) => JSON.stringify(one) === JSON.stringify(card)));
  return held.length > 1 && more.length > 0 ? { ...said, gpu: [...held, ...others] } : said;
}

/** What every network of a comparison is sized for. */
const OF_THE_RUN: ReadonlySet<string> = new Set([
  'imageHeight',
  'imageWidth',
  'batchSize',
  'batchScope',
  'gpus',
  'gpu',
  'owned',
  'precision',
  'numClasses',
  'inputChannels',
  'optimizer',
  'loss',
  'dataset',
  'attention',
  'gradientCheckpointing',
]);

/** Networks of a comparison wait for the questions that it needs and stay for other figures of the run; cards are held as slots. */
function comparedNow(state: DialogState, understanding: Understanding): Pick<DialogState, 'compared'> {
  const { compare, slots, changes, added } = understanding;
  if (added !== null && added.length > 0 && state.compared !== undefined)
    return { compared: [...new Set([...state.compared, ...added])] };
  const networks = compare.length > 1 && namedGpus(slots).length < 2 ? compare : undefined;
  const names = [...Object.keys(slots), ...changes.map(({ slot }) => (slot === 'imageSize' ? 'imageHeight' : slot))];
  // "batch 8 呢" asks for both again
  const again = names.length > 0 && names.every((name) => OF_THE_RUN.has(name));
  const waits = slots.model === undefined && (state.asked !== null || again);
  const waiting = waits ? state.compared : undefined;
  const compared = networks ?? waiting;
  return compared === undefined ? {} : { compared };
}

/** Whether a message settles what it was asked to choose from. */
function isChosen(choice: Ambiguity, state: DialogState, { slots, changes, acceptsDefault }: Understanding): boolean {
  // a size without its family ("b5") may turn out to be a backbone's
  const backbone = choice.slot === 'model' && state.slots.model === undefined && slots.backbone !== undefined;
  const open = acceptsDefault && choice.slot === 'budget';
  return slots[choice.slot] !== undefined || backbone || open || changes.some(({ slot }) => slot === choice.slot);
}

function settled(state: DialogState, understanding: Understanding): DialogState {
  return state.choice !== undefined && isChosen(state.choice, state, understanding) ? withoutChoice(state) : state;
}

function withoutChoice({ choice: _settled, ...state }: DialogState): DialogState {
  return state;
}

/** A failure waits for its workload; once answered, only a new one is about it again. */
function failureIn({ artifact, intents }: Understanding): Pick<DialogState, 'failure'> {
  if (artifact === null || !intents.includes('oom_report')) return {};
  const { gpus: _processes, ...figures } = artifact;
  return { failure: figures };
}

/** The bot asks for a card only when the person wants an own one judged. */
function asOwned(said: Slots): Slots {
  return said.gpu === undefined || said.owned !== undefined ? said : { ...said, owned: true };
}

function waivedAfter(state: DialogState, understanding: Understanding, slots: Slots): readonly SlotName[] {
  const waived = new Set(state.waived);
  if (understanding.acceptsDefault && state.asked !== null) waived.add(state.asked);
  if (understanding.changes.some((change) => 'clear' in change && change.slot === 'budget')) waived.add('budget');
  return [...waived].filter((slot) => slots[slot] === undefined);
}

export function isServed(intent: Intent): boolean {
  return SERVED.has(intent);
}

/** What goes on being served. A price asked in between is an aside, a follow-up button changes nothing. */
function servedIntent(state: DialogState, understanding: Understanding, slots: Slots): Intent | null {
  const current = state.intent === 'price' && slots.model !== undefined ? 'size' : state.intent;
  if (understanding.command !== null) return current ?? 'size';
  const served = understanding.intents.find(isServed);
  const aside = served === 'price' && current !== null;
  if (served !== undefined && !aside) return served;
  // what is changed after the explanation of a failure asks what the changed run needs
  if (current === 'oom_report' && state.answered) return 'size';
  return understanding.intents.includes('what_if') ? (current ?? 'size') : current;
}

function startAfresh(state: DialogState): DialogState {
  return { ...initialState(state.locale), history: remember(state) };
}

function undo(state: DialogState): DialogState {
  const previous = state.history.at(-1);
  if (previous === undefined) return state;
  const { compared: _compared, otherVersion: _version, ...rest } = withoutChoice(state);
  return {
    ...rest,
    ...previous,
    intent: previous.intent ?? state.intent,
    history: state.history.slice(0, -1),
    asked: null,
    attempts: 0,
  };
}

function remember({ slots, intent, compared, otherVersion, history }: DialogState): readonly Step[] {
  if (Object.keys(slots).length === 0) return history;
  const step: Step = {
    slots,
    intent,
    ...(compared === undefined ? {} : { compared }),
    ...(otherVersion === undefined ? {} : { otherVersion }),
  };
  return [...history, step].slice(-MAX_HISTORY);
}

function sameSlots(left: Slots, right: Slots): boolean {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

function sorted(slots: Slots): readonly [string, unknown][] {
  return Object.entries(slots).sort(([left], [right]) => (left < right ? -1 : 1));
}
