import type { Reply } from '../../src/reply/reply.ts';
import type { Adapter, AdapterContext, Address, Delivery } from '../adapter.ts';
import { createPictures } from '../pictures.ts';
import { createSeal } from '../seal.ts';
import type { DingtalkAdapterConfig } from './config.ts';
import { advice, StreamConnection } from './connection.ts';
import { deliverMessage } from './deliver.ts';
import { Desk } from './desk.ts';
import { dingtalkLimits } from './limits.ts';
import { dingtalkAddress } from './receive.ts';
import { type DingtalkMessage, pictured, renderReply } from './render.ts';
import { AccessToken, isTrustedWebhook, uploadPicture } from './web.ts';

export type { DingtalkAdapterConfig } from './config.ts';

const dayMs = 86_400_000;

/** DingTalk in Stream mode: an outgoing connection, no public address. */
export function createDingtalkAdapter(
  config: DingtalkAdapterConfig,
  context: AdapterContext,
): Adapter<DingtalkMessage> {
  const seal = createSeal(config.encryptionKey, config.clientSecret);
  const token = new AccessToken(config, context.now);
  const send = (place: Address, message: DingtalkMessage, delivery?: Delivery): Promise<void> => {
    const address = dingtalkAddress.parse(place);
    const isCurrent = address.webhookExpiresAt === 0 || address.webhookExpiresAt > context.now();
    const opened = isCurrent ? seal.open(address.webhook ?? '') : undefined;
    const webhook = opened !== undefined && isTrustedWebhook(opened, config) ? opened : null;
    if (opened !== undefined && webhook === null)
      context.logger.warn({}, 'a session webhook outside the platform is not used');
    return deliverMessage({ config, address, webhook, token, key: delivery?.key }, message);
  };
  const desk = new Desk({ context, seal, send, keepMs: config.retentionDays * dayMs });
  const drawn = createPictures({
    upload: (png) => uploadPicture(config.legacyUrl, token, png),
    logger: context.logger,
  });
  const connection = new StreamConnection(config, context, (data) => desk.receive(data));
  return {
    name: 'dingtalk',
    capabilities: {
      buttons: true,
      threads: false,
      updates: false,
      images: config.charts,
      maximumBytes: dingtalkLimits.messageBytes + dingtalkLimits.plainBytes,
    },
    start: () => connection.start(),
    stop: () => connection.stop(),
    status: () => connection.status,
    render: (reply) => renderReply(reply, { isGroup: false }, context.texts(reply.locale)),
    async deliver(address, reply: Reply, delivery) {
      const place = dingtalkAddress.parse(address);
      const bar = config.charts ? pictured(reply) : undefined;
      const picture = bar && (await drawn(bar, delivery?.key));
      const message = renderReply(reply, { isGroup: place.isGroup, picture }, context.texts(reply.locale));
      await desk.offer(place.dialog, reply);
      await send(address, message, delivery);
    },
    async check() {
      const attempts = await Promise.allSettled([token.get(), connection.probe()]);
      return attempts.flatMap((attempt) => {
        if (attempt.status === 'fulfilled') return [];
        const { reason } = attempt;
        return [`${reason instanceof Error ? reason.message : 'unknown failure'}; ${advice(reason)}`];
      });
    },
  };
}
