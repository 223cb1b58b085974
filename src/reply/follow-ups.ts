import type { Recommendation } from '../advice/recommendation.ts';
import { amountRange } from './blocks/cost.ts';
import { memoryBar } from './blocks/memory.ts';
import { priceText } from './blocks/price.ts';
import { changesText, gpuText } from './blocks/tiers.ts';
import { tipBlocks } from './blocks/tips.ts';
import { cardName, needText, sizeVerdict } from './blocks/verdict.ts';
import type { LowestFacts } from './facts.ts';
import { duration, gib, grouped, hoursRange, money, percent, range, significant } from './format.ts';
import type { Words } from './messages/index.ts';
import type { Block } from './reply.ts';

/** Why the figure is what it is: what autograd keeps, where the peak is, how sure it is. */
export function explainBlocks(recommendation: Recommendation, words: Words): readonly Block[] {
  const { estimate } = recommendation;
  const { bytes, uncertainty } = estimate;
  const text = words.answer.explain;
  const items = [
    { label: text.parameters, value: grouped(estimate.parameters) },
    { label: text.macs, value: `${significant(estimate.forwardMacs / 1e9)} G` },
    { label: text.saved, value: gib(bytes.saved) },
    { label: text.peakForward, value: gib(bytes.peakForward) },
    { label: text.peakBackward, value: gib(bytes.peakBackward) },
    { label: text.allocated, value: gib(bytes.allocatedPeak) },
    { label: text.reserved, value: gib(bytes.reserved) },
    { label: text.device, value: gib(bytes.device) },
    { label: text.uncertainty, value: `± ${percent(uncertainty.relative)}` },
  ];
  return [
    { kind: 'verdict', level: 'main', text: needText(estimate, words) },
    memoryBar(estimate, undefined, words),
    { kind: 'facts', level: 'main', title: words.answer.sections.figures, items },
    { kind: 'text', level: 'main', text: text.method },
    ...choiceText(recommendation, words),
  ];
}

/** Why this machine: the rule that chose it, with the figure it compares. */
function choiceText({ recommended }: Recommendation, words: Words): readonly Block[] {
  if (recommended?.price == null) return [];
  const { chosen, reasons } = words.answer.explain;
  const thousand = recommended.costPerThousandIterations;
  const cost = thousand === null ? priceText(recommended.price, words) : money(thousand, recommended.price.currency);
  const text = chosen(recommended.instanceType ?? recommended.gpu, reasons[recommended.reason], cost);
  return [{ kind: 'text', level: 'main', text }];
}

/** What to change to need less, with the savings. */
export function remedyBlocks(recommendation: Recommendation, words: Words): readonly Block[] {
  const tips = tipBlocks(recommendation, words).map((block): Block => ({ ...block, level: 'main' }));
  return [{ kind: 'verdict', level: 'main', text: sizeVerdict(recommendation, words) }, ...tips];
}

/** How long a run takes, or a step where nobody said how many there are. */
export function durationBlocks(recommendation: Recommendation, words: Words): readonly Block[] {
  const { run, own, named, recommended } = recommendation;
  const fit = own ?? named[0] ?? recommended;
  if (fit?.secondsPerIteration == null) return [];
  const { verdict, cost } = words.answer;
  if (run !== null && fit === recommended) {
    const value = cost.runValue(
      hoursRange(run.hours, words.locale),
      amountRange(run),
      grouped(run.iterations),
      cost.basis[run.basis],
    );
    return [{ kind: 'verdict', level: 'main', text: `${cardName(fit)}: ${value}` }];
  }
  const thousand = fit.costPerThousandIterations;
  const price = thousand === null || fit.price === null ? null : money(thousand, fit.price.currency);
  const paced = verdict.pace(cardName(fit), range(...fit.secondsPerIteration), price);
  const whole =
    fit.runHours === undefined
      ? verdict.askRun
      : verdict.runOn(cardName(fit), duration(fit.runHours, words.locale), null);
  return [
    { kind: 'verdict', level: 'main', text: paced },
    { kind: 'text', level: 'main', text: whole },
  ];
}

/** The lowest hourly price that holds it, which may be another one than the recommended. */
export function cheaperBlocks(lowest: LowestFacts | undefined, words: Words): readonly Block[] {
  const { cost, verdict, price } = words.answer;
  if (lowest === undefined) return [{ kind: 'verdict', level: 'main', text: cost.none }];
  const { fit, offer } = lowest;
  const amount = priceText({ amount: offer.amountPerHour, currency: offer.currency }, words);
  const machine = `${amount}${price.host(offer.vcpu, offer.hostMemoryGiB)}`;
  const text = verdict.take(offer.instanceType, gpuText(fit), machine);
  const changes = fit.changes.length === 0 ? '' : verdict.withChanges(changesText(fit.changes, words));
  return [
    { kind: 'verdict', level: 'main', text: cost.lowest(text, changes) },
    { kind: 'text', level: 'main', text: cost.spotNote },
  ];
}
