import type { webApi } from '@slack/bolt';
import { AppError } from '../../src/errors.ts';
import type { Reply } from '../../src/reply/reply.ts';
import type { AdapterContext, Delivery } from '../adapter.ts';
import type { Seal } from '../seal.ts';
import { type SlackAddress, tenantOf, userIdOf } from './receive.ts';
import { renderReply, type SlackMessage } from './render.ts';
import { postResponse, write } from './web.ts';

/** Key of what the buttons under an answer need later: the details, and the message to share. */
export const answerKey = (address: SlackAddress, code: string): string =>
  `slack/answer/${tenantOf(address)}/${address.channel}/${code}`;

export interface Courier {
  readonly context: AdapterContext;
  readonly address: SlackAddress;
  readonly client: webApi.WebClient;
  readonly seal: Seal;
  readonly delivery?: Delivery | undefined;
  /** How long the details of the answer can be opened. */
  readonly keepMs: number;
}

const quiet = { unfurl_links: false, unfurl_media: false };
const eventType = 'gpu_size_answer';

/** Whether an earlier attempt got through: our messages carry the delivery's key as metadata. */
async function isDelivered({ address, client, delivery }: Courier): Promise<boolean> {
  const { channel, threadTs } = address;
  if (delivery?.repeated !== true || threadTs === null) return false;
  const look = { channel, ts: threadTs, include_all_metadata: true, limit: 100 };
  const found = await client.conversations.replies(look).catch(() => undefined);
  return found?.messages?.some((message) => JSON.stringify(message.metadata ?? {}).includes(delivery.key)) ?? false;
}

async function post(courier: Courier, { text, blocks }: SlackMessage): Promise<void> {
  const { context, address, client, delivery } = courier;
  if (await isDelivered(courier)) return;
  const thread = address.threadTs === null ? {} : { thread_ts: address.threadTs };
  const metadata =
    delivery === undefined ? {} : { metadata: { event_type: eventType, event_payload: { key: delivery.key } } };
  const message = { channel: address.channel, text, ...thread, ...metadata, ...quiet };
  await write(client, 'chat.postMessage', { ...message, blocks }).catch((error: unknown) => {
    const reason = error instanceof AppError ? error.details['reason'] : undefined;
    if (reason !== 'invalid_blocks' && reason !== 'msg_blocks_too_long') throw error;
    context.logger.warn({ error }, 'blocks refused, text sent');
    return write(client, 'chat.postMessage', message);
  });
}

async function update({ address, client }: Courier, { text, blocks }: SlackMessage): Promise<void> {
  const { channel, updateTs: ts } = address;
  if (ts === null || address.ephemeral) throw new AppError('platform-refused', 'nothing to update');
  await write(client, 'chat.update', { channel, ts, text, blocks });
}

async function respond({ address, seal }: Courier, { text, blocks }: SlackMessage): Promise<void> {
  const url = address.response === null ? undefined : seal.open(address.response);
  if (url === undefined) throw new AppError('platform-refused', 'no response URL');
  await postResponse(url, { text, blocks, replace_original: address.route === 'update', response_type: 'ephemeral' });
}

/** Where only the asker reads it: in the channel if we are in it, else in the direct messages. */
async function whisper({ address, client }: Courier, { text, blocks }: SlackMessage): Promise<void> {
  const { channel, user } = address;
  await write(client, 'chat.postEphemeral', { channel, user, text, blocks }).catch(() =>
    write(client, 'chat.postMessage', { channel: user, text, blocks, ...quiet }),
  );
}

const routes = { post: [post, respond], update: [respond, update, post], respond: [respond, whisper] } as const;

/**
 * Tries the ways of the address in turn: one that is refused leads to the next, and so does a response URL that does not
 * answer (it is another host); an unreachable Web API ends it, since the same way is best tried again later.
 */
async function send(courier: Courier, message: SlackMessage): Promise<void> {
  let first: unknown;
  for (const way of routes[courier.address.route]) {
    try {
      return await way(courier, message);
    } catch (error) {
      first ??= error;
      const refused = error instanceof AppError && error.code === 'platform-refused';
      if (!refused && way !== respond) throw error;
    }
  }
  throw first;
}

/** Renders, sends, and keeps what the buttons under the answer need. */
export async function deliverReply(courier: Courier, reply: Reply): Promise<void> {
  const { context, address, keepMs } = courier;
  const ephemeral = address.ephemeral || address.route === 'respond';
  const { message, shared, details } = renderReply(
    reply,
    { thread: address.thread, ephemeral },
    context.texts(reply.locale),
  );
  await send(courier, message);
  if (reply.estimateCode === undefined || (details.length === 0 && !ephemeral)) return;
  const kept = ephemeral ? { shared, details } : { details };
  const options = { expiresAt: context.now() + keepMs, userId: userIdOf(address) };
  // The answer is out: a failure here may cost a button, never a second answer.
  await context.store.set(answerKey(address, reply.estimateCode), kept, options).catch((error: unknown) => {
    context.logger.warn({ error }, 'details not kept');
  });
}
