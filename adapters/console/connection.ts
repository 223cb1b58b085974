import { createInterface, type Interface } from 'node:readline/promises';

import type { ConsoleAdapterConfig } from './config.ts';

const PROMPT = '› ';

export interface ConsoleConnection {
  /** Resolves when the input ended and every line was answered. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** Reads lines and hands them over one after the other; the next one waits for the answer to the one before. */
export function openConnection(
  config: ConsoleAdapterConfig,
  onLine: (line: string) => Promise<string | null>,
): ConsoleConnection {
  const reader = createInterface({
    input: config.input,
    ...(config.interactive ? { output: config.output, prompt: PROMPT, terminal: true } : {}),
  });
  const closed = pump(reader, config, onLine).finally(() => config.onEnd?.());
  return {
    closed,
    close: async () => {
      reader.close();
      await closed;
    },
  };
}

async function pump(
  reader: Interface,
  config: ConsoleAdapterConfig,
  onLine: (line: string) => Promise<string | null>,
): Promise<void> {
  reader.on('SIGINT', () => reader.close());
  if (config.interactive) reader.prompt();
  for await (const line of reader) {
    const answer = await onLine(line);
    if (answer !== null) config.output.write(`\n${answer}\n`);
    if (config.interactive) reader.prompt();
  }
}
