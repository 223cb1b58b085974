import type { Intent, SlotName, Understanding } from '../understanding/understanding.ts';
import type { DialogAction, DialogState, Turn } from './dialog-state.ts';
import { isServed, reduceDialog } from './reduce.ts';
import { isFilled, pricedGpus, requiredSlots } from './slots.ts';

/** Workloads that the estimator has no networks for: no figure is given, whatever else was said. */
const NOT_ESTIMATED: ReadonlySet<string> = new Set(['inference', 'llm', '3d', 'detection']);

/** One turn: what is known afterwards and what to do about it. */
export function takeTurn(before: DialogState, understanding: Understanding): Turn {
  const reduced = reduceDialog(before, understanding);
  const action = chooseAction(before, reduced, understanding);
  return { state: afterAction(before, reduced, action, understanding), action, understanding };
}

function chooseAction(before: DialogState, state: DialogState, understanding: Understanding): DialogAction {
  const { intent, ambiguities, outOfScope } = understanding;
  switch (intent) {
    case 'reset':
      return { kind: 'Close', reason: 'reset' };
    case 'undo':
      return { kind: 'Close', reason: before.history.length === 0 ? 'nothing-to-undo' : 'undo' };
    case 'help':
      return { kind: 'Help' };
    case 'greeting':
      return { kind: 'Greet' };
    default:
  }
  const refused = outOfScope.find((topic) => NOT_ESTIMATED.has(topic));
  if (refused !== undefined) return { kind: 'Decline', topic: refused };
  const [ambiguity] = ambiguities;
  if (ambiguity !== undefined) return { kind: 'ConfirmSlot', ambiguity, attempt: 1 };
  const followUp = followUpAction(before, state, understanding);
  if (followUp !== null) return followUp;
  const asking = before.asked !== null && outOfScope.length === 0;
  if (intent === 'unknown' && !saysSomething(understanding) && !asking) {
    return { kind: 'Decline', topic: outOfScope[0] ?? 'unclear' };
  }
  return answerOrAsk(before, state, understanding);
}

function answerOrAsk(before: DialogState, state: DialogState, understanding: Understanding): DialogAction {
  const intent = intentOfTurn(state, understanding);
  if (answersWithoutWorkload(intent, state, understanding)) return { kind: 'Answer', intent };
  const { choice } = state;
  if (choice !== undefined) {
    const again = before.asked === choice.slot;
    return { kind: 'ConfirmSlot', ambiguity: choice, attempt: again ? before.attempts + 1 : 1 };
  }
  const slot = nextMissing(before, state, intent);
  if (slot === null || passesOverBudget(before, slot, understanding)) return { kind: 'Answer', intent };
  const progressed = Object.keys(understanding.slots).length > 0 || understanding.changes.length > 0;
  // who asks why is told the reason once more
  const again = before.asked === slot && !progressed && understanding.command !== 'explain';
  return { kind: 'ElicitSlot', slot, attempt: again ? before.attempts + 1 : 1 };
}

/** What a button stands for that carries no value itself. */
function followUpAction(before: DialogState, state: DialogState, { command }: Understanding): DialogAction | null {
  switch (command) {
    case null:
      return null;
    case 'change-budget':
      return state.slots.budget === before.slots.budget ? { kind: 'ElicitSlot', slot: 'budget', attempt: 2 } : null;
    case 'own-card':
      return state.slots.gpu === before.slots.gpu ? { kind: 'ElicitSlot', slot: 'gpu', attempt: 1 } : null;
    default:
      return before.answered ? { kind: 'Answer', intent: state.intent ?? 'size' } : null;
  }
}

/** Asked for a budget, the person goes on with something else: the answer needs none, so it comes without. */
function passesOverBudget(before: DialogState, slot: SlotName, { slots, changes, command }: Understanding): boolean {
  const goesOn = Object.keys(slots).length > 0 || changes.length > 0;
  // the question came with the figures, so what follows may be about them; "why" is about the question
  const aboutFigures = command !== null && command !== 'explain';
  return slot === 'budget' && before.asked === 'budget' && (goesOn || aboutFigures);
}

/** An aside is answered as what it is, although another intent goes on being served. */
function intentOfTurn(state: DialogState, { intents }: Understanding): Intent {
  if (intents.includes('measurement')) return 'measurement';
  return intents.find(isServed) ?? state.intent ?? 'size';
}

/** Questions that the catalogue or the pasted text answers alone. */
function answersWithoutWorkload(intent: Intent, state: DialogState, understanding: Understanding): boolean {
  switch (intent) {
    case 'price':
      return pricedGpus(state.slots).length > 0;
    case 'oom_report':
      return understanding.artifact !== null || understanding.toldDiagnosis !== null;
    case 'translate':
      return state.slots.batchSize !== undefined && state.slots.gpus !== undefined;
    case 'measurement':
      return understanding.artifact !== null && !state.answered;
    default:
      return isOnlyBelief(understanding);
  }
}

/** A claim about cards or prices, and nothing to size. */
export function isOnlyBelief({ beliefs, slots, changes }: Understanding): boolean {
  const said = Object.keys(slots).filter((name) => name !== 'gpu' && name !== 'precision' && name !== 'owned');
  return beliefs.length > 0 && said.length === 0 && changes.length === 0;
}

/** The next slot to ask for. After the first answer a missing budget is no reason to ask again. */
export function nextMissing(before: DialogState, state: DialogState, intent: Intent): SlotName | null {
  const missing = requiredSlots(intent, state.slots).find(
    (slot) => !isFilled(state.slots, slot) && !state.waived.includes(slot),
  );
  if (missing === undefined || (missing === 'budget' && before.answered)) return null;
  return missing;
}

function saysSomething(understanding: Understanding): boolean {
  return (
    Object.keys(understanding.slots).length > 0 ||
    understanding.changes.length > 0 ||
    understanding.acceptsDefault ||
    understanding.artifact !== null ||
    understanding.beliefs.length > 0 ||
    understanding.unknownNames.length > 0
  );
}

function afterAction(
  before: DialogState,
  state: DialogState,
  action: DialogAction,
  understanding: Understanding,
): DialogState {
  switch (action.kind) {
    case 'ElicitSlot':
      return { ...state, asked: action.slot, attempts: action.attempt };
    case 'ConfirmSlot':
      return { ...state, asked: action.ambiguity.slot, attempts: action.attempt, choice: action.ambiguity };
    case 'Answer':
      return afterAnswer(before, state, { intent: action.intent, understanding });
    default:
      return state;
  }
}

/** An answer that had to do without the workload keeps asking for what would complete it. */
function afterAnswer(
  before: DialogState,
  state: DialogState,
  { intent, understanding }: { intent: Intent; understanding: Understanding },
): DialogState {
  if (intent === 'oom_report' || intent === 'measurement') {
    const missing = nextMissing(before, state, intent);
    if (missing !== null) return { ...state, asked: missing, attempts: 1 };
  }
  const claim = isOnlyBelief(understanding);
  const aside = claim || (intent === 'price' && pricedGpus(state.slots).length > 0);
  const { asked, attempts } = before;
  if (aside && asked !== null && (state.choice !== undefined || !isFilled(state.slots, asked))) {
    return { ...state, asked, attempts };
  }
  const next = claim && !before.answered ? nextMissing(before, state, 'size') : null;
  if (next !== null) return { ...state, asked: next, attempts: 1 };
  const complete = !aside && state.slots.model !== undefined;
  return { ...state, asked: null, attempts: 0, answered: state.answered || complete };
}
