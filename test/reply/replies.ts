import { initialState } from '../../src/dialog/reduce.ts';
import type { Reply } from '../../src/reply/reply.ts';
import { decideTurn } from '../../src/turn/take-turn.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

export const { catalog } = answerPorts;
export const prices = answerPorts.prices();

/** What a new conversation answers to its first message, in the message's language. */
export function reply(text: string): Reply & { readonly beliefs: readonly string[] } {
  const { compose, understanding } = decideTurn(initialState(/[一-鿿]/.test(text) ? 'zh' : 'en'), text, answerPorts);
  return { ...compose(null), beliefs: understanding.beliefs };
}
