import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { SlackServer } from '../fakes/slack-server.ts';
import { startTestPostgres } from '../state/test-postgres.ts';
import { Crowd, expectedLines, judge, type Verdict } from './crowd.ts';
import { Fleet, type FleetOptions } from './fleet.ts';
import { startOwnPostgres } from './own-postgres.ts';
import { report, settle } from './settle.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function site(databaseUrl: string, options: Partial<FleetOptions> = {}) {
  const server = await SlackServer.start();
  const fleet = new Fleet({ server, databaseUrl, ...options });
  cleanups.push(
    () => server.stop(),
    async () => void (await fleet.stop()),
  );
  return { server, fleet };
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'gpu-size-outage-'));
  cleanups.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const seconds = (count: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, count * 1_000));
const clean: Partial<Verdict> = { missing: 0, twice: 0, outOfOrder: 0, wrong: 0 };

test('PostgreSQL is restarted six times under load, three of them as after a crash', async () => {
  const postgres = await startOwnPostgres();
  cleanups.push(() => postgres.stop());
  const { server, fleet } = await site(postgres.address);
  const crowd = new Crowd({ server, fleet, again: 0.2 });
  await fleet.start(0);
  await fleet.start(1);
  let over = false;
  const talking = crowd.talk(8, () => !over);
  for (const mode of ['fast', 'immediate', 'fast', 'immediate', 'fast', 'immediate'] as const) {
    await seconds(3);
    postgres.restart(mode);
  }
  await seconds(3);
  over = true;
  await talking;
  const verdict = judge(crowd, await settle(server, crowd), expectedLines());
  report('PostgreSQL, 6 restarts', crowd, verdict);
  expect(verdict.messages).toBeGreaterThan(50);
  expect(verdict).toMatchObject(clean);
  expect(fleet.alive().every(({ child }) => child.exitCode === null)).toBe(true);
});

test('three replicas, 2,000 conversations, redeliveries to any of them', async () => {
  const postgres = await startTestPostgres();
  cleanups.push(() => postgres.stop());
  const { server, fleet } = await site(postgres.address());
  const crowd = new Crowd({ server, fleet, again: 0.5 });
  for (const index of [0, 1, 2]) await fleet.start(index);
  const count = Number(process.env['CONVERSATIONS'] ?? 2_000);
  await crowd.talk(24, () => crowd.conversations.length < count);
  const verdict = judge(crowd, await settle(server, crowd, 600_000), expectedLines());
  report('PostgreSQL, 3 replicas', crowd, verdict);
  expect(crowd.conversations.length).toBeGreaterThanOrEqual(count);
  expect(verdict).toMatchObject(clean);
});

test('the clock is set forwards and backwards by hours, several times a second', async () => {
  const { server, fleet } = await site(`sqlite:${join(folder(), 'state.db')}`, {
    env: { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'jumping-clock.mjs')}` },
    socket: true,
  });
  const crowd = new Crowd({ server, fleet, again: 0.2, socket: true });
  await fleet.start(0);
  await crowd.talk(8, () => crowd.conversations.length < 60);
  const verdict = judge(crowd, await settle(server, crowd), expectedLines());
  report('SQLite, jumping clock', crowd, verdict);
  expect(verdict).toMatchObject(clean);
});

test('the disk is full for a while: nothing is taken that cannot be kept, and all is answered afterwards', async () => {
  // A small file system of its own needs the superuser; anybody else may point FULL_DISK at one.
  const disk = process.env['FULL_DISK'] ?? folder();
  if (process.env['FULL_DISK'] === undefined) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk]);
    cleanups.push(() => void execFileSync('umount', ['-l', disk]));
  }
  const { server, fleet } = await site(`sqlite:${join(disk, 'state.db')}`);
  const crowd = new Crowd({ server, fleet });
  const replica = await fleet.start(0);
  await crowd.talk(4, () => crowd.conversations.length < 8);
  let full = false;
  try {
    for (let part = 0; ; part += 1) writeFileSync(join(disk, `ballast-${part}`), Buffer.alloc(65_536));
  } catch {
    full = true;
  }
  expect(full).toBe(true);
  let over = false;
  const talking = crowd.talk(4, () => !over);
  await seconds(8);
  expect(replica.child.exitCode).toBeNull();
  execFileSync('sh', ['-c', `rm ${disk}/ballast-*`]);
  await seconds(3);
  over = true;
  await talking;
  const verdict = judge(crowd, await settle(server, crowd), expectedLines());
  report('SQLite, disk full for 8 s', crowd, verdict);
  expect(replica.log.join('')).toMatch(/store-unavailable/);
  expect(verdict).toMatchObject(clean);
});

test('a database that cannot be written at the start is one clear sentence and exit code 1', async () => {
  const path = join(folder(), 'state.db');
  writeFileSync(path, 'no database');
  const { fleet } = await site(`sqlite:${path}`);
  await expect(fleet.start(0)).rejects.toThrow(/ended with 1: .*damaged or is no SQLite file/);
  const impossible = await site('sqlite:/proc/gpu-size/state.db');
  await expect(impossible.fleet.start(0)).rejects.toThrow(/ended with 1: .*the database file cannot be opened/);
});
