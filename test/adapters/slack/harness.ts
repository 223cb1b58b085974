import { createServer, type Server } from 'node:http';
import type { Accepted, AcceptOutcome, Adapter, AdapterContext, Logger } from '../../../adapters/adapter.ts';
import { type SlackAdapterConfig, slackEnvSchema } from '../../../adapters/slack/config.ts';
import { createSlackAdapter } from '../../../adapters/slack/index.ts';
import type { SlackMessage } from '../../../adapters/slack/render.ts';
import { AppError } from '../../../src/errors.ts';
import type { Reply } from '../../../src/reply/reply.ts';
import { openStateStore } from '../../../src/state/open-state-store.ts';
import type { Store } from '../../../src/state/store.ts';
import { httpTransport, payloads, type SlackTransport, socketTransport } from '../../fakes/slack-driver.ts';
import { SlackServer } from '../../fakes/slack-server.ts';
import type { FakeWorkspace } from '../../fakes/slack-workspace.ts';
import { fullReply, textsOf } from './samples.ts';

export const signingSecret = 'signing-secret-of-the-tests';
export type Mode = 'socket' | 'http' | 'oauth';

export interface Bench {
  readonly server: SlackServer;
  readonly adapter: Adapter<SlackMessage>;
  readonly slack: SlackTransport;
  readonly make: ReturnType<typeof payloads>;
  /** What reached the inbox, duplicates left out. */
  readonly accepted: Accepted[];
  readonly feedback: unknown[];
  readonly logs: string[];
  readonly context: AdapterContext;
  readonly store: Store;
  readonly url: () => string;
  outcome: AcceptOutcome | undefined;
  /** The store does not take anything. */
  broken: boolean;
  /** Accepting waits for this; `held` counts who waits. */
  hold: Promise<void> | undefined;
  held: number;
  reply: (accepted: Accepted) => Reply;
  /** Resolves when everything accepted so far was delivered or failed. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export interface BenchOptions {
  readonly workspaces?: readonly FakeWorkspace[];
  readonly env?: Readonly<Record<string, string>>;
  readonly start?: boolean;
  readonly prefill?: Readonly<Record<string, string>>;
  /** What the home tab and the form show is known only then. */
  readonly known?: Promise<void>;
}

export function configOf(env: Readonly<Record<string, string | undefined>>): SlackAdapterConfig {
  const config = slackEnvSchema.parse(env);
  if (config === null) throw new Error('Slack is not configured');
  return config;
}

const environment = (mode: Mode, server: SlackServer): Record<string, string> => {
  const base = { SLACK_API_URL: server.apiUrl };
  if (mode === 'socket') return { ...base, SLACK_BOT_TOKEN: 'xoxb-fake-one-secret', SLACK_APP_TOKEN: server.appToken };
  if (mode === 'http') return { ...base, SLACK_BOT_TOKEN: 'xoxb-fake-one-secret', SLACK_SIGNING_SECRET: signingSecret };
  return {
    ...base,
    SLACK_CLIENT_ID: '1.2',
    SLACK_CLIENT_SECRET: 'client-secret-x',
    SLACK_STATE_SECRET: 'state-secret-x',
    SLACK_SIGNING_SECRET: signingSecret,
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
};

function recordingLogger(logs: string[]): Logger {
  const write = (level: string) => (fields: Readonly<Record<string, unknown>>, event: string) => {
    const plain = Object.entries(fields).map(([key, value]) => [
      key,
      value instanceof Error ? `${value.name} ${value.message}` : value,
    ]);
    logs.push(`${level} ${event} ${JSON.stringify(Object.fromEntries(plain))}`);
  };
  const logger: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => logger,
  };
  return logger;
}

/** The adapter on a real store and real sockets, with an inbox that answers at once. */
export async function openBench(mode: Mode, options: BenchOptions = {}): Promise<Bench> {
  const server = await SlackServer.start(options.workspaces);
  const store = await openStateStore('memory:');
  const logs: string[] = [];
  const accepted: Accepted[] = [];
  const feedback: unknown[] = [];
  const seen = new Set<string>();
  const working = new Set<Promise<void>>();
  const tails = new Map<string, Promise<void>>();
  const work = async (item: Accepted): Promise<void> => {
    const reply = bench.reply(item);
    await bench.adapter.deliver(item.address, reply, { key: `key-${item.message.messageId}`, repeated: false });
  };
  const context: AdapterContext = {
    async accept(item) {
      if (bench.hold !== undefined) {
        bench.held += 1;
        await bench.hold;
      }
      if (bench.broken) throw new AppError('store-unavailable', 'disk full');
      if (bench.outcome !== undefined) return bench.outcome;
      if (seen.has(item.message.messageId)) return 'duplicate';
      seen.add(item.message.messageId);
      accepted.push(item);
      const previous = tails.get(item.message.conversationId) ?? Promise.resolve();
      const next = previous
        .then(() => work(item))
        .catch((error: unknown) => void logs.push(`delivery ${String(error)}`));
      tails.set(item.message.conversationId, next);
      working.add(next);
      return 'accepted';
    },
    answer: async () => fullReply(),
    prefill: async () => {
      await options.known;
      return options.prefill ?? {};
    },
    recentEstimates: async () => {
      await options.known;
      return [{ estimateCode: 'G7K2', verdict: 'unet 512: 8 GiB', say: 'unet 512x512 batch 8', at: 1 }];
    },
    feedback: async (userId, code, helpful) => void feedback.push([userId, code, helpful]),
    texts: textsOf,
    store,
    logger: recordingLogger(logs),
    metrics: { count: () => undefined, observe: () => undefined, gauge: () => undefined },
    now: Date.now,
  };
  const config = configOf({ ...environment(mode, server), ...options.env });
  const adapter = createSlackAdapter(config, context);
  const web = await listen(adapter);
  const url = (): string => `http://127.0.0.1:${web.port}/slack/events`;
  const bench: Bench = {
    server,
    adapter,
    slack: mode === 'socket' ? socketTransport(server) : httpTransport(url, signingSecret),
    make: payloads(server),
    accepted,
    feedback,
    logs,
    context,
    store,
    url,
    outcome: undefined,
    broken: false,
    hold: undefined,
    held: 0,
    reply: ({ message }) => fullReply({ fallback: `heard: ${message.text}` }),
    async settled() {
      await Promise.allSettled(working);
    },
    async stop() {
      await adapter.stop();
      await web.close();
      await server.stop();
      await store.close();
    },
  };
  if (options.start !== false) await adapter.start();
  return bench;
}

async function listen(adapter: Adapter): Promise<{ port: number; close: () => Promise<void> }> {
  const http: Server = createServer((request, response) => {
    if (adapter.http?.paths.includes((request.url ?? '').split('?', 1)[0] ?? '') === true)
      adapter.http.handle(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const address = http.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}
