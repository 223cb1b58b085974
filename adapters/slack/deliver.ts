import type { webApi } from '@slack/bolt';
import { AppError } from '../../src/errors.ts';
import type { Reply } from '../../src/reply/reply.ts';
import type { AdapterContext, Delivery } from '../adapter.ts';
import { refusal } from '../http.ts';
import type { Reception } from '../reception.ts';
import type { Seal } from '../seal.ts';
import type { SlackAddress } from './receive.ts';
import { renderReply, type SlackMessage } from './render.ts';
import { postResponse, write } from './web.ts';

export interface Courier {
  readonly context: AdapterContext;
  readonly address: SlackAddress;
  readonly client: webApi.WebClient;
  readonly seal: Seal;
  readonly delivery?: Delivery | undefined;
}

type Way = (courier: Courier, message: Partial<SlackMessage>) => Promise<void>;

const quiet = { unfurl_links: false, unfurl_media: false };
const threadOf = ({ threadTs }: SlackAddress) => (threadTs === null ? {} : { thread_ts: threadTs });

/** Whether an earlier attempt got through: our messages carry the delivery's key as metadata. */
async function isDelivered({ address, client, delivery }: Courier): Promise<boolean> {
  const { channel, threadTs } = address;
  if (delivery?.repeated !== true || threadTs === null) return false;
  const look = { channel, ts: threadTs, include_all_metadata: true, limit: 100 };
  const found = await client.conversations.replies(look).catch(() => undefined);
  return found?.messages?.some((message) => JSON.stringify(message.metadata ?? {}).includes(delivery.key)) ?? false;
}

const post: Way = async (courier, { text, blocks }) => {
  const { context, address, client, delivery } = courier;
  if (await isDelivered(courier)) return;
  const mark = delivery && { metadata: { event_type: 'gpu_size_answer', event_payload: { key: delivery.key } } };
  const message = { channel: address.channel, text, ...threadOf(address), ...mark, ...quiet };
  await write(client, 'chat.postMessage', { ...message, blocks }).catch((error: unknown) => {
    const reason = error instanceof AppError ? error.details['reason'] : undefined;
    if (reason !== 'invalid_blocks' && reason !== 'msg_blocks_too_long') throw error;
    context.logger.warn({ error }, 'blocks refused, text sent');
    return write(client, 'chat.postMessage', message);
  });
};

const update: Way = async ({ address, client }, message) => {
  const { channel, updateTs: ts } = address;
  if (ts === null || address.ephemeral) throw refusal(false, 'nothing to update');
  await write(client, 'chat.update', { channel, ts, ...message });
};

const respond: Way = async ({ address, seal }, message) => {
  const url = seal.open(address.response ?? '');
  if (url === undefined) throw refusal(false, 'no response URL');
  await postResponse(url, { ...message, replace_original: address.route === 'update', response_type: 'ephemeral' });
};

/** Where only the asker reads it: in the channel if we are in it, else in the direct messages. */
const whisper: Way = async ({ address, client }, message) => {
  const { channel, user } = address;
  await write(client, 'chat.postEphemeral', { channel, user, ...message, ...threadOf(address) }).catch(() =>
    write(client, 'chat.postMessage', { channel: user, ...message, ...quiet }),
  );
};

const routes = { post: [post, respond], update: [respond, update, post], respond: [respond, whisper] } as const;

/**
 * Tries the ways of the address in turn: one that is refused leads to the next, and so does a response URL that does not
 * answer (it is another host); an unreachable Web API ends it, since the same way is best tried again later.
 */
export const send: Way = async (courier, message) => {
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
};

/** Renders, sends, and keeps what the buttons under the answer need. */
export async function deliverReply(courier: Courier, reply: Reply, keep: Reception<SlackAddress>['keep']) {
  const { context, address } = courier;
  const ephemeral = address.ephemeral || address.route === 'respond';
  const rendered = renderReply(reply, { thread: address.thread, ephemeral }, context.texts(reply.locale));
  await send(courier, rendered.message);
  const { details, shared } = rendered;
  await keep(address, reply.estimateCode, ephemeral ? { details, shared } : { details });
}
