import { asAppError } from '../../src/errors.ts';
import type { Adapter, AdapterContext } from '../adapter.ts';
import { createPictures } from '../pictures.ts';
import { createSeal } from '../seal.ts';
import { Supervisor } from '../supervisor.ts';
import type { DingtalkAdapterConfig } from './config.ts';
import { advice, StreamClient } from './connection.ts';
import { deliverMessage, type Parcel } from './deliver.ts';
import { createRobotDesk } from './desk.ts';
import { dingtalkLimits } from './limits.ts';
import { dingtalkAddress } from './receive.ts';
import { type DingtalkMessage, pictured, renderReply } from './render.ts';
import { createToken, uploadPicture } from './web.ts';

const dayMs = 86_400_000;

/** DingTalk in Stream mode: an outgoing connection, no public address. */
export function createDingtalkAdapter(
  config: DingtalkAdapterConfig,
  context: AdapterContext,
): Adapter<DingtalkMessage> {
  const { logger } = context;
  const seal = createSeal(config.encryptionKey, config.clientSecret);
  const token = createToken(config, context.now);
  const send = (parcel: Parcel): Promise<void> => deliverMessage({ config, context, seal, token }, parcel);
  const desk = createRobotDesk({ context, seal, send, keepMs: config.retentionDays * dayMs });
  const drawn = createPictures({ upload: (png) => uploadPicture(config.legacyUrl, token, png), logger });
  const newClient = (): StreamClient => new StreamClient(config, logger, (data) => desk.receive(data));
  const connect = () => newClient().open();
  const connection = new Supervisor({ name: 'dingtalk', context, pace: config.pace, connect, advice });
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
    async deliver(place, reply, delivery) {
      const address = dingtalkAddress.parse(place);
      const bar = config.charts ? pictured(reply) : undefined;
      const picture = bar && (await drawn(bar, delivery?.key));
      const message = renderReply(reply, { isGroup: address.isGroup, picture }, context.texts(reply.locale));
      await desk.offer(address.dialog, reply);
      await send({ address, message, key: delivery?.key });
    },
    async check() {
      const attempts = await Promise.allSettled([token.get(), newClient().getEndpoint()]);
      const failures = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason] : []));
      return failures.map((reason) => `${asAppError(reason).message}; ${advice(reason)}`);
    },
  };
}
