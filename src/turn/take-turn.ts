import type { DialogState, Turn } from '../dialog/dialog-state.ts';
import { takeTurn } from '../dialog/policy.ts';
import { mergeSlots, without } from '../dialog/slots.ts';
import { slotNames } from '../dialog/state-schema.ts';
import { composeReply } from '../reply/compose.ts';
import type { Facts, Problem } from '../reply/facts.ts';
import { slotsOfRule } from '../reply/refusals.ts';
import type { Reply } from '../reply/reply.ts';
import { understand } from '../understanding/understand.ts';
import type { SlotName, Understanding, UnderstandingContext } from '../understanding/understanding.ts';
import { gatherFacts } from './facts.ts';
import { allocatedBytes } from './models.ts';
import type { AnswerPorts } from './ports.ts';
import { withTakenDefaults } from './taken-defaults.ts';

export interface DecidedTurn {
  readonly state: DialogState;
  readonly understanding: Understanding;
  readonly facts: Facts;
  /** Writes the reply; the code of the estimate is known only to whoever stores it. */
  readonly compose: (estimateCode: string | null) => Reply;
  /** Whether the turn answers with an estimate, which then gets a code. */
  readonly isEstimate: boolean;
}

/** Understand → decide → compute. Pure: the caller stores the state. */
export function decideTurn(before: DialogState, text: string, ports: AnswerPorts): DecidedTurn {
  const understanding = understand(text, heardIn(before), ports.catalog);
  const turn = takeTurn(withTakenDefaults(before, understanding.changes, ports.catalog), understanding);
  const gathered = gatherFacts(before, turn, ports);
  const facts = { ...gathered, ...otherNeeds(turn, gathered, ports) };
  const state = afterFacts(before, turn.state, facts);
  const isEstimate = turn.action.kind === 'Answer' && facts.recommendation !== undefined && facts.problem === undefined;
  const compose = (estimateCode: string | null): Reply =>
    composeReply({ turn: { ...turn, state }, facts, estimateCode });
  return { state, understanding, facts, compose, isEstimate };
}

/** On the third try a question names its default. */
const OFFER = 3;

/** What a message is read beside. */
export function heardIn(state: DialogState): UnderstandingContext {
  const { slots: held, asked, answered, intent: lastIntent, locale, attempts, choice } = state;
  const open = { offered: asked !== null && attempts >= OFFER, ...(choice === undefined ? {} : { choice }) };
  return { held, asked, answered, lastIntent, locale, ...open };
}

/** A turn of a conversation that nobody stores. */
export function takeConversationTurn(before: DialogState, text: string, ports: AnswerPorts) {
  const { state, understanding, compose } = decideTurn(before, text, ports);
  return { state, understanding, reply: compose(null) };
}

/** What the run needs that was left open beside the one that is answered. */
function otherNeeds(
  { state, understanding }: Turn,
  { recommendation }: Facts,
  ports: AnswerPorts,
): Pick<Facts, 'others'> {
  if (recommendation === undefined || understanding.alternatives.length === 0) return {};
  return {
    others: understanding.alternatives.map(({ other }) => {
      const { slots } = understand(other, heardIn(state), ports.catalog);
      return allocatedBytes(mergeSlots(state.slots, slots), ports);
    }),
  };
}

/** What could not be computed is asked for again. */
function afterFacts(before: DialogState, state: DialogState, { problem }: Facts): DialogState {
  if (problem === undefined) return state;
  const wrong = wrongSlots(problem, state);
  const [field] = wrong;
  const aboutModel = ['unknown-model', 'unknown-backbone', 'unsupported-combination'].includes(problem.code);
  const asked = field ?? (aboutModel ? 'model' : undefined);
  const slots = without(state.slots, wrong);
  // refused twice, it was one change
  const again = before.asked !== null && wrong.includes(before.asked);
  const history = again ? before.history : state.history;
  return {
    ...state,
    slots,
    history,
    answered: before.answered,
    ...(asked === undefined ? {} : { asked, attempts: 1 }),
  };
}

/** The slots that hold what cannot be: they are dropped, and the first one is asked for. */
function wrongSlots({ code, details }: Problem, state: DialogState): readonly SlotName[] {
  if (code === 'unsupported-combination') return slotsOfRule(details['rule'] ?? '');
  const field = code === 'out-of-range' ? slotOf(details['field'] ?? '', state) : undefined;
  return field === undefined ? [] : [field];
}

/** The slot that holds an impossible value: it is dropped and asked for. */
function slotOf(field: string, { slots }: DialogState): SlotName | undefined {
  return namesOf(slots).find((name) => name === field);
}

function namesOf(slots: DialogState['slots']): readonly SlotName[] {
  return slotNames.filter((name) => slots[name] !== undefined);
}
