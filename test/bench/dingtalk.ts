import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DingtalkGateway } from '../fakes/dingtalk-gateway.ts';
import { robotMessages } from '../fakes/dingtalk-payloads.ts';
import { main, startBot, stopBot } from './bots.ts';
import { inParallel, ms, percentile } from './measure.ts';

/** Acknowledgements with 50 messages in flight, and how soon all are answered; the built program on loopback. */
export async function benchDingtalk(): Promise<readonly string[]> {
  const gateway = await DingtalkGateway.start();
  const folder = mkdtempSync(join(tmpdir(), 'gpu-size-bench-'));
  const bot = await startBot([main], {
    DINGTALK_CLIENT_ID: gateway.clientId,
    DINGTALK_CLIENT_SECRET: gateway.clientSecret,
    DINGTALK_OPENAPI_ENDPOINT: gateway.url,
    DINGTALK_LEGACY_ENDPOINT: gateway.url,
    DATABASE_URL: `sqlite:${join(folder, 'dingtalk.db')}`,
    PORT: '0',
    LOG_LEVEL: 'info',
    RATE_LIMIT_PER_MINUTE: '1000000',
    CONVERSATION_RATE_LIMIT_PER_MINUTE: '1000000',
  });
  while (gateway.connections.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  const say = robotMessages(gateway);
  const measure = async (count: number): Promise<number[]> => {
    const times: number[] = [];
    await inParallel(count, 50, async (index) => {
      const text = `unet 512x512 batch ${1 + (index % 16)} 不限预算`;
      const ack = await gateway.send(say({ text, user: `staff${index % 100}` }));
      times.push(ack?.ms ?? Number.POSITIVE_INFINITY);
    });
    return times;
  };
  await measure(200);
  const started = performance.now();
  const acks = await measure(1_000);
  const until = performance.now() + 60_000;
  while (gateway.api.messages.length < 1_200 && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const seconds = (performance.now() - started) / 1_000;
  await stopBot(bot);
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
  return [
    `dingtalk: ack with 50 messages in flight p50 ${ms(percentile(acks, 0.5))}, p99 ${ms(percentile(acks, 0.99))} (aim ≤ 100 ms)`,
    `dingtalk: 1000 messages answered in ${seconds.toFixed(1)} s, ${gateway.api.messages.length - 1_200} missing or doubled`,
  ];
}
