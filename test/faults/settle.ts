import type { SlackServer } from '../fakes/slack-server.ts';
import type { FakeMessage } from '../fakes/slack-workspace.ts';
import type { Crowd, Verdict } from './crowd.ts';

/** Waits until every message has an answer, then a little for one too many; returns what the bot posted. */
export async function settle(server: SlackServer, crowd: Crowd, patienceMs = 120_000): Promise<readonly FakeMessage[]> {
  const posted = (): FakeMessage[] => server.store.messages.filter(({ threadTs }) => threadTs !== undefined);
  const deadline = performance.now() + patienceMs;
  while (posted().length < crowd.said() && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  return posted();
}

/** One line of counts, for the record. */
export function report(name: string, crowd: Crowd, { examples, ...counts }: Verdict): void {
  const figures = Object.entries({
    conversations: crowd.conversations.length,
    ...counts,
    redeliveries: crowd.redeliveries,
  });
  const line = figures.map(([what, count]) => `${what} ${count}`).join(', ');
  process.stdout.write(`${name}: ${line}\n${examples.map((example) => `  ${example}\n`).join('')}`);
}
