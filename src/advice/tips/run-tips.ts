import { geometricMiddle } from '../choice/money.ts';
import { BYTES_PER_GIB } from '../fit.ts';
import { imagesPerStep } from '../memory/workload-of.ts';
import type { Tip } from '../recommendation.ts';
import { baseOf, effectOf, type RankedTip, secondsPerImage, type TipInput } from './context.ts';

type TipRule = (input: TipInput) => RankedTip | undefined;

const NOTICEABLY_FASTER = 0.95;
const CONVOLUTIONAL =
  /^(resnet|resnext|resnest|hrnet|mobilenet|efficientnet|vgg|densenet|stdc|ddrnet|pidnet|xception|tu-resnet)/;
/** From this many pixels decoding JPEG costs the CPU more than a batch costs the card (guide 2, section 4: "high-resolution images"). */
const HIGH_RESOLUTION = 1024 * 1024;
const SHARED_STORAGE_FROM_GB = 100;
const LONG_RUN_HOURS = 24;
const TIGHT = 0.1;
/** guide 2, section 4. */
const ADVISED_VCPU_PER_GPU = 8;

const plain = (id: string, values: Tip['values'] = {}): Tip => ({ id, savesGiB: 0, timeFactor: 1, values });

/** Half-precision convolutions read channels-last tensors without converting them; nothing is saved in memory. ultralytics 8.4.190 does so itself. */
const channelsLast: TipRule = (input) => {
  const { chosen, judging } = input;
  if (chosen === null || chosen.workload.precision === 'fp32') return undefined;
  if (chosen.workload.model.implementation === 'ultralytics') return undefined;
  const estimate = judging.estimate(chosen.workload);
  const [before, after] = [false, true].map((layout) => secondsPerImage(input, estimate, { channelsLast: layout }));
  if (before == null || after == null || after > before * NOTICEABLY_FASTER) return undefined;
  return { tip: { ...plain('channels-last'), timeFactor: after / before }, gives: 'time', lossless: true };
};

/** The search for the fastest kernel tries large workspaces in the first iteration: up to 2.7 × the steady peak was seen (physics.md §3.5). */
const cudnnBenchmark: TipRule = ({ chosen, asked }) => {
  if (chosen === null || chosen.fit.neededGiB < chosen.fit.usableGiB * (1 - TIGHT)) return undefined;
  if (!CONVOLUTIONAL.test(asked.workload.model.backbone ?? 'resnet')) return undefined;
  return { tip: plain('cudnn-benchmark'), gives: 'safety', lossless: true };
};

const workers: TipRule = ({ chosen }) => {
  const vcpu = chosen?.fit.vcpu ?? null;
  if (chosen === null || vcpu === null) return undefined;
  const perGpu = Math.floor(vcpu / chosen.fit.gpus);
  const values = { workers: Math.max(1, perGpu - 1), vcpuPerGpu: perGpu, advisedVcpuPerGpu: ADVISED_VCPU_PER_GPU };
  return { tip: plain('workers', values), gives: 'time', lossless: true };
};

const dali: TipRule = ({ chosen, asked }) => {
  const { imageHeight, imageWidth } = asked.workload;
  const isShort = chosen?.fit.notes.includes('host-cpu-below-rule') === true;
  if (imageHeight * imageWidth < HIGH_RESOLUTION && !isShort) return undefined;
  return { tip: plain('dali', { imageHeight, imageWidth }), gives: 'time', lossless: true };
};

const localCache: TipRule = ({ judging }) => {
  const dataset = judging.ports.catalog.datasets.find((row) => row.id === judging.request.run.dataset);
  const diskGB = dataset?.diskGB ?? 0;
  if (diskGB <= SHARED_STORAGE_FROM_GB) return undefined;
  return { tip: plain('local-cache', { diskGB }), gives: 'time', lossless: true };
};

const spot: TipRule = ({ judging, recommended }) => {
  if (recommended?.price == null || judging.request.chargeType === 'Spot') return undefined;
  const quote = judging.ports.prices.find(recommended.instanceType ?? '', judging.request.region);
  const known = quote?.spotPerHour == null ? {} : { amount: quote.spotPerHour, currency: quote.currency };
  return { tip: plain('spot', known), gives: 'money', lossless: true };
};

const spotCheckpoints: TipRule = ({ judging }) => {
  if (judging.request.chargeType !== 'Spot') return undefined;
  return { tip: plain('spot-checkpoints'), gives: 'safety', lossless: true };
};

const release: TipRule = ({ judging, recommended }) => {
  if (recommended?.price == null || judging.request.chargeType === 'PrePaid') return undefined;
  const hours = recommended.runHours;
  return { tip: plain('release', hours === undefined ? {} : { hours }), gives: 'money', lossless: true };
};

const subscription: TipRule = ({ judging, recommended }) => {
  const { request, ports } = judging;
  const isMonthly = request.budget?.period === 'month' || request.chargeType === 'PrePaid';
  if (recommended?.price == null || !isMonthly) return undefined;
  const values = { thresholdHours: ports.prices.subscriptionHours, hoursPerMonth: request.hoursPerMonth };
  return { tip: plain('subscription', values), gives: 'money', lossless: true };
};

const trainingPlatform: TipRule = ({ recommended, run }) => {
  if (recommended?.secondsPerIteration == null || run === null) return undefined;
  const hours = (run.iterations(recommended.imagesPerStep) * geometricMiddle(recommended.secondsPerIteration)) / 3600;
  return hours < LONG_RUN_HOURS ? undefined : { tip: plain('pai-dlc', { hours }), gives: 'safety', lossless: true };
};

/** Several cards without peer-to-peer exchange gradients through the host; one card that accumulates may be nearly as fast. */
const ddpOrAccumulation: TipRule = (input) => {
  const { chosen } = input;
  const base = baseOf(input);
  if (chosen === null || base.gpus === 1 || chosen.card.row?.peerToPeer !== false) return undefined;
  const alone = effectOf(input, { gpus: 1, gradientAccumulation: base.gradientAccumulation * base.gpus });
  if (alone === undefined || imagesPerStep(alone.estimate.workload) !== imagesPerStep(base)) return undefined;
  const values = { gpus: base.gpus, speedup: alone.timeFactor };
  return { tip: plain('ddp-or-accumulation', values), gives: 'money', lossless: true };
};

/** Sharding optimizer state leaves activations alone, which are nearly everything here (physics.md §3.1). */
const shardingHelpsLittle: TipRule = (input) => {
  const { gpus } = baseOf(input);
  if (gpus === 1) return undefined;
  const { optimizerState, allocatedPeak } = input.asked.bytes;
  const saved = optimizerState * (1 - 1 / gpus);
  const values = { savesGiB: saved / BYTES_PER_GIB, percent: Math.round((saved / allocatedPeak) * 100) };
  return { tip: plain('zero-helps-little', values), gives: 'safety', lossless: true };
};

/** Tips about the run rather than the network. */
export const runTips: readonly TipRule[] = [
  channelsLast,
  workers,
  dali,
  localCache,
  spot,
  spotCheckpoints,
  release,
  subscription,
  ddpOrAccumulation,
  trainingPlatform,
  cudnnBenchmark,
  shardingHelpsLittle,
];
