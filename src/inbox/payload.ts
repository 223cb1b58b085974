import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Accepted } from '../../adapters/adapter.ts';
import { decodeConversationId, encodeConversationId } from '../message.ts';

const Payload = z.object({
  message: z.object({
    messageId: z.string(),
    conversationId: z.string().transform((id) => encodeConversationId(decodeConversationId(id))),
    userId: z.string(),
    text: z.string(),
    locale: z.enum(['zh', 'en']).exactOptional(),
    estimateCode: z.string().exactOptional(),
    receivedAt: z.number(),
  }),
  address: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});

export const writePayload = ({ message, address }: Accepted): string => JSON.stringify({ message, address });

/** @throws when the stored text was not written by `writePayload`. */
export const readPayload = (payload: string): Accepted => Payload.parse(JSON.parse(payload));

/** The same UUID for every attempt at a message, on every replica. */
export function deliveryKey(messageId: string): string {
  const hex = createHash('sha256').update(messageId).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
