import type { Config } from '../config.ts';
import type { StreamCommand } from './args.ts';
import { createEstimateAnswer } from './estimate-command.ts';
import { processJsonl } from './jsonl.ts';
import { createAdvicePorts } from './ports.ts';
import { createFieldCheck } from './unread-fields.ts';

type Answer = (value: unknown) => unknown | Promise<unknown>;

/** Runs one of the JSONL commands over standard input. Resolves when the stream was processed. */
export async function runStream(command: StreamCommand, config: Config): Promise<void> {
  const answer = await createAnswer(command, config);
  const streams = { input: process.stdin, output: process.stdout, progress: process.stderr };
  const check = command === 'converse' ? () => {} : createFieldCheck(streams.progress);
  await processJsonl(streams, (value) => {
    check(value);
    return answer(value);
  });
}

async function createAnswer(command: StreamCommand, config: Config): Promise<Answer> {
  const ports = createAdvicePorts(config);
  switch (command) {
    case 'estimate':
      return createEstimateAnswer(ports);
    case 'recommend':
      return (await import('./recommend-command.ts')).createRecommendAnswer(ports, config);
    case 'converse':
      return (await import('./converse-command.ts')).createConverseAnswer(ports, config);
  }
}
