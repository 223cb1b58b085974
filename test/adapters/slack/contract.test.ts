import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { SlackMessage } from '../../../adapters/slack/render.ts';
import type { IncomingMessage } from '../../../src/message.ts';
import { adapterContract } from '../../contracts/adapter-contract.ts';
import { messageProblems } from '../../fakes/block-kit.ts';
import { openBench } from './harness.ts';

const folder = join(import.meta.dirname, '../../fixtures/slack-payloads');
const events = [
  'app_mention',
  'app_mention.with-file',
  'app_mention.slack-connect',
  'message.im',
  'message.im-agent-app_context',
];

/** Everything that a block list shows, in order. */
function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    key === 'text' && typeof child === 'string' ? [child] : textsIn(child),
  );
}

async function received(): Promise<readonly IncomingMessage[]> {
  const bench = await openBench('http');
  for (const name of events) {
    await bench.slack.event(
      z.looseObject({}).parse(JSON.parse(readFileSync(join(folder, `event.${name}.json`), 'utf8'))),
    );
  }
  await bench.settled();
  await bench.stop();
  return bench.accepted.map(({ message }) => message);
}

adapterContract<SlackMessage>({
  name: 'slack',
  open: async () => {
    const bench = await openBench('socket', { start: false });
    return { adapter: bench.adapter, close: () => bench.stop() };
  },
  received,
  problems: (message) => messageProblems(message),
  textOf: ({ text, blocks }) => [text, ...textsIn(blocks)].join('\n'),
});
