import type { DingtalkMessage } from '../../../adapters/dingtalk/render.ts';
import type { IncomingMessage } from '../../../src/message.ts';
import { adapterContract } from '../../contracts/adapter-contract.ts';
import { markdownProblems, messageProblems } from '../../fakes/dingtalk-markdown.ts';
import { openBench } from './harness.ts';
import { fresh, sampleNames } from './recorded.ts';

async function received(): Promise<readonly IncomingMessage[]> {
  const bench = await openBench();
  for (const name of sampleNames) await bench.gateway.send(fresh(bench.gateway, name));
  await bench.settled();
  await bench.stop();
  return bench.accepted.map(({ message }) => message);
}

/** The message as the session webhook takes it. */
function bodyOf({ title, text, buttons }: DingtalkMessage): unknown {
  if (buttons.length === 0) return { msgtype: 'markdown', markdown: { title, text } };
  return { msgtype: 'actionCard', actionCard: { title, text, btnOrientation: '0', btns: buttons } };
}

adapterContract<DingtalkMessage>({
  name: 'dingtalk',
  open: async () => {
    const bench = await openBench({ start: false });
    return { adapter: bench.adapter, close: () => bench.stop() };
  },
  received,
  problems: (message) => [...messageProblems(bodyOf(message)), ...markdownProblems(message.text)],
  textOf: ({ title, text }) => `${title}\n${text}`,
});
