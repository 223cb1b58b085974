import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import type { Chat } from './chat.ts';
import type { Verdict } from './crowd.ts';
import { dingtalkChat } from './dingtalk-chat.ts';
import { Fleet, type FleetOptions } from './fleet.ts';
import { slackChat } from './slack-chat.ts';

export type Platform = 'Slack over HTTP' | 'Slack by Socket Mode' | 'DingTalk';

export const clean: Partial<Verdict> = { missing: 0, twice: 0, outOfOrder: 0, wrong: 0 };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Done after the test, in reverse order, whatever became of it. */
export const afterwards = (cleanup: () => unknown): void => void cleanups.push(cleanup);

/** A fake platform, and processes that serve it on one database. */
export async function openSite(
  platform: Platform,
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ chat: Chat; fleet: Fleet }> {
  const options: FleetOptions = { databaseUrl, env: () => ({ ...chat.env, ...env }) };
  const fleet = new Fleet(options);
  const chat = await chatOf(platform, fleet);
  afterwards(() => chat.stop());
  afterwards(() => fleet.stop());
  return { chat, fleet };
}

function chatOf(platform: Platform, fleet: Fleet): Promise<Chat> {
  if (platform === 'DingTalk') return dingtalkChat();
  return platform === 'Slack over HTTP' ? slackChat(() => fleet.alive()) : slackChat();
}

export function temporaryFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'gpu-size-fault-'));
  afterwards(() => rmSync(made, { recursive: true, force: true }));
  return made;
}
