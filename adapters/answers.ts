import { z } from 'zod';
import type { AdapterContext } from './adapter.ts';
import { createShelf } from './shelf.ts';

const parts = z.array(z.unknown()).readonly();
const shape = z.object({ shared: z.object({ text: z.string(), blocks: parts }).optional(), details: parts });

/** What the buttons under an answer need later: the details, and the message to share where only the asker sees it. */
export type KeptAnswer = z.infer<typeof shape>;

/** Whose answer it is, and the key under which lies what is kept about the channel: `<tenant>/<channel>`. */
export interface AnswerOwner {
  readonly channelKey: string;
  readonly userId: string;
}

/** Answers that were sent, by channel and code of the estimate. */
export function createAnswers(context: AdapterContext, name: string, lifeMs: number) {
  const shelf = createShelf(context, { name, shape, lifeMs });
  return {
    find: (channelKey: string, code: string): Promise<KeptAnswer | undefined> => shelf.find(`${channelKey}/${code}`),
    /** Where something can be asked for later. The answer is out: a failure may cost a button, never a second answer. */
    async keep({ channelKey, userId }: AnswerOwner, code: string | undefined, kept: KeptAnswer): Promise<void> {
      if (code === undefined || (kept.details.length === 0 && kept.shared === undefined)) return;
      await shelf.put(`${channelKey}/${code}`, kept, userId).catch((error: unknown) => {
        context.logger.warn({ error }, 'details not kept');
      });
    },
    dropAll: shelf.dropAll,
  };
}
