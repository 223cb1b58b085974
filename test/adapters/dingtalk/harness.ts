import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Accepted, AcceptOutcome, Adapter, AdapterContext, Logger } from '../../../adapters/adapter.ts';
import { type DingtalkAdapterConfig, dingtalkEnvSchema } from '../../../adapters/dingtalk/config.ts';
import { createDingtalkAdapter } from '../../../adapters/dingtalk/index.ts';
import type { DingtalkMessage } from '../../../adapters/dingtalk/render.ts';
import { AppError } from '../../../src/errors.ts';
import type { Reply } from '../../../src/reply/reply.ts';
import { openStateStore } from '../../../src/state/open-state-store.ts';
import { DingtalkGateway } from '../../fakes/dingtalk-gateway.ts';
import { robotMessages } from '../../fakes/dingtalk-payloads.ts';
import { chineseTexts, englishTexts, fullReply } from '../slack/samples.ts';

export interface Bench {
  readonly gateway: DingtalkGateway;
  readonly adapter: Adapter<DingtalkMessage>;
  readonly say: ReturnType<typeof robotMessages>;
  /** What reached the inbox, duplicates left out. */
  readonly accepted: Accepted[];
  readonly logs: string[];
  readonly context: AdapterContext;
  outcome: AcceptOutcome | undefined;
  /** The store does not take anything. */
  broken: boolean;
  reply: (accepted: Accepted) => Reply;
  /** Resolves when everything accepted so far was delivered or failed. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export interface BenchOptions {
  readonly start?: boolean;
  readonly pace?: Partial<DingtalkAdapterConfig['pace']>;
  readonly env?: Readonly<Record<string, string>>;
  readonly gateway?: DingtalkGateway;
}

/** Short pauses, so that a test sees many attempts in little time. */
export const quickPace = { firstPauseMs: 20, longestPauseMs: 200, refusedPauseMs: 300, pingMs: 150, idleMs: 60_000 };

export const environmentOf = (gateway: DingtalkGateway): Record<string, string> => ({
  DINGTALK_CLIENT_ID: gateway.clientId,
  DINGTALK_CLIENT_SECRET: gateway.clientSecret,
  DINGTALK_OPENAPI_ENDPOINT: gateway.url,
  DINGTALK_LEGACY_ENDPOINT: gateway.url,
});

export function configOf(env: Readonly<Record<string, string | undefined>>): DingtalkAdapterConfig {
  const config = dingtalkEnvSchema.parse(env);
  if (config === null) throw new Error('DingTalk is not configured');
  return config;
}

function recordingLogger(logs: string[]): Logger {
  const write = (level: string) => (fields: Readonly<Record<string, unknown>>, event: string) => {
    const plain = Object.entries(fields).map(([key, value]) => [
      key,
      value instanceof AppError ? `${value.code} ${value.message} ${JSON.stringify(value.details)}` : value,
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

/** The adapter on a real store and real sockets, with an inbox that answers at once: as the real one, in a later turn of the loop. */
export async function openBench(options: BenchOptions = {}): Promise<Bench> {
  const gateway = options.gateway ?? (await DingtalkGateway.start());
  const store = await openStateStore('memory:');
  const logs: string[] = [];
  const accepted: Accepted[] = [];
  const seen = new Set<string>();
  const working = new Set<Promise<void>>();
  const tails = new Map<string, Promise<void>>();
  const work = async (item: Accepted): Promise<void> => {
    await setImmediate();
    await bench.adapter.deliver(item.address, bench.reply(item), { key: randomUUID(), repeated: false });
  };
  const context: AdapterContext = {
    async accept(item) {
      if (bench.broken) throw new AppError('store-unavailable', 'disk full');
      if (bench.outcome !== undefined) return bench.outcome;
      const { messageId, conversationId } = item.message;
      if (seen.has(messageId)) return 'duplicate';
      seen.add(messageId);
      accepted.push(item);
      const next = (tails.get(conversationId) ?? Promise.resolve())
        .then(() => work(item))
        .catch((error: unknown) => void logs.push(`delivery ${String(error)}`));
      tails.set(conversationId, next);
      working.add(next);
      return 'accepted';
    },
    answer: async () => fullReply(),
    prefill: async () => ({}),
    recentEstimates: async () => [],
    feedback: async () => undefined,
    texts: (locale) => (locale === 'zh' ? chineseTexts : englishTexts),
    store,
    logger: recordingLogger(logs),
    metrics: { count: () => undefined, observe: () => undefined, gauge: () => undefined },
    now: Date.now,
  };
  const config = configOf({ ...environmentOf(gateway), ...options.env });
  const adapter = createDingtalkAdapter({ ...config, pace: { ...quickPace, ...options.pace } }, context);
  const bench: Bench = {
    gateway,
    adapter,
    say: robotMessages(gateway),
    accepted,
    logs,
    context,
    outcome: undefined,
    broken: false,
    reply: ({ message }) => fullReply({ fallback: `heard: ${message.text}` }),
    async settled() {
      await Promise.allSettled(working);
    },
    async stop() {
      await adapter.stop();
      await gateway.stop();
      await store.close();
    },
  };
  if (options.start !== false) await adapter.start();
  return bench;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
