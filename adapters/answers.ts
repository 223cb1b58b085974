import { z } from 'zod';
import type { AdapterContext } from './adapter.ts';
import { createShelf, type Shelf } from './shelf.ts';

const parts = z.array(z.unknown()).readonly();
const shape = z.object({ shared: z.object({ text: z.string(), blocks: parts }).optional(), details: parts });

/** What the buttons under an answer need later: the details, and the message to share where only the asker sees it. */
export type KeptAnswer = z.infer<typeof shape>;
/** By place and code of the estimate: `<tenant>/<channel>/G7K2`. */
export type KeptAnswers = Shelf<KeptAnswer>;

export const createKeptAnswers = (context: AdapterContext, name: string, lifeMs: number): KeptAnswers =>
  createShelf(context, { name, shape, lifeMs });
