import { z } from 'zod';

import { type AdapterSetup, adapters, type Environment } from '../adapters/index.ts';
import { AppError } from './errors.ts';

const blankIsAbsent = (value: unknown): unknown =>
  typeof value === 'string' && value.trim() === '' ? undefined : value;
const text = z.preprocess(blankIsAbsent, z.string().trim().optional());
const url = z.preprocess(blankIsAbsent, z.url().optional());
const count = (fallback: number) => z.preprocess(blankIsAbsent, z.coerce.number().int().positive().default(fallback));

const DEFAULT_PORT = 3_000;
/** Planning rate of USD to CNY (rounded from the 2026-11 quotations; `USD_CNY` replaces it). */
const DEFAULT_USD_CNY = 7.1;

const databaseUrl = text.refine(
  (value) => value === undefined || /^(memory:|sqlite:.+|postgres(ql)?:\/\/)/.test(value),
  'must be memory:, sqlite:PATH or postgres://…',
);

const variables = z.object({
  DATABASE_URL: databaseUrl,
  HOST: z.preprocess(blankIsAbsent, z.string().trim().default('127.0.0.1')),
  PORT: z.preprocess(blankIsAbsent, z.coerce.number().int().min(0).max(65_535).default(DEFAULT_PORT)),
  PRICES: z.preprocess(blankIsAbsent, z.enum(['snapshot', 'public', 'api']).default('snapshot')),
  PRICES_URL: url,
  ECS_ENDPOINT: text,
  ALIBABA_CLOUD_ACCESS_KEY_ID: text,
  ALIBABA_CLOUD_ACCESS_KEY_SECRET: text,
  ALIBABA_CLOUD_SECURITY_TOKEN: text,
  REGION: z.preprocess(blankIsAbsent, z.string().trim().default('cn-hangzhou')),
  LOCALE: z.preprocess(blankIsAbsent, z.enum(['zh', 'en']).default('zh')),
  LOG_LEVEL: z.preprocess(
    blankIsAbsent,
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  ),
  CATALOG_DIR: text,
  USD_CNY: z.preprocess(blankIsAbsent, z.coerce.number().positive().default(DEFAULT_USD_CNY)),
  RETENTION_DAYS: count(30),
  RATE_LIMIT_PER_MINUTE: count(20),
  CONVERSATION_RATE_LIMIT_PER_MINUTE: count(60),
  NO_COLOR: text,
});

/** Everything that the environment decides, read once. */
export interface Config {
  /** Null: the default of the way the program runs (a file when serving, memory in the terminal). */
  readonly databaseUrl: string | null;
  readonly host: string;
  readonly port: number;
  readonly prices: PriceConfig;
  readonly region: string;
  readonly locale: 'zh' | 'en';
  readonly logLevel: string;
  readonly catalogDirectory: string | undefined;
  readonly usdCny: number;
  readonly retentionDays: number;
  readonly rateLimits: { readonly perPerson: number; readonly perConversation: number };
  readonly noColor: boolean;
  /** Platforms that are configured, by name, ready to be created. */
  readonly platforms: readonly { readonly name: string; readonly setup: ReadyAdapter }[];
}

export type ReadyAdapter = Extract<AdapterSetup, { kind: 'ready' }>;

export interface PriceConfig {
  readonly origin: 'snapshot' | 'public' | 'api';
  readonly url: string | undefined;
  readonly endpoint: string | undefined;
  readonly credentials:
    | { readonly id: string; readonly secret: string; readonly securityToken: string | undefined }
    | undefined;
}

/**
 * Parses the environment into one frozen object.
 *
 * @throws AppError `invalid-config` that names every variable that is missing or wrong, all at once.
 */
export function readConfig(environment: Environment = process.env): Config {
  const problems: string[] = [];
  const platforms = readPlatforms(environment, problems);
  const parsed = variables.safeParse(environment);
  if (!parsed.success)
    problems.push(...parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
  if (parsed.success) problems.push(...missingForPrices(parsed.data));
  if (!parsed.success || problems.length > 0) {
    const named = onePerVariable(problems);
    throw new AppError('invalid-config', named.join('\n'), { details: { names: named } });
  }
  return Object.freeze(toConfig(parsed.data, platforms));
}

/** Adapters read some variables too: each is named once. */
function onePerVariable(problems: readonly string[]): readonly string[] {
  const named = new Map<string, string>();
  for (const problem of problems) {
    const variable = problem.split(':', 1)[0] ?? problem;
    if (!named.has(variable)) named.set(variable, problem);
  }
  return [...named.values()];
}

function readPlatforms(environment: Environment, problems: string[]): Config['platforms'] {
  return Object.entries(adapters).flatMap(([name, { setUp }]) => {
    const setup = setUp(environment);
    if (setup.kind === 'broken') problems.push(...setup.problems);
    return setup.kind === 'ready' ? [{ name, setup }] : [];
  });
}

type Variables = z.output<typeof variables>;

function missingForPrices(env: Variables): readonly string[] {
  if (env.PRICES !== 'api') return [];
  const needed = ['ALIBABA_CLOUD_ACCESS_KEY_ID', 'ALIBABA_CLOUD_ACCESS_KEY_SECRET'] as const;
  return needed.filter((name) => env[name] === undefined).map((name) => `${name}: missing (PRICES=api needs it)`);
}

function toConfig(env: Variables, platforms: Config['platforms']): Config {
  const { ALIBABA_CLOUD_ACCESS_KEY_ID: id, ALIBABA_CLOUD_ACCESS_KEY_SECRET: secret } = env;
  const securityToken = env.ALIBABA_CLOUD_SECURITY_TOKEN;
  return {
    databaseUrl: env.DATABASE_URL ?? null,
    host: env.HOST,
    port: env.PORT,
    prices: {
      origin: env.PRICES,
      url: env.PRICES_URL,
      endpoint: env.ECS_ENDPOINT,
      credentials: id === undefined || secret === undefined ? undefined : { id, secret, securityToken },
    },
    region: env.REGION,
    locale: env.LOCALE,
    logLevel: env.LOG_LEVEL,
    catalogDirectory: env.CATALOG_DIR,
    usdCny: env.USD_CNY,
    retentionDays: env.RETENTION_DAYS,
    rateLimits: { perPerson: env.RATE_LIMIT_PER_MINUTE, perConversation: env.CONVERSATION_RATE_LIMIT_PER_MINUTE },
    noColor: env.NO_COLOR !== undefined,
    platforms,
  };
}
