import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';

import { z } from 'zod';

import { loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';
import { recommend } from '../../src/advice/recommend.ts';
import type { AdvicePorts, RecommendationRequest } from '../../src/advice/request.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import { secondsPerIteration } from '../../src/estimator/timing.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { decideTurn } from '../../src/turn/take-turn.ts';
import { understand } from '../../src/understanding/understand.ts';
import { cacheEstimates } from '../../src/workload/estimate-cache.ts';
import { workloadFromLine } from '../../src/workload/from-line.ts';
import { benchCatalogue } from './catalogue.ts';
import { benchDingtalk } from './dingtalk.ts';
import { percentile } from './measure.ts';
import { benchSlack } from './slack.ts';

// As src/main.ts does.
setFlagsFromString('--no-allocation-site-pretenuring');

/** Built by `npm run bench` beside the program it measures. */
const program = join(dirname(dirname(import.meta.dirname)), 'src', 'main.js');
const MIB = 1024 ** 2;
const catalog = loadCatalog();

const Transcript = z.object({ turns: z.array(z.object({ user: z.string() })) });

interface Sample {
  readonly p50: number;
  readonly p99: number;
}

/** Milliseconds of one call in a warm process. */
function measure(rounds: number, run: (round: number) => unknown, warmUp = Math.min(rounds, 200)): Sample {
  for (let round = 0; round < warmUp; round += 1) run(round);
  const times = Array.from({ length: rounds }, (_, round) => {
    const start = performance.now();
    run(round);
    return performance.now() - start;
  });
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}

function show(name: string, { p50, p99 }: Sample, aim: string): void {
  console.log(
    `${name.padEnd(58)} p50 ${p50.toFixed(3).padStart(9)} ms   p99 ${p99.toFixed(3).padStart(9)} ms   aim ${aim}`,
  );
}

function workloadOf(model: string): Workload {
  const line = { model, imageHeight: 512, imageWidth: 1024, batchSize: 2, numClasses: 19 };
  return workloadFromLine(line, catalog).workload;
}

function request(workload: Workload): RecommendationRequest {
  return {
    workload,
    budget: { amount: 15, currency: 'CNY', period: 'hour' },
    region: 'cn-hangzhou',
    chargeType: 'PostPaid',
    freeTotalBatch: null,
    only: null,
    own: null,
    run: {},
    assumeUsualRun: false,
    deadlineHours: null,
    hoursPerMonth: 720,
  };
}

/** Tips and the largest batch are computed when they are read: an answer reads them. */
function answerOf(asked: RecommendationRequest, ports: AdvicePorts): void {
  const { tips, maxBatch } = recommend(asked, ports);
  if (tips.length === 0 && maxBatch === null) throw new Error('a recommendation without tips and limits');
}

/** Compares every region, 1–8 GPUs competing, and answers for one; `classes` makes the workload a new one. */
function everywhere(workload: Workload, classes: number, ports: AdvicePorts): void {
  const asked = { ...request({ ...workload, numClasses: classes }), freeTotalBatch: 8 };
  for (const region of ports.prices.regions()) recommend({ ...asked, region }, ports);
  answerOf(asked, ports);
}

function benchAdvice(workload: Workload, model: string, ports: AdvicePorts): void {
  let classes = 200;
  const next = (): number => {
    classes += 1;
    return classes;
  };
  show(
    `recommendation ${model}, one region, cold`,
    measure(20, () => answerOf(request({ ...workload, numClasses: next() }), ports)),
    '20 ms',
  );
  show(
    `recommendation ${model}, all regions, 1–8 GPUs, cold`,
    measure(20, () => everywhere(workload, next(), ports)),
    '20 ms',
  );
  show(
    `recommendation ${model}, all regions, 1–8 GPUs, warm`,
    measure(100, () => everywhere(workload, classes, ports)),
    '3 ms',
  );
}

/** What people say in the conversations of the suite, pasted logs and code among it. */
function transcribedMessages(): readonly string[] {
  const folder = join(import.meta.dirname, '../../..', 'test/conversations');
  const lines = readFileSync(join(folder, 'transcripts.jsonl'), 'utf8').trim().split('\n');
  return lines.flatMap((line) => Transcript.parse(JSON.parse(line)).turns.map(({ user }) => user));
}

/** Before the estimates, whose garbage would be collected in this row's time. */
function benchUnderstanding(): void {
  const context = { held: {}, asked: null, answered: false, lastIntent: null, locale: 'zh' } as const;
  const messages = transcribedMessages();
  const hear = (round: number) => understand(messages[round % messages.length] ?? '', context, catalog);
  show(
    `understanding one message, of ${messages.length} transcribed`,
    measure(messages.length * 4, hear, messages.length * 2),
    '0.3 ms, p99 2 ms',
  );
}

function benchPure(): void {
  for (const [model, aim] of [
    ['deeplabv3+ resnet101', '0.5 ms'],
    ['segformer b5', '1.5 ms'],
  ] as const) {
    const workload = workloadOf(model);
    const cached = cacheEstimates((one) => estimate(one));
    // Another number of classes each time: the estimator itself remembers the last networks.
    show(
      `estimate ${model}, not seen before`,
      measure(300, (round) => estimate({ ...workload, numClasses: 100 + round })),
      aim,
    );
    show(
      `estimate ${model}, cached`,
      measure(5_000, () => cached(workload)),
      '0.02 ms',
    );
  }
  console.log(benchCatalogue());
  const base = { catalog, prices: createPriceBook(catalog.prices), usdCny: 7.1, secondsPerIteration };
  const warm: AdvicePorts = { ...base, estimate: cacheEstimates((workload) => estimate(workload)) };
  for (const model of ['deeplabv3+ resnet50', 'segformer b5'] as const) benchAdvice(workloadOf(model), model, warm);
  const { prices, ...advice } = warm;
  const ports = { ...advice, prices: () => prices, region: 'cn-hangzhou' };
  const text = '我想训 deeplabv3+ resnet50，512x1024，每卡2张，19类，预算 15 元/小时';
  const answer = (round: number) =>
    decideTurn(initialState('zh'), text.replace('15', String(10 + (round % 40))), ports).compose(null);
  show('one answered message (understand, decide, advise, write)', measure(200, answer), '–');
}

interface Run {
  readonly seconds: number;
  readonly firstOutput: number;
  readonly peakMib: number;
  readonly lines: number;
}

/** Feeds the real program and watches its memory. */
function runProgram(
  args: readonly string[],
  feed: (write: (text: string) => boolean, drained: () => Promise<void>) => Promise<void>,
): Promise<Run> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'ignore'] });
    let firstOutput = 0;
    let lines = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      if (firstOutput === 0) firstOutput = performance.now() - start;
      for (const byte of chunk) if (byte === 10) lines += 1;
    });
    let peakMib = 0;
    const watch = setInterval(() => {
      peakMib = Math.max(peakMib, residentMib(child.pid));
    }, 100);
    child.once('error', reject);
    child.once('exit', () => {
      clearInterval(watch);
      resolve({ seconds: (performance.now() - start) / 1_000, firstOutput, peakMib, lines });
    });
    const drained = () => new Promise<void>((done) => child.stdin.once('drain', done));
    feed((written) => child.stdin.write(written), drained).then(() => child.stdin.end(), reject);
  });
}

