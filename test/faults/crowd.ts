import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import type { Answer, Chat, Said } from './chat.ts';
import { root } from './fleet.ts';

/** What people say, one list a conversation; doubling twice or a forgotten turn changes every later answer. */
const scripts: readonly (readonly string[])[] = [
  ['segformer b2 512x512 batch 8, budget 10 CNY/hour', 'double the batch', 'turn on amp', 'double the batch'],
  ['deeplabv3+ resnet50 512x1024 batch 2, budget 15 CNY/hour', 'double the batch', 'batch 3', 'turn on amp'],
  ['segformer b0 256x256 batch 4, budget 8 CNY/hour', 'double the batch', 'double the batch', 'double the batch'],
  ['fcn resnet50 512x512 batch 4, budget 12 CNY/hour', 'turn on amp', 'double the batch', 'batch 6'],
];

const Conversed = z.object({ turns: z.array(z.object({ reply: z.string() })) });
const firstLine = (text: string): string => text.split('\n')[0] ?? '';

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

const mostUnanswered = 300;

interface Conversation {
  readonly script: number;
  /** Ids of what was said and acknowledged, in order. */
  readonly said: string[];
}

export interface CrowdOptions {
  readonly chat: Chat;
  /** Share of messages that are delivered again although they were acknowledged. */
  readonly again?: number;
}

/** People who write to the bot through a platform that delivers again what was not acknowledged. */
export class Crowd {
  readonly conversations: Conversation[] = [];
  redeliveries = 0;
  readonly #options: CrowdOptions;

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  /** Delivers until it is acknowledged, as the platform does. */
  async #deliver(said: Said): Promise<void> {
    for (let retry = 0; !(await said.deliver(retry)); retry += 1) {
      this.redeliveries += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (Math.random() >= (this.#options.again ?? 0)) return;
    this.redeliveries += 1;
    void said.deliver(1);
  }

  /** People stop writing when nothing comes back: the bot sheds what it cannot keep up with, which is tested elsewhere. */
  async #patience(): Promise<void> {
    while (this.said() - this.#options.chat.posted() > mostUnanswered)
      await new Promise((resolve) => setTimeout(resolve, 50));
  }

  /** One conversation from first to last turn; the next turn does not wait for the answer to the last one. */
  async converse(): Promise<void> {
    const script = this.conversations.length % scripts.length;
    const talk = this.#options.chat.open();
    const conversation: Conversation = { script, said: [] };
    this.conversations.push(conversation);
    for (const text of scripts[script] ?? []) {
      await this.#patience();
      const said = talk.say(text);
      await this.#deliver(said);
      conversation.said.push(said.id);
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
    return this.conversations.reduce((sum, { said }) => sum + said.length, 0);
  }
}

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

/** A platform may show a long line cut short. */
function isLine(shown: string, wanted: string | undefined): boolean {
  return shown.endsWith('…') ? wanted?.startsWith(shown.slice(0, -1)) === true : shown === wanted;
}

/** Compares what came back with what was said. */
export function judge(crowd: Crowd, answers: readonly Answer[], expected: readonly (readonly string[])[]): Verdict {
  const conversationOf = new Map<string, Conversation>();
  for (const conversation of crowd.conversations)
    for (const id of conversation.said) conversationOf.set(id, conversation);
  const received = new Map<Conversation, Answer[]>();
  for (const answer of answers) {
    const conversation = conversationOf.get(answer.id);
    if (conversation !== undefined) received.set(conversation, [...(received.get(conversation) ?? []), answer]);
  }
  const sums = { messages: 0, answers: 0, missing: 0, twice: 0, outOfOrder: 0, wrong: 0 };
  const examples: string[] = [];
  for (const conversation of crowd.conversations) {
    const { said, script } = conversation;
    const found = received.get(conversation) ?? [];
    const distinct = [...new Set(found.map(({ id }) => id))];
    sums.messages += said.length;
    sums.answers += found.length;
    sums.missing += said.length - distinct.length;
    sums.twice += found.length - distinct.length;
    if (distinct.join() !== said.filter((id) => distinct.includes(id)).join()) sums.outOfOrder += 1;
    for (const { id, text } of found) {
      const wanted = expected[script]?.[said.indexOf(id)];
      if (isLine(firstLine(text), wanted)) continue;
      sums.wrong += 1;
      examples.push(`script ${script}: wanted "${wanted}", got "${firstLine(text)}"`);
    }
  }
  return { ...sums, examples: examples.slice(0, 5) };
}
