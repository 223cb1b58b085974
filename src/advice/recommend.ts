import { once } from '../../catalog/once.ts';
import type { Workload } from '../estimator/workload.ts';
import { type Card, type Chosen, cardOf } from './choice/card.ts';
import { type Judging, judgeOwn, judgeRental } from './choice/judge.ts';
import { hoursBought, SECONDS_PER_HOUR } from './choice/money.ts';
import { judgeNamed } from './choice/named.ts';
import { type Stage, stageOf } from './choice/stage.ts';
import { usableGiB } from './fit.ts';
import { hostAdvice } from './host.ts';
import { smallestBatch } from './memory/library-limits.ts';
import { oncePerBench, workbenchOf } from './memory/workbench.ts';
import { workloadOf, workloadOn } from './memory/workload-of.ts';
import { ownCard } from './own-card.ts';
import type { Fit, HostAdvice, Recommendation, RunCost } from './recommendation.ts';
import type { AdvicePorts, RecommendationRequest } from './request.ts';
import { findMaxBatch } from './run/limits.ts';
import { type Run, runLengthOf } from './run/run-length.ts';
import { recommendedOf, sortFits, tierLines } from './tiers.ts';
import { readPasses } from './tips/context.ts';
import { tipsFor } from './tips/tips.ts';

/** Numbers of GPUs that compete when only the total batch is given. */
const GPU_COUNTS = [1, 2, 3, 4, 5, 6, 7, 8];

/** Workloads to judge: the asked one, or one per number of GPUs that divides the total batch. */
function workloadsOf(request: RecommendationRequest): readonly Workload[] {
  const { workload, freeTotalBatch } = request;
  if (freeTotalBatch === null) return [workload];
  const shared = GPU_COUNTS.flatMap((gpus) => {
    const batchSize = freeTotalBatch / (gpus * workload.gradientAccumulation);
    return Number.isInteger(batchSize) && batchSize >= smallestBatch(workload)
      ? [{ ...workload, gpus, batchSize }]
      : [];
  });
  return shared.length > 0 ? shared : [workload];
}

/** Cards that rented machines carry and whose memory is known, with every number of GPUs that is asked about. */
function stages({ request, bench, ports: { catalog } }: Judging, workloads: readonly Workload[]): readonly Stage[] {
  const rows = catalog.gpus.filter((row) => row.usableMiB !== null && catalog.proposable(row.name).length > 0);
  return rows.flatMap((row) => {
    const card = cardOf(row);
    const all = workloads.map((workload) => ({ card, workload, types: catalog.proposable(row.name, workload.gpus) }));
    const sold = all.filter(({ types }) => types.length > 0);
    // With a free number of GPUs, numbers that nobody sells are no news.
    const asked = request.freeTotalBatch !== null && sold.length > 0 ? sold : all.slice(0, 1);
    return asked.map((one) => stageOf(bench, one));
  });
}

const stagesOnce = oncePerBench<readonly Stage[]>();
const batchOnce = oncePerBench<number | null>();

/** What is judged, by the number of GPUs: the same for every recommendation of a workload. */
function askedStages(judging: Judging): readonly Stage[] {
  const { request, bench } = judging;
  return stagesOnce(bench, String(request.freeTotalBatch), () => stages(judging, workloadsOf(request)));
}

function judgeAll(judging: Judging, staged: readonly Stage[]): readonly Fit[] {
  return staged.map((stage) => judgeRental(judging, stage));
}

/** "V100" stands for "V100 16GB" and "V100 32GB", not for another card that begins alike ("A10" and "A100"). */
function isAvoided(gpu: string, avoid: readonly string[] = []): boolean {
  return avoid.some((name) => gpu === name || gpu.startsWith(`${name} `));
}

function nextCountOf(judging: Judging, bests: readonly Fit[]): Fit | null {
  const { workload, budget } = judging.request;
  if (bests.some((fit) => fit.status !== 'no-candidate')) return null;
  const larger = bests.flatMap((fit) => fit.soldCounts ?? []).filter((count) => count > workload.gpus);
  if (larger.length === 0) return null;
  const { usdCny } = judging.ports;
  const fits = sortFits(judgeAll(judging, stages(judging, [{ ...workload, gpus: Math.min(...larger) }])), usdCny);
  return recommendedOf(fits, { usdCny, hasBudget: budget !== null });
}

function judgeOwned(judging: Judging): Fit | null {
  const { own } = judging.request;
  const card = own === null ? undefined : ownCard(judging.ports.catalog, own);
  if (own === null || card === undefined) return null;
  return judgeOwn(judging, card, workloadOn(judging.request, own));
}

function runCostOf(fit: Fit | null, run: Run | null): RunCost | null {
  if (fit === null || run === null || fit.price === null || fit.secondsPerIteration === null) return null;
  const iterations = run.iterations(fit.imagesPerStep);
  const [low, high] = fit.secondsPerIteration;
  const hours = [(iterations * low) / SECONDS_PER_HOUR, (iterations * high) / SECONDS_PER_HOUR] as const;
  const { amount, currency } = fit.price;
  return { iterations, basis: run.basis, hours, amount: [hours[0] * amount, hours[1] * amount], currency };
}