/** Resident memory by /proc (Linux); 0 elsewhere. */
function residentMib(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid ?? 0}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

const MODELS = ['deeplabv3+ resnet50', 'segformer b2', 'unet', "smp.Unet('resnet34')", 'pspnet r101', 'fcn hr48'];

async function benchRows(rows: number): Promise<void> {
  const { seconds, peakMib, lines } = await runProgram(['estimate', '--jsonl'], async (write, drained) => {
    for (let id = 0; id < rows; id += 1) {
      const side = 256 + 32 * (id % 24);
      const line = {
        id,
        model: MODELS[id % MODELS.length],
        imageHeight: side,
        imageWidth: side,
        batchSize: 1 + (id % 16),
      };
      if (!write(`${JSON.stringify(line)}\n`)) await drained();
    }
  });
  const rate = (lines / seconds).toFixed(0);
  console.log(
    `${`${lines} rows of estimate --jsonl`.padEnd(58)} ${seconds.toFixed(1)} s, ${rate} rows/s, peak ${peakMib.toFixed(0)} MiB   aim ≥ 1000 rows/s, flat`,
  );
}

async function benchStart(): Promise<void> {
  const idle = async (write: (text: string) => boolean): Promise<void> => {
    write('help\n');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  };
  const { firstOutput, peakMib } = await runProgram([], idle);
  console.log(
    `${'start-up to the first answer in the terminal'.padEnd(58)} ${firstOutput.toFixed(0)} ms, resident ${peakMib.toFixed(0)} MiB   aim about 1 s`,
  );
}

const rows = Number(process.argv[2] ?? 100_000);
benchUnderstanding();
benchPure();
console.log(`${'resident memory of this process'.padEnd(58)} ${(process.memoryUsage.rss() / MIB).toFixed(0)} MiB`);
await benchStart();
await benchRows(Math.min(rows, 10_000));
await benchRows(rows);
for (const line of await benchSlack({ conversations: Math.min(rows, 20_000) })) console.log(line);
for (const line of await benchDingtalk()) console.log(line);
