import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startTestPostgres } from '../state/test-postgres.ts';
import { Crowd, expectedLines, judge } from './crowd.ts';
import { report, settle } from './settle.ts';
import { afterwards, clean, openSite, temporaryFolder } from './site.ts';

const kills = Number(process.env['KILLS'] ?? 200);
const few = Math.ceil(kills / 4);
const platforms = ['Slack over HTTP', 'DingTalk'] as const;

const random = (from: number, to: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, from + Math.random() * (to - from)));

test.each(platforms)(`%s, SQLite: kill -9 at ${kills} random moments under load`, async (platform) => {
  const { chat, fleet } = await openSite(platform, `sqlite:${join(temporaryFolder(), 'state.db')}`);
  const crowd = new Crowd({ chat, again: 0.2 });
  await fleet.start(0);
  let over = false;
  const talking = crowd.talk(16, () => !over);
  for (let kill = 0; kill < kills; kill += 1) {
    await random(20, 1_500);
    await fleet.kill(0);
    await fleet.start(0);
  }
  over = true;
  await talking;
  const verdict = judge(crowd, await settle(chat, crowd), expectedLines());
  report(`${platform}, SQLite, ${kills} kills`, crowd, verdict);
  expect(verdict.messages).toBeGreaterThan(kills);
  expect(verdict).toMatchObject(clean);
});

test.each(platforms)(`%s, PostgreSQL: three replicas, kill -9 at ${few} random moments`, async (platform) => {
  const postgres = await startTestPostgres();
  afterwards(() => postgres.stop());
  const { chat, fleet } = await openSite(platform, postgres.address());
  const crowd = new Crowd({ chat, again: 0.3 });
  for (const index of [0, 1, 2]) await fleet.start(index);
  let over = false;
  const talking = crowd.talk(16, () => !over);
  for (let kill = 0; kill < few; kill += 1) {
    await random(20, 1_500);
    await fleet.kill(kill % 3);
    await fleet.start(kill % 3);
  }
  over = true;
  await talking;
  const verdict = judge(crowd, await settle(chat, crowd), expectedLines());
  report(`${platform}, PostgreSQL, 3 replicas, ${few} kills`, crowd, verdict);
  expect(verdict).toMatchObject(clean);
});
