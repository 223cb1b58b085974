import { AppError } from '../../src/errors.ts';
import type { Reply } from '../../src/reply/reply.ts';
import type { Adapter, AdapterContext, ConnectionStatus } from '../adapter.ts';
import type { ConsoleAdapterConfig } from './config.ts';
import { type ConsoleConnection, openConnection } from './connection.ts';
import { consoleLimits } from './limits.ts';
import { receiveLine } from './receive.ts';
import { renderConsole } from './render.ts';

export type { ConsoleAdapterConfig } from './config.ts';

/** A conversation in the terminal: one person, one conversation, answers straight away. */
export function createConsoleAdapter(config: ConsoleAdapterConfig, context: AdapterContext): Adapter<string> {
  let connection: ConsoleConnection | undefined;
  let status: ConnectionStatus = 'stopped';
  let previous: Reply | undefined;
  let number = 0;
  const render = (reply: Reply): string =>
    renderConsole(reply, {
      color: config.color,
      columns: config.columns ?? consoleLimits.defaultColumns,
      everything: config.everything,
    });
  const onLine = async (text: string): Promise<string | null> => {
    number += 1;
    const message = receiveLine({ text, userId: config.userId, number, receivedAt: context.now(), previous });
    if (message === null) return null;
    previous = await context.answer(message);
    return render(previous);
  };
  return {
    name: 'console',
    capabilities: {
      buttons: false,
      threads: false,
      updates: false,
      images: false,
      maximumBytes: Number.MAX_SAFE_INTEGER,
    },
    start: async () => {
      status = 'connected';
      connection = openConnection(config, onLine);
      connection.closed.then(
        () => {
          status = 'stopped';
        },
        () => {
          status = 'failed';
        },
      );
    },
    stop: async () => {
      await connection?.close();
      status = 'stopped';
    },
    status: () => status,
    render,
    deliver: async (_address, reply) => {
      if (config.output.destroyed) throw new AppError('platform-unreachable', 'the terminal is gone');
      config.output.write(`\n${render(reply)}\n`);
    },
    check: async () => [],
  };
}
