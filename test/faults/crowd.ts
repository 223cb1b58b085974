import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import { deliveryKey } from '../../src/inbox/payload.ts';
import { httpTransport, payloads, type SlackTransport, socketTransport } from '../fakes/slack-driver.ts';
import type { SlackServer } from '../fakes/slack-server.ts';
import type { FakeMessage } from '../fakes/slack-workspace.ts';
import { type Fleet, root, signingSecret } from './fleet.ts';

/** What people say, one list a conversation; doubling twice or a forgotten turn changes every later answer. */
export const scripts: readonly (readonly string[])[] = [
  ['segformer b2 512x512 batch 8, budget 10 CNY/hour', 'double the batch', 'turn on amp', 'double the batch'],
  ['deeplabv3+ resnet50 512x1024 batch 2, budget 15 CNY/hour', 'double the batch', 'batch 3', 'turn on amp'],
  ['segformer b0 256x256 batch 4, budget 8 CNY/hour', 'double the batch', 'double the batch', 'double the batch'],
  ['fcn resnet50 512x512 batch 4, budget 12 CNY/hour', 'turn on amp', 'double the batch', 'batch 6'],
];

const Conversed = z.object({ turns: z.array(z.object({ reply: z.string() })) });
export const firstLine = (text: string): string => text.split('\n')[0] ?? '';

/** First lines of the right answers, from conversations that nothing disturbs. */
export function expectedLines(): string[][] {
  const lines = scripts.map((turns, index) =>
    JSON.stringify({ id: `${index}`, locale: 'en', turns: turns.map((user) => ({ user })) }),
  );
  const { stdout } = spawnSync(process.execPath, [join(root, 'dist/src/main.js'), 'converse', '--jsonl'], {
    cwd: root,
    input: `${lines.join('\n')}\n`,
    encoding: 'utf8',
  });
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => Conversed.parse(JSON.parse(line)));
  return answers.map(({ turns }) => turns.map(({ reply }) => firstLine(reply)));
}

export interface Conversation {
  readonly channel: string;
  readonly thread: string;
  readonly script: number;
  /** Delivery keys of what was said and acknowledged, in order. */
  readonly keys: string[];
}

export interface CrowdOptions {
  readonly server: SlackServer;
  readonly fleet: Fleet;
  /** Share of events that are delivered again, to any replica. */
  readonly again?: number;
  /** Over Socket Mode instead of HTTP. */
  readonly socket?: boolean;
}

/** People who write to the bot through a platform that delivers again what was not acknowledged. */
export class Crowd {
  readonly conversations: Conversation[] = [];
  redeliveries = 0;
  readonly #options: CrowdOptions;
  readonly #make: ReturnType<typeof payloads>;

  constructor(options: CrowdOptions) {
    this.#options = options;
    this.#make = payloads(options.server);
  }

  #transport(): SlackTransport | undefined {
    const { fleet, server, socket = false } = this.#options;
    if (socket) return socketTransport(server);
    const alive = fleet.alive();
    const replica = alive[Math.floor(Math.random() * alive.length)];
    return replica === undefined ? undefined : httpTransport(() => `${replica.base}/slack/events`, signingSecret);
  }

  async #post(event: object, retry: number | undefined): Promise<boolean> {
    const slack = this.#transport();
    if (slack === undefined) return false;
    const outcome = await slack.event(event, retry === undefined ? {} : { retry }).catch(() => undefined);
    return outcome?.acked === true;
  }

  /** Delivers until it is acknowledged, as the platform does. */
  async #deliver(event: object): Promise<void> {
    for (let retry = 0; !(await this.#post(event, retry === 0 ? undefined : retry)); retry += 1) {
      this.redeliveries += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (Math.random() >= (this.#options.again ?? 0)) return;
    this.redeliveries += 1;
    void this.#post(event, 1);
  }

  /** One conversation from first to last turn; the next turn does not wait for the answer to the last one. */
  async converse(): Promise<void> {
    const script = this.conversations.length % scripts.length;
    const channel = 'C00FAKECHAN1';
    const root = this.#options.server.store.nextTs();
    const conversation: Conversation = { channel, thread: root, script, keys: [] };
    this.conversations.push(conversation);
    for (const [turn, text] of (scripts[script] ?? []).entries()) {
      const ts = turn === 0 ? root : this.#options.server.store.nextTs();
      const event = this.#make.mention(text, { ts, channel, ...(turn === 0 ? {} : { thread: root }) });
      await this.#deliver(event);
      conversation.keys.push(deliveryKey(`slack:T00FAKE00AA:${channel}:${ts}`));
    }
  }

  /** Keeps `width` conversations going until `goOn` says no. */
  async talk(width: number, goOn: () => boolean): Promise<void> {
    const lane = async (): Promise<void> => {
      while (goOn()) await this.converse();
    };
    await Promise.all(Array.from({ length: width }, lane));
  }

  said(): number {
    return this.conversations.reduce((sum, { keys }) => sum + keys.length, 0);
  }
}

const Metadata = z.object({ event_payload: z.object({ key: z.string() }) });
const Answer = z.union([Metadata, z.string().transform((text) => Metadata.parse(JSON.parse(text)))]);

export interface Verdict {
  readonly messages: number;
  readonly answers: number;
  readonly missing: number;
  readonly twice: number;
  readonly outOfOrder: number;
  /** Answers that another history of the conversation would get. */
  readonly wrong: number;
  readonly examples: readonly string[];
}

/** Compares what stands in the threads with what was said. */
export function judge(crowd: Crowd, posted: readonly FakeMessage[], expected: readonly (readonly string[])[]): Verdict {
  const threads = new Map<string, FakeMessage[]>();
  for (const message of posted) {
    threads.set(message.threadTs ?? '', [...(threads.get(message.threadTs ?? '') ?? []), message]);
  }
  const sums = { messages: 0, answers: 0, missing: 0, twice: 0, outOfOrder: 0, wrong: 0 };
  const examples: string[] = [];
  for (const { thread, keys, script } of crowd.conversations) {
    const answers = threads.get(thread) ?? [];
    const answered = answers.map(({ metadata }) => Answer.parse(metadata).event_payload.key);
    const distinct = [...new Set(answered)];
    sums.messages += keys.length;
    sums.answers += answered.length;
    sums.missing += keys.filter((key) => !distinct.includes(key)).length;
    sums.twice += answered.length - distinct.length;
    if (distinct.join() !== keys.filter((key) => distinct.includes(key)).join()) sums.outOfOrder += 1;
    for (const [index, { text }] of answers.entries()) {
      const wanted = expected[script]?.[keys.indexOf(answered[index] ?? '')];
      if (wanted === firstLine(text)) continue;
      sums.wrong += 1;
      examples.push(`script ${script}: wanted "${wanted}", got "${firstLine(text)}"`);
    }
  }
  return { ...sums, examples: examples.slice(0, 5) };
}
