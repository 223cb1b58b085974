import type { Recommendation } from '../../advice/recommendation.ts';
import type { Estimate } from '../../estimator/estimate-result.ts';
import type { Workload } from '../../estimator/workload.ts';
import type { Slots } from '../../understanding/understanding.ts';
import type { Facts } from '../facts.ts';
import { gib, grouped, hoursRange, percent } from '../format.ts';
import type { Words } from '../messages/index.ts';
import type { Block } from '../reply.ts';
import { amountRange, budgetText } from './cost.ts';

type Field = keyof Words['answer']['assumed']['fields'];

const SHOWN: readonly Field[] = [
  'imageHeight',
  'batchSize',
  'numClasses',
  'precision',
  'optimizer',
  'gpus',
  'attention',
];
/** A library whose figure differs by less is not worth a word. */
const OTHER_LIBRARY_DIFFERS = 0.05;

interface Assumed {
  readonly estimate: Estimate;
  readonly recommendation: Recommendation | undefined;
  readonly facts: Facts;
  readonly slots: Slots;
}

/** What the figure stands on before any machine is chosen: the network as it was understood, and every default. */
export function sizedNote(estimate: Estimate, facts: Facts, words: Words): Block {
  const parts = [...workloadTexts(estimate, facts, words), uncertaintyText(estimate, words)];
  return note(parts, words);
}

/** Small print: the network and its library first, then every default, the price's date and place, the uncertainty. */
export function assumptionsNote(assumed: Assumed, words: Words, estimateCode: string | null): Block {
  const { estimate, facts, slots, recommendation } = assumed;
  const parts = [
    ...workloadTexts(estimate, facts, words),
    ...priceTexts(assumed, words),
    ...budgetTexts(slots, recommendation, words),
    ...rateText(assumed, words),
    ...usualRunText(assumed, words),
    uncertaintyText(estimate, words),
    ...(estimateCode === null ? [] : [words.answer.assumed.code(estimateCode)]),
  ];
  return note(parts, words);
}

function note(parts: readonly string[], words: Words): Block {
  return { kind: 'note', level: 'main', text: `${words.answer.sections.assumptions}  ${parts.join(' · ')}` };
}

function workloadTexts(estimate: Estimate, facts: Facts, words: Words): readonly string[] {
  const { fields } = words.answer.assumed;
  const { architecture, backbone } = estimate.model;
  return [
    backbone === null ? architecture : `${architecture} ${backbone}`,
    libraryText(estimate, facts, words),
    ...shownFields(estimate, facts).map((field) => fields[field](workloadText(estimate.workload, field))),
  ];
}

function uncertaintyText({ uncertainty }: Estimate, words: Words): string {
  return words.answer.assumed.uncertainty(percent(uncertainty.relative));
}

/** Defaults that matter for this network: one without attention has no kind of it. */
function shownFields({ work }: Estimate, { assumed = [] }: Facts): readonly Field[] {
  const attends = work.groups.some(({ kind }) => kind === 'attention');
  return SHOWN.filter((field) => assumed.includes(field) && (field !== 'attention' || attends));
}

function libraryText(estimate: Estimate, facts: Facts, words: Words): string {
  const own = estimate.bytes.allocatedPeak;
  const others = (facts.libraries ?? [])
    .filter(({ allocatedBytes }) => Math.abs(allocatedBytes / own - 1) > OTHER_LIBRARY_DIFFERS)
    .map((one) => words.answer.assumed.other(words.answer.libraries[one.implementation], gib(one.allocatedBytes)));
  return words.answer.assumed.library(
    words.answer.libraries[estimate.model.implementation],
    others.join(words.locale === 'zh' ? '，' : ', '),
  );
}

function workloadText(workload: Workload, field: Field): string {
  if (field === 'imageHeight') return `${workload.imageHeight}×${workload.imageWidth}`;
  return String(workload[field]);
}

function priceTexts({ recommendation }: Assumed, words: Words): readonly string[] {
  const price = recommendation?.recommended?.price ?? recommendation?.tiers.find((fit) => fit.price !== null)?.price;
  if (price == null) return [];
  const text = words.answer.assumed;
  const fellBack = recommendation?.priceBasis.fellBack === true ? [words.answer.verdict.fellBack] : [];
  const spot = recommendation?.recommended?.notes.includes('spot-price-unknown') === true ? [text.spot] : [];
  return [text.prices(price.checkedOn, price.region), ...spot, ...(price.observed ? [text.observed] : []), ...fellBack];
}

/** A period that was not said. */
function budgetTexts(slots: Slots, recommendation: Recommendation | undefined, words: Words): readonly string[] {
  const budget = recommendation?.budget;
  if (slots.budget === undefined || slots.budget.period !== undefined || budget == null) return [];
  return [words.answer.assumed.budgetPeriod(budgetText(budget, words))];
}

function rateText({ recommendation }: Assumed, words: Words): readonly string[] {
  const price = recommendation?.recommended?.price;
  const budget = recommendation?.budget;
  if (recommendation === undefined || price == null || budget == null || budget.currency === price.currency) return [];
  return [words.answer.assumed.rate(String(recommendation.priceBasis.usdCny))];
}

/** A length that was not said: the usual run on the data set. */
function usualRunText({ recommendation }: Assumed, words: Words): readonly string[] {
  const run = recommendation?.run;
  if (run == null || run.basis !== 'usual') return [];
  const hours = hoursRange(run.hours, words.locale);
  return [words.answer.assumed.usualRun(grouped(run.iterations), hours, amountRange(run))];
}
