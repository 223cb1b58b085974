import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { httpTransport, payloads } from '../fakes/slack-driver.ts';
import { SlackServer } from '../fakes/slack-server.ts';

// Load on the real program, the generator and the fake platform included: npm run bench:load -- --rate 200 --seconds 60
const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
    conversations: { type: 'string', default: '100000' },
    database: { type: 'string' },
    skip: { type: 'string', multiple: true, default: [] },
  },
});
const rate = Number(values.rate);
const seconds = Number(values.seconds);
const secret = 'load-signing-secret';
const main = join(import.meta.dirname, '../../src/main.js');
/** Who writes; one person alone would be held back by the limit per person. */
const people = 500;
const questions = [
  'segformer b2 512x512 batch 8, budget 10 CNY/hour',
  'deeplabv3+ resnet50 512x1024 batch 2, budget 15 CNY/hour',
  'smp.Unet("resnet34", classes=2) 512x512 batch 16, budget 8 CNY/hour',
  'upernet swin-t 512x512 batch 4, budget 20 CNY/hour',
];

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const percentile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1);

interface Bot {
  readonly child: ChildProcess;
  readonly port: number;
}

/** Processor seconds and resident MiB of the bot; ticks of 10 ms as proc(5) has them. */
function usageOf({ child }: Bot): { cpu: number; resident: number } {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const resident = /VmRSS:\s+(\d+)/u.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, resident: Number(resident) / 1_024 };
}

async function startBot(server: SlackServer, database: string): Promise<Bot> {
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      LOCALE: 'en',
      PORT: '0',
      DATABASE_URL: database,
      SLACK_API_URL: server.apiUrl,
      SLACK_BOT_TOKEN: 'xoxb-fake-one-secret',
      SLACK_SIGNING_SECRET: secret,
      RATE_LIMIT_PER_MINUTE: '10000000',
      CONVERSATION_RATE_LIMIT_PER_MINUTE: '10000000',
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => {
      if (output.length < 100_000) output += chunk.toString('utf8');
      const found = /"port":(\d+)[^\n]*"serving"/u.exec(output)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    child.once('exit', () => reject(new Error(`the bot ended: ${output}`)));
  });
  return { child, port };
}

interface Phase {
  readonly name: string;
  readonly perSecond: number;
  readonly seconds: number;
}

interface Site {
  readonly server: SlackServer;
  readonly bot: Bot;
}

let sequence = 0;

/** Sends at a fixed pace whatever happens (open loop), waits for what is under way, prints one line. */
async function run({ server, bot }: Site, phase: Phase): Promise<void> {
  const make = payloads(server);
  const slack = httpTransport(() => `http://127.0.0.1:${bot.port}/slack/events`, secret);
  const sentAt = new Map<string, number>();
  const latencies: number[] = [];
  let shed = 0;
  let unacknowledged = 0;
  server.onCall = ({ method, params }) => {
    if (!method.startsWith('chat.post')) return;
    const sent = sentAt.get(String(params['thread_ts']));
    if (method === 'chat.postEphemeral') shed += 1;
    else if (sent !== undefined) latencies.push(performance.now() - sent);
    sentAt.delete(String(params['thread_ts']));
  };
  const total = phase.perSecond * phase.seconds;
  const before = { bot: usageOf(bot).cpu, own: process.cpuUsage(), at: performance.now() };
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - before.at) / 1_000) * phase.perSecond) + 1);
    for (; sent < due; sent += 1) {
      sequence += 1;
      const ts = `${1_700_000_000 + sequence}.000001`;
      sentAt.set(ts, performance.now());
      const user = `U00LOAD${sequence % people}`;
      const event = make.mention(questions[sequence % questions.length] ?? '', { ts, user });
      const refused = (): void => {
        unacknowledged += 1;
      };
      void slack.event(event).then(({ acked }) => (acked ? undefined : refused()), refused);
    }
    await sleep(4);
  }
  const sendingSeconds = (performance.now() - before.at) / 1_000;
  const botCpu = usageOf(bot).cpu - before.bot;
  const own = process.cpuUsage(before.own);
  const answeredInTime = latencies.length;
  for (let quiet = 0, last = sentAt.size; sentAt.size > 0 && quiet < 50; quiet = sentAt.size === last ? quiet + 1 : 0) {
    last = sentAt.size;
    await sleep(100);
  }
  latencies.sort((one, two) => one - two);
  say(
    `${phase.name}: ${phase.perSecond}/s for ${sendingSeconds.toFixed(1)} s: answered ${latencies.length}, shed ${shed}, ` +
      `not acknowledged ${unacknowledged}, unanswered ${sentAt.size}; answer p50 ${percentile(latencies, 0.5)} ms, ` +
      `p99 ${percentile(latencies, 0.99)} ms, longest ${percentile(latencies, 1)} ms; ` +
      `CPU bot ${((botCpu / sendingSeconds) * 100).toFixed(0)} %, ` +
      `${((botCpu * 1_000) / Math.max(1, answeredInTime)).toFixed(2)} ms an answer, generator and platform ` +
      `${(((own.user + own.system) / 1e6 / sendingSeconds) * 100).toFixed(0)} %`,
  );
}

/** One message each, as fast as they are answered; memory of the bot as they pile up. */
async function grow({ server, bot }: Site, conversations: number): Promise<void> {
  const steps = 10;
  const sizes: string[] = [];
  for (let step = 0; step < steps; step += 1) {
    const pace = { name: `conversations ${step + 1}/${steps}`, perSecond: rate, seconds: conversations / steps / rate };
    await run({ server, bot }, pace);
    sizes.push(usageOf(bot).resident.toFixed(0));
  }
  say(`resident MiB after each tenth of ${conversations} conversations: ${sizes.join(' ')}`);
}

const folder = mkdtempSync(join(tmpdir(), 'gpu-size-load-'));
const server = await SlackServer.start();
server.store.lenient = true;
const bot = await startBot(server, values.database ?? `sqlite:${join(folder, 'state.db')}`);
const site = { server, bot };
try {
  await run(site, { name: 'warm-up', perSecond: rate / 4, seconds: 5 });
  if (!values.skip.includes('load')) await run(site, { name: 'load', perSecond: rate, seconds });
  if (!values.skip.includes('overload')) {
    await run(site, { name: 'overload', perSecond: rate * 10, seconds: 10 });
    await run(site, { name: 'after it', perSecond: rate, seconds: 10 });
  }
  if (!values.skip.includes('memory')) await grow(site, Number(values.conversations));
} finally {
  bot.child.kill('SIGTERM');
  await new Promise((resolve) => bot.child.once('exit', resolve));
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
