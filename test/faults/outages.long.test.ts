import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startTestPostgres } from '../state/test-postgres.ts';
import { Crowd, expectedLines, judge } from './crowd.ts';
import { startOwnPostgres } from './own-postgres.ts';
import { report, settle } from './settle.ts';
import { afterwards, clean, openSite, temporaryFolder } from './site.ts';

const platforms = ['Slack over HTTP', 'DingTalk'] as const;
const seconds = (count: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, count * 1_000));

/** A small file system of its own needs the superuser; anybody else may point SMALL_DISK at one. */
function smallDisk(): string {
  const given = process.env['SMALL_DISK'];
  if (given !== undefined) return given;
  const disk = temporaryFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk]);
  afterwards(() => execFileSync('umount', ['-l', disk]));
  return disk;
}

test.each(platforms)('%s: PostgreSQL is restarted six times, three of them as after a crash', async (platform) => {
  const postgres = await startOwnPostgres();
  afterwards(() => postgres.stop());
  const { chat, fleet } = await openSite(platform, postgres.address);
  const crowd = new Crowd({ chat, again: 0.2 });
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
  const verdict = judge(crowd, await settle(chat, crowd), expectedLines());
  report(`${platform}, PostgreSQL, 6 restarts`, crowd, verdict);
  expect(verdict.messages).toBeGreaterThan(50);
  expect(verdict).toMatchObject(clean);
  expect(fleet.alive().every(({ child }) => child.exitCode === null)).toBe(true);
});

test.each(platforms)('%s: three replicas, 2,000 conversations, redeliveries to any of them', async (platform) => {
  const postgres = await startTestPostgres();
  afterwards(() => postgres.stop());
  const { chat, fleet } = await openSite(platform, postgres.address());
  const crowd = new Crowd({ chat, again: 0.5 });
  for (const index of [0, 1, 2]) await fleet.start(index);
  const count = Number(process.env['CONVERSATIONS'] ?? 2_000);
  await crowd.talk(24, () => crowd.conversations.length < count);
  const verdict = judge(crowd, await settle(chat, crowd, 600_000), expectedLines());
  report(`${platform}, PostgreSQL, 3 replicas`, crowd, verdict);
  expect(crowd.conversations.length).toBeGreaterThanOrEqual(count);
  expect(verdict).toMatchObject(clean);
});

test('the clock is set forwards and backwards by hours, several times a second', async () => {
  const jumps = { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'jumping-clock.mjs')}` };
  const { chat, fleet } = await openSite(
    'Slack by Socket Mode',
    `sqlite:${join(temporaryFolder(), 'state.db')}`,
    jumps,
  );
  const crowd = new Crowd({ chat, again: 0.2 });
  await fleet.start(0);
  await crowd.talk(8, () => crowd.conversations.length < 60);
  const verdict = judge(crowd, await settle(chat, crowd), expectedLines());
  report('SQLite, jumping clock', crowd, verdict);
  expect(verdict).toMatchObject(clean);
});

test.each(platforms)('%s: the disk is full for a while: what cannot be kept is not taken', async (platform) => {
  const disk = smallDisk();
  const { chat, fleet } = await openSite(platform, `sqlite:${join(disk, 'state.db')}`);
  const crowd = new Crowd({ chat });
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
  const verdict = judge(crowd, await settle(chat, crowd), expectedLines());
  report(`${platform}, SQLite, disk full for 8 s`, crowd, verdict);
  expect(replica.log.join('')).toMatch(/store-unavailable/);
  expect(verdict).toMatchObject(clean);
});

test.each(platforms)(
  '%s: a disk that turned read-only stops the start; all is answered afterwards',
  async (platform) => {
    const disk = smallDisk();
    const { chat, fleet } = await openSite(platform, `sqlite:${join(disk, 'state.db')}`);
    const crowd = new Crowd({ chat });
    await fleet.start(0);
    let over = false;
    const talking = crowd.talk(4, () => !over);
    await seconds(2);
    await fleet.kill(0);
    execFileSync('mount', ['-o', 'remount,ro', disk]);
    await expect(fleet.start(0)).rejects.toThrow(/ended with 1: .*database file/);
    execFileSync('mount', ['-o', 'remount,rw', disk]);
    await fleet.start(0);
    await seconds(2);
    over = true;
    await talking;
    const verdict = judge(crowd, await settle(chat, crowd), expectedLines());
    report(`${platform}, SQLite, disk read-only`, crowd, verdict);
    expect(verdict).toMatchObject(clean);
  },
);

test('a database that cannot be written at the start is one clear sentence and exit code 1', async () => {
  const path = join(temporaryFolder(), 'state.db');
  writeFileSync(path, 'no database');
  const { fleet } = await openSite('Slack over HTTP', `sqlite:${path}`);
  await expect(fleet.start(0)).rejects.toThrow(/ended with 1: .*damaged or is no SQLite file/);
  const impossible = await openSite('Slack over HTTP', 'sqlite:/proc/gpu-size/state.db');
  await expect(impossible.fleet.start(0)).rejects.toThrow(/ended with 1: .*the database file cannot be opened/);
});
