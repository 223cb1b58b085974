import { encodeConversationId, type IncomingMessage } from '../../src/message.ts';
import type { Reply } from '../../src/reply/reply.ts';
import { consoleLimits } from './limits.ts';

export interface TypedLine {
  readonly text: string;
  readonly userId: string;
  readonly number: number;
  readonly receivedAt: number;
  /** The reply on the screen, whose choices may be picked by number. */
  readonly previous: Reply | undefined;
}

/** One typed line as a message; null when there is nothing to answer. */
export function receiveLine(line: TypedLine): IncomingMessage | null {
  const typed = line.text.toWellFormed().trim();
  if (typed === '') return null;
  const chosen = chosenText(typed, line.previous);
  const { estimateCode } = line.previous ?? {};
  return {
    messageId: `console:${line.userId}:${line.receivedAt}:${line.number}`,
    conversationId: encodeConversationId({
      adapter: 'console',
      tenant: 'local',
      channel: 'terminal',
      thread: line.userId,
    }),
    userId: `console:local:${line.userId}`,
    text: (chosen ?? typed).slice(0, consoleLimits.inputCharacters + 1),
    receivedAt: line.receivedAt,
    ...(chosen === undefined || estimateCode === undefined ? {} : { estimateCode }),
  };
}

/** After a question a bare number is the answer to it, so a choice is picked with `#`. */
function chosenText(typed: string, previous: Reply | undefined): string | undefined {
  if (previous === undefined) return undefined;
  const pattern = previous.kind === 'question' ? /^[#＃](\d{1,2})$/ : /^[#＃]?(\d{1,2})$/;
  const [, number] = pattern.exec(typed.normalize('NFKC')) ?? [];
  return number === undefined ? undefined : previous.choices[Number(number) - 1]?.say;
}
