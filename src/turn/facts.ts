import { compareMeasured } from '../advice/measurement.ts';
import { recommend } from '../advice/recommend.ts';
import type { Fit, Recommendation } from '../advice/recommendation.ts';
import type { DialogAction, DialogState, Turn } from '../dialog/dialog-state.ts';
import { isOnlyBelief } from '../dialog/policy.ts';
import { namedGpus, pricedGpus } from '../dialog/slots.ts';
import { AppError } from '../errors.ts';
import type { Workload } from '../estimator/workload.ts';
import type { Facts, Problem } from '../reply/facts.ts';
import type { Intent } from '../understanding/understanding.ts';
import { type SlotWorkload, workloadFromSlots } from '../workload/from-slots.ts';
import { factsFor } from './beliefs.ts';
import { otherLibraries } from './libraries.ts';
import { maximaOf } from './maxima.ts';
import { modelFigures } from './models.ts';
import { type AnswerPorts, advicePorts } from './ports.ts';
import { lowestOffer, priceFacts } from './prices.ts';
import { recipeBefore, recipeOnCards } from './recipe.ts';
import { requestFromSlots } from './request.ts';

/** Everything that has to be computed for the reply to this turn. What cannot be becomes a problem with a next step. */
export function gatherFacts(before: DialogState, turn: Turn, ports: AnswerPorts): Facts {
  const named = [...slicesNamed(turn, ports), ...closingNamed(turn, ports)];
  const corrected = factsFor([...turn.understanding.beliefs, ...named], ports.catalog);
  const corrections = corrected.length === 0 ? {} : { beliefs: corrected };
  try {
    return { ...factsOf(before, turn, ports), ...corrections };
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') return { problem: problemOf(error), ...corrections };
    return { problem: { code: 'internal', details: {} }, failure: error, ...corrections };
  }
}

/** A family of vGPU slices was named: they are never proposed for training, and that has to be said. */
function slicesNamed({ understanding }: Turn, { catalog }: AnswerPorts): readonly string[] {
  const slices = namedGpus(understanding.slots).some(({ instance, family }) =>
    catalog.instances.some((row) => row.mode === 'vgpu' && (row.instanceType === instance || row.family === family)),
  );
  return slices ? ['vgpu-does-not-train'] : [];
}

/** A region that is being shut down was named: it is used as asked, and that has to be said. */
function closingNamed({ understanding }: Turn, { catalog }: AnswerPorts): readonly string[] {
  const { region } = understanding.slots;
  const closes = region !== undefined && catalog.prices.head.closing?.regions.includes(region) === true;
  return closes ? [`closing:${region}`] : [];
}

/** More names than a sentence can hold. */
const MOST_NAMED = 8;

/** Details as texts, ready for a sentence. */
export function problemOf({ code, details }: AppError): Problem {
  const unbuilt =
    code === 'unsupported-combination' && details['rule'] === undefined && details['architecture'] !== undefined;
  if (unbuilt) return { code: 'unknown-model', details: { name: nameOf(details) } };
  // an encoder that the library does not build is known by its own name
  const named = code === 'unknown-backbone' && details['name'] === undefined && details['backbone'] !== undefined;
  const shown = named ? { ...details, name: details['backbone'], nearest: details['known'] ?? '' } : details;
  const texts = Object.entries(shown).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.slice(0, MOST_NAMED).join(', ') : String(value),
  ]);
  return { code, details: Object.fromEntries(texts) };
}

function nameOf({ implementation, architecture, backbone }: AppError['details']): string {
  return [implementation, architecture, backbone].filter((part) => part !== undefined && part !== '').join(' ');
}