function hostOf(judging: Judging, fit: Fit | null): HostAdvice | null {
  const { catalog } = judging.ports;
  const instance = fit?.instanceType == null ? undefined : catalog.instance(fit.instanceType);
  if (fit === null || instance === undefined) return null;
  const dataset = catalog.datasets.find((row) => row.id === judging.request.run.dataset);
  const diskGB = dataset?.diskGB ?? null;
  const pictures = (dataset?.trainImages ?? 0) + (dataset?.valImages ?? 0) + (dataset?.testImages ?? 0);
  return hostAdvice({
    instance,
    workload: workloadOf(judging.request.workload, fit),
    secondsPerIteration: fit.secondsPerIteration,
    data: { diskGB, bytesPerImage: diskGB === null || pictures === 0 ? null : (diskGB * 1e9) / pictures },
    disks: catalog.prices.disks,
    peerToPeer: catalog.gpuByName(instance.gpu)?.peerToPeer ?? null,
  });
}

/** The card behind a judged entry. */
function cardOfFit(judging: Judging, fit: Fit): Card | undefined {
  const { catalog } = judging.ports;
  const row = catalog.gpus.find((one) => one.label === fit.gpu);
  const card = row === undefined ? undefined : cardOf(row);
  if (card !== undefined && usableGiB(card.spec) === fit.usableGiB) return card;
  const { own, only } = judging.request;
  return [...(own === null ? [] : [own]), ...(only?.gpus ?? [])]
    .flatMap((named) => ownCard(catalog, named) ?? [])
    .find((one) => usableGiB(one.spec) === fit.usableGiB);
}

function maxBatchOf(judging: Judging, chosen: Chosen | null): Recommendation['maxBatch'] {
  if (chosen === null) return null;
  const { workload } = chosen;
  const { gradientAccumulation } = judging.request.workload;
  const { bench } = judging;
  const asked = { ...workload, gradientAccumulation };
  const { spec } = chosen.card;
  const batchPerGpu = batchOnce(bench, JSON.stringify([asked, spec]), () => findMaxBatch(bench.estimate, asked, spec));
  return batchPerGpu === null ? null : { gpu: chosen.fit.gpu, batchPerGpu, changes: chosen.fit.changes };
}

/** What tips and limits are about: the own card, else the named one, else the recommended, else the best of all. */
function chosenOf(judging: Judging, fits: readonly (Fit | null | undefined)[]): Chosen | null {
  const fit = fits.find((one) => one != null);
  const card = fit == null ? undefined : cardOfFit(judging, fit);
  if (fit == null || card === undefined) return null;
  return { fit, card, workload: workloadOf(judging.request.workload, fit) };
}

/**
 * Tiers, recommended choice, tips and cost for one workload, as advice.md prescribes. Pure: estimator, facts and prices
 * come through the ports. `tips` and `maxBatch` ask for estimates of their own, so they are computed when read, once.
 *
 * @throws AppError `unsupported-combination` (from the estimator) when the workload itself cannot be trained.
 */
export function recommend(asking: RecommendationRequest, ports: AdvicePorts): Recommendation {
  const bench = workbenchOf(ports, asking.workload);
  const request = { ...asking, workload: bench.workload };
  const asked = bench.estimate(request.workload);
  const askedPasses = readPasses(asked);
  const run = runLengthOf(request.run, ports.catalog, request.workload.model);
  const judgedRun = run !== null && (run.basis !== 'usual' || request.assumeUsualRun) ? run : null;
  const judging: Judging = {
    request,
    ports,
    bench,
    estimate: bench.estimate,
    iterations: (imagesPerStep) => judgedRun?.iterations(imagesPerStep) ?? null,
  };
  const judged = judgeAll(judging, askedStages(judging)).filter(({ gpu }) => !isAvoided(gpu, request.avoid));
  const bests = sortFits(judged, ports.usdCny);
  const named = judgeNamed(judging);
  const recommended = recommendedOf(bests, { usdCny: ports.usdCny, hasBudget: request.budget !== null });
  const own = judgeOwned(judging);
  const nextCount = nextCountOf(judging, bests);
  const chosen = once(() => chosenOf(judging, [own, named[0], recommended, nextCount, bests[0]]));
  const tips = once(() => tipsFor({ judging, asked, askedPasses, chosen: chosen(), recommended, run }));
  const maxBatch = once(() => maxBatchOf(judging, chosen()));
  const { budget } = request;
  const buysHours = budget?.period === 'total' && judgedRun === null && recommended?.price != null;
  return {
    estimate: asked,
    region: request.region,
    chargeType: request.chargeType,
    budget,
    tiers: named.length > 0 ? named : tierLines(bests),
    bests,
    recommended,
    own,
    get tips() {
      return tips();
    },
    run: runCostOf(recommended, run),
    named,
    nextCount,
    deadlineHours: request.deadlineHours,
    hoursBought: buysHours && recommended?.price != null ? hoursBought(budget, recommended.price, ports.usdCny) : null,
    host: hostOf(judging, recommended),
    get maxBatch() {
      return maxBatch();
    },
    priceBasis: { usdCny: ports.usdCny, origin: ports.prices.origin, fellBack: ports.prices.fellBack },
  };
}
