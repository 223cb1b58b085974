import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { DingtalkGateway } from '../../fakes/dingtalk-gateway.ts';
import type { Payload } from '../../fakes/dingtalk-payloads.ts';

const webhookLifeMs = 5_400_000;
const sampleFolder = join(import.meta.dirname, '../../fixtures/dingtalk-payloads');

export const sample = (name: string): Payload =>
  z.looseObject({}).parse(JSON.parse(readFileSync(join(sampleFolder, `${name}.json`), 'utf8')));

/** Names of all recorded robot messages. */
export const sampleNames: readonly string[] = readdirSync(sampleFolder)
  .filter((file) => file.startsWith('robot-'))
  .map((file) => file.replace('.json', ''));

/** A recorded message with an id and a webhook of its own, as if it came just now. */
export function fresh(gateway: DingtalkGateway, name: string): Payload {
  const now = Date.now();
  return {
    ...sample(name),
    msgId: `${name}-${now}-${Math.random()}`,
    createAt: now,
    sessionWebhook: gateway.webhook(),
    sessionWebhookExpiredTime: now + webhookLifeMs,
  };
}
