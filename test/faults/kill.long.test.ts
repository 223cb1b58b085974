import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { SlackServer } from '../fakes/slack-server.ts';
import { startTestPostgres } from '../state/test-postgres.ts';
import { Crowd, expectedLines, judge, type Verdict } from './crowd.ts';
import { Fleet } from './fleet.ts';
import { report, settle } from './settle.ts';

const kills = Number(process.env['KILLS'] ?? 200);
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function site(databaseUrl: string): Promise<{ server: SlackServer; fleet: Fleet }> {
  const server = await SlackServer.start();
  const fleet = new Fleet({ server, databaseUrl });
  cleanups.push(
    () => server.stop(),
    async () => void (await fleet.stop()),
  );
  return { server, fleet };
}

const random = (from: number, to: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, from + Math.random() * (to - from)));

const clean: Partial<Verdict> = { missing: 0, twice: 0, outOfOrder: 0, wrong: 0 };

test(`SQLite: kill -9 at ${kills} random moments under load`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-size-kill-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const { server, fleet } = await site(`sqlite:${join(folder, 'state.db')}`);
  const crowd = new Crowd({ server, fleet, again: 0.2 });
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
  const verdict = judge(crowd, await settle(server, crowd), expectedLines());
  report(`SQLite, ${kills} kills`, crowd, verdict);
  expect(verdict.messages).toBeGreaterThan(kills);
  expect(verdict).toMatchObject(clean);
});

test(`PostgreSQL: three replicas, kill -9 at ${Math.ceil(kills / 4)} random moments`, async () => {
  const postgres = await startTestPostgres();
  cleanups.push(() => postgres.stop());
  const { server, fleet } = await site(postgres.address());
  const crowd = new Crowd({ server, fleet, again: 0.3 });
  for (const index of [0, 1, 2]) await fleet.start(index);
  let over = false;
  const talking = crowd.talk(16, () => !over);
  for (let kill = 0; kill < Math.ceil(kills / 4); kill += 1) {
    await random(20, 1_500);
    await fleet.kill(kill % 3);
    await fleet.start(kill % 3);
  }
  over = true;
  await talking;
  const verdict = judge(crowd, await settle(server, crowd), expectedLines());
  report(`PostgreSQL, 3 replicas, ${Math.ceil(kills / 4)} kills`, crowd, verdict);
  expect(verdict).toMatchObject(clean);
});
