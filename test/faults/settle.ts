import type { Answer, Chat } from './chat.ts';
import type { Crowd, Verdict } from './crowd.ts';

/** Waits until every message has an answer, then a little for one too many; returns what the bot posted. */
export async function settle(chat: Chat, crowd: Crowd, patienceMs = 120_000): Promise<readonly Answer[]> {
  const deadline = performance.now() + patienceMs;
  while (chat.answers().length < crowd.said() && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  return chat.answers();
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
