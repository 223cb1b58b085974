import { compareMeasured } from '../advice/measurement.ts';
import { recommend } from '../advice/recommend.ts';
import type { Fit, Recommendation } from '../advice/recommendation.ts';
import type { DialogAction, DialogState, Turn } from '../dialog/dialog-state.ts';
import { namedGpus } from '../dialog/slots.ts';
import { AppError } from '../errors.ts';
import type { Facts, Problem } from '../reply/facts.ts';
import type { Intent } from '../understanding/understanding.ts';
import { type SlotWorkload, workloadFromSlots } from '../workload/from-slots.ts';
import { factsFor } from './beliefs.ts';
import { otherLibraries } from './libraries.ts';
import { maximaOf } from './maxima.ts';
import { type AnswerPorts, advicePorts } from './ports.ts';
import { priceFacts } from './prices.ts';
import { recipeFacts } from './recipe.ts';
import { requestFromSlots } from './request.ts';

/** Everything that has to be computed for the reply to this turn. What cannot be becomes a problem with a next step. */
export function gatherFacts(before: DialogState, turn: Turn, ports: AnswerPorts): Facts {
  const corrected = factsFor(turn.understanding.beliefs, ports.catalog);
  try {
    return { ...factsOf(before, turn, ports), ...(corrected.length === 0 ? {} : { beliefs: corrected }) };
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') return { problem: problemOf(error) };
    throw error;
  }
}

/** Details as texts, ready for a sentence. */
export function problemOf({ code, details }: AppError): Problem {
  const texts = Object.entries(details).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : String(value),
  ]);
  return { code, details: Object.fromEntries(texts) };
}

function factsOf(before: DialogState, turn: Turn, ports: AnswerPorts): Facts {
  const { action, state } = turn;
  switch (action.kind) {
    case 'ElicitSlot':
      return questionFacts(action, state, ports);
    case 'Answer':
      return answerFacts(before, { turn, intent: action.intent }, ports);
    case 'Close':
      return action.reason === 'undo' && state.answered ? recommendationFacts(state, ports) : {};
    default:
      return {};
  }
}

/** A name that nobody knows is said at once, not after three more questions. */
function questionFacts(
  action: Extract<DialogAction, { kind: 'ElicitSlot' }>,
  state: DialogState,
  ports: AnswerPorts,
): Facts {
  if (action.slot === 'budget') return recommendationFacts(state, ports);
  if (state.slots.model !== undefined) workloadFromSlots(state.slots, ports.catalog);
  return {};
}

function answerFacts(before: DialogState, { turn, intent }: { turn: Turn; intent: Intent }, ports: AnswerPorts): Facts {
  const { slots } = turn.state;
  const unknown = unknownGpus(turn, ports);
  if (intent === 'price' && namedGpus(slots).length > 0) return { ...unknown, prices: priceFacts(slots, ports) };
  if (intent === 'translate') {
    const recipe = recipeFacts(slots, before.slots);
    if (recipe !== null) return { recipe };
  }
  if (turn.state.asked !== null || slots.model === undefined) return unknown;
  const built = workloadFromSlots(slots, ports.catalog);
  const facts = { ...unknown, ...recommendationOf(turn.state, built, ports) };
  const { recommendation } = facts;
  if (intent === 'max_batch' || intent === 'max_size') {
    const what = intent === 'max_batch' ? 'batch' : 'size';
    return { ...facts, maxima: maximaOf({ what, workload: built.workload, slots, recommendation }, ports) };
  }
  const { measured } = turn.understanding;
  if (intent !== 'measurement' || measured === null) return facts;
  const secondsPerIteration = measuredCard(recommendation)?.secondsPerIteration ?? null;
  const comparisons = compareMeasured(measured, { estimate: recommendation.estimate, secondsPerIteration });
  return { ...facts, comparisons };
}

/** The card that a measurement was most likely taken on. */
export function measuredCard({ own, named, recommended }: Recommendation): Fit | null {
  return own ?? named[0] ?? recommended;
}

function recommendationFacts(state: DialogState, ports: AnswerPorts): Facts {
  if (state.slots.model === undefined) return {};
  return recommendationOf(state, workloadFromSlots(state.slots, ports.catalog), ports);
}

function recommendationOf({ slots }: DialogState, built: SlotWorkload, ports: AnswerPorts) {
  const recommendation = recommend(requestFromSlots(slots, built, ports.region), advicePorts(ports));
  const estimate = { ...recommendation.estimate, assumed: built.assumed };
  const libraries = slots.implementation === undefined ? otherLibraries(estimate, built.alternatives, ports) : [];
  return { recommendation: { ...recommendation, estimate }, libraries };
}

function unknownGpus({ state }: Turn, { catalog }: AnswerPorts): Pick<Facts, 'unknownGpus'> {
  const unknown = namedGpus(state.slots).filter(
    ({ name, memoryGiB }) => name !== undefined && memoryGiB === undefined && catalog.findGpu(name) === undefined,
  );
  return unknown.length === 0 ? {} : { unknownGpus: unknown.map(({ name }) => name ?? '') };
}
