import { createConsole } from '../../adapters/index.ts';
import type { Config } from '../config.ts';
import { encodeConversationId } from '../message.ts';
import { wordsOf } from '../reply/messages/index.ts';
import { createContext } from './context.ts';
import { openProduct, type Product } from './product.ts';

const MEMORY = 'memory:';
const USER = 'you';

/** Answers one message in full and ends. */
export async function runMessage(text: string, config: Config): Promise<void> {
  const product = await openProduct(forOne(config), config.databaseUrl ?? MEMORY);
  const adapter = await consoleFor(product, config, { everything: true });
  const conversation = { adapter: 'console', tenant: 'local', channel: 'command', thread: USER };
  const reply = await product.bot.handle({
    messageId: `console:${Date.now()}`,
    conversationId: encodeConversationId(conversation),
    userId: `console:local:${USER}`,
    text: text.toWellFormed(),
    receivedAt: Date.now(),
  });
  process.stdout.write(String(adapter.render(reply)));
  await product.close();
}

/** A conversation in the terminal, until its input ends. */
export async function runChat(config: Config): Promise<void> {
  const product = await openProduct(forOne(config), config.databaseUrl ?? MEMORY);
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const adapter = await consoleFor(product, config, { everything: false, onEnd: () => end() });
  if (process.stdin.isTTY) process.stdout.write(`${wordsOf(config.locale).dialog.greet}\n\n`);
  await adapter.start();
  await ended;
  await adapter.stop();
  await product.close();
}

/** Limits protect people from each other, and a terminal has one; what that one wants to see is no log. */
function forOne(config: Config): Config {
  const logLevel = config.logLevel === 'info' ? 'warn' : config.logLevel;
  const none = Number.POSITIVE_INFINITY;
  return { ...config, logLevel, rateLimits: { perPerson: none, perConversation: none } };
}

function consoleFor(product: Product, config: Config, looks: { everything: boolean; onEnd?: () => void }) {
  const { stdin: input, stdout: output } = process;
  const context = createContext('console', { ...product, accept: async () => 'overloaded' });
  return createConsole(
    {
      input,
      output,
      interactive: input.isTTY && output.isTTY,
      color: output.isTTY && !config.noColor,
      columns: output.columns,
      userId: USER,
      ...looks,
    },
    context,
  );
}
