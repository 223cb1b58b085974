import { oncePerBench } from '../memory/workbench.ts';
import type { Tip } from '../recommendation.ts';
import type { RankedTip, TipInput } from './context.ts';
import { lighterVariant } from './lighter-variant.ts';
import { memoryTips } from './memory-tips.ts';
import { runTips } from './run-tips.ts';

type Gives = RankedTip['gives'];

/** Less than this share of the card free counts as short of memory. */
const SHORT_OF_MEMORY = 0.1;

/** What the person lacks, most pressing first. */
function lacks({ chosen, recommended }: TipInput): readonly Gives[] {
  const fit = chosen?.fit;
  const isTight =
    fit !== undefined &&
    (fit.status === 'does-not-fit' || fit.changes.length > 0 || fit.neededGiB > fit.usableGiB * (1 - SHORT_OF_MEMORY));
  if (isTight) return ['memory', 'money', 'time', 'safety'];
  if (recommended?.reason === 'nothing-within-budget') return ['money', 'memory', 'time', 'safety'];
  if (recommended?.reason === 'nothing-within-deadline') return ['time', 'memory', 'money', 'safety'];
  return ['memory', 'time', 'money', 'safety'];
}

/** Share of the peak saved, or of the time. */
function benefit({ tip, gives }: RankedTip, peakGiB: number): number {
  return gives === 'memory' ? tip.savesGiB / peakGiB + Math.max(0, 1 - tip.timeFactor) : 1 - tip.timeFactor;
}

const tipsOnce = oncePerBench<readonly RankedTip[]>();

/** Tips that change the network or its step: they follow from workload, card and data set alone, so regions share them. */
function networkTips(input: TipInput): readonly RankedTip[] {
  const { chosen, judging } = input;
  const { dataset } = judging.request.run;
  const { card, fit } = chosen ?? {};
  const place = [card?.spec, card?.timeable, fit?.gpus, fit?.imagesPerStep, fit?.vcpu];
  return tipsOnce(judging.bench, JSON.stringify([place, dataset]), () =>
    [...memoryTips, lighterVariant].flatMap((rule) => rule(input) ?? []),
  );
}

/** Every tip that applies to this workload, measured by re-estimating and ranked by what the person lacks. */
export function tipsFor(input: TipInput): readonly Tip[] {
  const order = lacks(input);
  const peakGiB = input.asked.bytes.allocatedPeak / 2 ** 30;
  const found = [...networkTips(input), ...runTips.flatMap((rule) => rule(input) ?? [])];
  return found
    .map((ranked, index) => ({ ranked, index }))
    .sort(
      (left, right) =>
        order.indexOf(left.ranked.gives) - order.indexOf(right.ranked.gives) ||
        Number(right.ranked.lossless) - Number(left.ranked.lossless) ||
        benefit(right.ranked, peakGiB) - benefit(left.ranked, peakGiB) ||
        left.index - right.index,
    )
    .map(({ ranked }) => ranked.tip);
}
