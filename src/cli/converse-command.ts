import { z } from 'zod';

import type { AdvicePorts } from '../advice/request.ts';
import type { Config } from '../config.ts';
import type { DialogState } from '../dialog/dialog-state.ts';
import { initialState } from '../dialog/reduce.ts';
import { takeConversationTurn } from '../turn/take-turn.ts';
import { parseFields } from '../workload/fields.ts';

const conversation = z.object({
  id: z.union([z.string(), z.number()]),
  locale: z.enum(['zh', 'en']).nullish(),
  turns: z.array(z.object({ user: z.string() })).max(1_000),
});

/** Answers one line of `converse --jsonl`: the turns of a line share one conversation, lines are independent. */
export function createConverseAnswer(
  ports: AdvicePorts,
  config: Pick<Config, 'region' | 'locale'>,
): (value: unknown) => unknown {
  const answerPorts = { ...ports, prices: () => ports.prices, region: config.region };
  return (value) => {
    const { id, locale, turns } = parseFields(conversation, value);
    let state: DialogState = initialState(locale ?? config.locale);
    const answered = turns.map(({ user }) => {
      const taken = takeConversationTurn(state, user, answerPorts);
      state = taken.state;
      const { intent, intents, artifact } = taken.understanding;
      return { intent, intents, slots: state.slots, artifact, asks: state.asked, reply: taken.reply.fallback };
    });
    return { id, turns: answered };
  };
}