function factsOf(before: DialogState, turn: Turn, ports: AnswerPorts): Facts {
  const { action, state } = turn;
  switch (action.kind) {
    case 'ElicitSlot':
      return questionFacts(action, state, ports);
    case 'Answer':
      return answerFacts(before, { turn, intent: action.intent }, ports);
    case 'Close':
      return action.reason === 'undo' && state.answered ? againFacts(state, ports) : {};
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
  // cards beside each other: what they cost is known before the network is
  const comparesCards = action.slot === 'model' && state.intent === 'compare' && namedGpus(state.slots).length > 1;
  return comparesCards ? { prices: priceFacts(state.slots, ports) } : {};
}

interface Asked {
  readonly turn: Turn;
  readonly intent: Intent;
}

function answerFacts(before: DialogState, asked: Asked, ports: AnswerPorts): Facts {
  const { state, understanding } = asked.turn;
  const unknown = {
    ...unknownGpus(asked.turn, ports),
    ...sharedMemory(asked.turn),
    ...withoutCuda(asked.turn, ports),
  };
  const bare = factsWithoutWorkload(before, asked, ports);
  if (bare !== null) return { ...unknown, ...bare };
  if (state.asked !== null || state.slots.model === undefined || isOnlyBelief(understanding)) return unknown;
  return { ...unknown, ...workloadFacts(asked, ports) };
}

function factsWithoutWorkload(before: DialogState, { turn, intent }: Asked, ports: AnswerPorts): Facts | null {
  const { slots, compared } = turn.state;
  if (intent === 'price' && pricedGpus(slots).length > 0 && !asksRunCost(turn))
    return { prices: priceFacts(slots, ports, turn.understanding.pricedHours) };
  if (intent === 'compare' && compared !== undefined) {
    return { models: modelFigures(slots, compared, ports) };
  }
  const recipe =
    intent === 'translate' ? recipeOnCards(slots, recipeBefore(before, slots, turn.understanding), ports) : null;
  return recipe === null ? null : { recipe };
}

/** What a whole run costs is no question about the hourly price. */
function asksRunCost({ state, understanding }: Turn): boolean {
  const { model, imageHeight, batchSize, iterations, epochs } = state.slots;
  const complete = model !== undefined && imageHeight !== undefined && batchSize !== undefined;
  const said = understanding.slots;
  const about = said.model !== undefined || said.iterations !== undefined || said.epochs !== undefined;
  return complete && about && (iterations !== undefined || epochs !== undefined);
}

function workloadFacts({ turn, intent }: Asked, ports: AnswerPorts): Facts {
  const { slots } = turn.state;
  const built = workloadFromSlots(slots, ports.catalog);
  const judged = recommendationOf(turn.state, built, ports);
  const { recommendation } = judged;
  const lowest = asksLowest(turn) ? lowestOffer(recommendation, ports) : null;
  const facts = {
    ...judged,
    ...(lowest === null ? {} : { lowest }),
    ...withoutEffect(turn, built.workload, ports),
  };
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

function asksLowest({ understanding: { command } }: Turn): boolean {
  return command === 'cheaper' || command === 'cheapest';
}

/** Switches that were asked for and keep the same bytes: this network of this library does not have them. */
function withoutEffect(
  { understanding }: Turn,
  workload: Workload,
  { estimate }: AnswerPorts,
): Pick<Facts, 'unsupported'> {
  const { gradientCheckpointing, attention } = understanding.slots;
  const saved = (changed: Partial<Workload>): number => estimate({ ...workload, ...changed }).bytes.saved;
  const same = (changed: Partial<Workload>): boolean => saved(changed) === saved({});
  const unsupported = [
    ...(gradientCheckpointing === true && same({ gradientCheckpointing: false }) ? (['checkpointing'] as const) : []),
    ...(attention === 'sdpa' && same({ attention: 'eager' }) ? (['sdpa'] as const) : []),
  ];
  return unsupported.length === 0 ? {} : { unsupported };
}

/** The card that a measurement was most likely taken on. */
export function measuredCard({ own, named, recommended }: Recommendation): Fit | null {
  return own ?? named[0] ?? recommended;
}

/** What undo shows again. */
function againFacts(state: DialogState, ports: AnswerPorts): Facts {
  const { intent, compared, slots } = state;
  if (intent === 'compare' && compared !== undefined) return { models: modelFigures(slots, compared, ports) };
  return recommendationFacts(state, ports);
}

function recommendationFacts(state: DialogState, ports: AnswerPorts): Facts {
  if (state.slots.model === undefined) return {};
  return recommendationOf(state, workloadFromSlots(state.slots, ports.catalog), ports);
}

function recommendationOf({ slots }: DialogState, built: SlotWorkload, ports: AnswerPorts) {
  const recommendation = recommend(requestFromSlots(slots, built, ports), advicePorts(ports));
  const libraries = slots.implementation === undefined ? otherLibraries(built.alternatives(), ports) : [];
  return { recommendation, assumed: built.assumed, libraries };
}

/** Chips whose memory is the system's too; of some CUDA is missing besides. */
const UNIFIED = /jetson|orin|xavier|dgx spark|gb10/;
const WITHOUT_CUDA = /^(?:apple )?m[1-5](?: |$)/;

function sharedMemory({ understanding }: Turn): Pick<Facts, 'sharedMemory'> {
  const shared = namedGpus(understanding.slots).flatMap(({ name = '', memoryGiB }) => {
    const card = name.toLowerCase();
    const cuda = UNIFIED.test(card);
    return cuda || WITHOUT_CUDA.test(card) ? [{ card: name, cuda, memoryGiB: memoryGiB ?? null }] : [];
  });
  return shared.length === 0 ? {} : { sharedMemory: shared };
}

/** Other makers' names on cards of no table. */
const FOREIGN =
  /^(?:instinct|mi\d|gaudi|habana|tpu|(?:intel )?arc |radeon|rx ?\d|mlu|ascend|昇腾|寒武纪|海光|摩尔线程|天数智芯|壁仞)/i;

/** Accelerators of other vendors: what was measured for CUDA is said of them too, and that has to be said. */
function withoutCuda({ understanding }: Turn, { catalog }: AnswerPorts): Pick<Facts, 'withoutCuda'> {
  const others = namedGpus(understanding.slots).flatMap(({ name, memoryGiB }) => {
    const match = name === undefined ? undefined : catalog.findGpu(name, memoryGiB);
    if (match === undefined) return name !== undefined && memoryGiB !== undefined && FOREIGN.test(name) ? [name] : [];
    return 'ambiguous' in match || match.vendor === 'NVIDIA' ? [] : [match.label];
  });
  return others.length === 0 ? {} : { withoutCuda: others };
}

function unknownGpus({ state }: Turn, { catalog }: AnswerPorts): Pick<Facts, 'unknownGpus'> {
  const unknown = namedGpus(state.slots).filter(
    ({ name, memoryGiB }) => name !== undefined && memoryGiB === undefined && catalog.findGpu(name) === undefined,
  );
  return unknown.length === 0 ? {} : { unknownGpus: unknown.map(({ name }) => name ?? '') };
}
