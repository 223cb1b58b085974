import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { httpTransport, payloads, type SlackTransport, socketTransport } from '../fakes/slack-driver.ts';
import { SlackServer } from '../fakes/slack-server.ts';
import { type Bot, main, processorMs, residentMiB, startBot, stopBot } from './bots.ts';
import { inParallel, ms, percentile } from './measure.ts';

const secret = 'bench-signing-secret';
const question = 'deeplabv3+ resnet50 512x1024 batch 2, 19 classes, budget 15 CNY/hour';
/** Compiled, this file stands in dist/test/bench. */
const echo = join(import.meta.dirname, 'slack-echo.js');

interface Trip {
  readonly milliseconds: number[];
  readonly perSecond: number;
}

/** Events in new threads; time from sending to the arrival of the posted answer. */
async function measureTrips(
  server: SlackServer,
  slack: SlackTransport,
  plan: { count: number; width: number; name: string },
): Promise<Trip> {
  const make = payloads(server);
  const arrivals = new Map<string, (at: number) => void>();
  server.onCall = ({ method, params }) => {
    if (method === 'chat.postMessage') arrivals.get(String(params['thread_ts']))?.(performance.now());
  };
  const milliseconds: number[] = [];
  const started = performance.now();
  await inParallel(plan.count, plan.width, async (index) => {
    const ts = `${plan.name}.${String(index).padStart(6, '0')}`;
    const arrived = new Promise<number>((resolve) => arrivals.set(ts, resolve));
    const sent = performance.now();
    await slack.event(make.mention(question, { ts, user: `U${plan.name}${index % 500}` }));
    milliseconds.push((await arrived) - sent);
    arrivals.delete(ts);
  });
  server.onCall = () => undefined;
  return { milliseconds, perSecond: (plan.count / (performance.now() - started)) * 1_000 };
}

/** Acknowledgements of commands with 50 of them in flight. */
async function measureAcks(server: SlackServer, slack: SlackTransport, count: number): Promise<number[]> {
  const make = payloads(server);
  const times: number[] = [];
  await inParallel(count, 50, async (index) => {
    const { acked, ms: time } = await slack.command(
      make.command(`unet 512x512 batch ${1 + (index % 16)}`, { user: `U00ACK${index % 100}` }),
    );
    times.push(acked ? time : Number.POSITIVE_INFINITY);
  });
  return times;
}

export interface SlackBenchOptions {
  /** Conversations before memory is read. */
  readonly conversations?: number;
}

/** Slack end to end on loopback, one line a figure; the built program beside a bare Bolt echo in the same run. */
export async function benchSlack({ conversations = 20_000 }: SlackBenchOptions = {}): Promise<readonly string[]> {
  const server = await SlackServer.start();
  server.store.lenient = true;
  const folder = mkdtempSync(join(tmpdir(), 'gpu-size-bench-'));
  const common = {
    SLACK_API_URL: server.apiUrl,
    SLACK_BOT_TOKEN: 'xoxb-fake-one-secret',
    PORT: '0',
    LOG_LEVEL: 'info',
    RATE_LIMIT_PER_MINUTE: '1000000',
    CONVERSATION_RATE_LIMIT_PER_MINUTE: '1000000',
  };
  const lines: string[] = [];
  const http = await startBot([main], {
    ...common,
    SLACK_SIGNING_SECRET: secret,
    DATABASE_URL: `sqlite:${join(folder, 'http.db')}`,
  });
  const slack = httpTransport(() => `http://127.0.0.1:${http.port}/slack/events`, secret);
  const yardstick = await startBot([echo, server.apiUrl, secret], {});
  const bare = httpTransport(() => `http://127.0.0.1:${yardstick.port}/slack/events`, secret);
  lines.push(...(await compare(server, { bot: http, slack }, { bot: yardstick, slack: bare })));
  const socket = await startBot([main], {
    ...common,
    SLACK_APP_TOKEN: server.appToken,
    DATABASE_URL: `sqlite:${join(folder, 'socket.db')}`,
  });
  for (const [name, transport] of [
    ['HTTP', slack],
    ['Socket Mode', socketTransport(server)],
  ] as const) {
    await measureAcks(server, transport, 200);
    const acks = await measureAcks(server, transport, 1_000);
    lines.push(
      `slack ${name}: ack with 50 commands in flight p50 ${ms(percentile(acks, 0.5))}, p99 ${ms(percentile(acks, 0.99))} (aim ≤ 100 ms)`,
    );
  }
  const before = residentMiB(http);
  const { perSecond } = await measureTrips(server, slack, { count: conversations, width: 32, name: 'MEM' });
  lines.push(
    `slack: resident ${before.toFixed(0)} MiB → ${residentMiB(http).toFixed(0)} MiB after ${conversations} conversations (${perSecond.toFixed(0)} answers/s)`,
  );
  await Promise.all([stopBot(http), stopBot(socket), stopBot(yardstick)]);
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
  return lines;
}

interface Rival {
  readonly bot: Bot;
  readonly slack: SlackTransport;
}

/** Processor time beside the clock: on a busy machine only the former says something about the program. */
async function compare(server: SlackServer, ours: Rival, bare: Rival): Promise<string[]> {
  const trips = async ({ bot, slack }: Rival, plan: Parameters<typeof measureTrips>[2]) => {
    const before = processorMs(bot);
    const trip = await measureTrips(server, slack, plan);
    return { ...trip, p50: percentile(trip.milliseconds, 0.5), cpu: (processorMs(bot) - before) / plan.count };
  };
  await trips(ours, { count: 200, width: 4, name: 'WARM1' });
  await trips(bare, { count: 200, width: 4, name: 'WARM2' });
  const one = await trips(ours, { count: 200, width: 1, name: 'ONE1' });
  const bareOne = await trips(bare, { count: 200, width: 1, name: 'ONE2' });
  const many = await trips(ours, { count: 1_000, width: 32, name: 'MANY1' });
  const bareMany = await trips(bare, { count: 1_000, width: 32, name: 'MANY2' });
  return [
    `slack: event to posted answer, one at a time: p50 ${ms(one.p50)}, p99 ${ms(percentile(one.milliseconds, 0.99))}; bare Bolt echo p50 ${ms(bareOne.p50)} (ratio ${(one.p50 / bareOne.p50).toFixed(2)}, aim ≤ 1.5)`,
    `slack: 32 in flight: ${many.perSecond.toFixed(0)} answers/s; bare Bolt echo ${bareMany.perSecond.toFixed(0)}/s (ratio ${(many.perSecond / bareMany.perSecond).toFixed(2)}, aim ≥ 0.7); processor ${ms(many.cpu)} an answer, echo ${ms(bareMany.cpu)}`,
  ];
}
