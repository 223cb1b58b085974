import type { z } from 'zod';

import type { Adapter, AdapterContext } from './adapter.ts';
import type { ConsoleAdapterConfig } from './console/config.ts';
import { dingtalkEnvSchema } from './dingtalk/config.ts';
import { slackEnvSchema } from './slack/config.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** One platform as the environment configures it: off, ready to be created, or what is missing, by variable name. */
export type AdapterSetup =
  | { readonly kind: 'off' }
  | { readonly kind: 'ready'; create(context: AdapterContext): Promise<Adapter> }
  | { readonly kind: 'broken'; readonly problems: readonly string[] };

export interface AdapterEntry {
  setUp(environment: Environment): AdapterSetup;
}

type Factory<Config> = (config: Config, context: AdapterContext) => Adapter;

/** A platform's code and packages are loaded when its adapter is created, not before. */
function entry<Config>(schema: z.ZodType<Config | null>, load: () => Promise<Factory<Config>>): AdapterEntry {
  return {
    setUp(environment) {
      const parsed = schema.safeParse(environment);
      if (!parsed.success) return { kind: 'broken', problems: parsed.error.issues.map(problemText) };
      const config = parsed.data;
      if (config === null) return { kind: 'off' };
      return { kind: 'ready', create: async (context) => (await load())(config, context) };
    },
  };
}

function problemText(issue: z.core.$ZodIssue): string {
  return `${issue.path.join('.')}: ${issue.message}`;
}

/** Platforms by name. Another one is one line here and a folder of the same file names. */
export const adapters: Readonly<Record<string, AdapterEntry>> = {
  slack: entry(slackEnvSchema, async () => (await import('./slack/index.ts')).createSlackAdapter),
  dingtalk: entry(dingtalkEnvSchema, async () => (await import('./dingtalk/index.ts')).createDingtalkAdapter),
};

/** The terminal: configured by whoever owns the streams, not by the environment. */
export async function createConsole(config: ConsoleAdapterConfig, context: AdapterContext): Promise<Adapter<string>> {
  return (await import('./console/index.ts')).createConsoleAdapter(config, context);
}
