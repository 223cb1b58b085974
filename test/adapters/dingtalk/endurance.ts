import { expect, onTestFinished } from 'vitest';
import type { DingtalkGateway } from '../../fakes/dingtalk-gateway.ts';
import { eventually } from '../../fakes/eventually.ts';
import { openSite, readiness, type Site, type Vitals, vitalsOf } from './process.ts';

/** A program that answered once, so that everything it loads late is there, and how it is at that time. */
async function openCalmSite(timeScale: number): Promise<{ site: Site; before: Vitals }> {
  const site = await openSite();
  onTestFinished(() => site.close());
  await site.start({ timeScale });
  await site.ask(site.say({ text: 'unet' }));
  const before = await vitalsOf(site);
  expect(before).toMatchObject({ alive: 200, connected: 1 });
  return { site, before };
}

/** Garbage that a process may hold before it is collected. */
const garbageBytes = 32 * 2 ** 20;

/** One connection, one answer to one question, no more timers and sockets than before, about as much memory. */
async function expectCalm(site: Site, before: Vitals): Promise<Vitals> {
  const { gateway } = site;
  await eventually('one connection', () => gateway.connections.length === 1);
  const asked = site.say({ text: 'unet' });
  await site.ask(asked);
  expect(site.answersTo(asked)).toHaveLength(1);
  const calm = async (): Promise<Vitals | undefined> => {
    const vitals = await vitalsOf(site);
    const { timers, sockets, heapBytes } = vitals;
    const isCalm = timers <= before.timers && sockets <= before.sockets && heapBytes < before.heapBytes + garbageBytes;
    return isCalm ? vitals : undefined;
  };
  const after = await eventually('as calm as before', calm, 20_000);
  expect(after).toMatchObject({ alive: 200, connected: 1 });
  expect(gateway.connections).toHaveLength(1);
  return after;
}

/** Drops the program's connection again and again: at the end there is one, and nothing left of the others. */
export async function surviveDrops(times: number, timeScale: number): Promise<readonly [Vitals, Vitals]> {
  const { site, before } = await openCalmSite(timeScale);
  const { gateway } = site;
  for (let round = 0; round < times; round += 1) {
    const opens = gateway.opens.length;
    gateway.drop();
    await eventually('again', () => gateway.opens.length > opens && gateway.connections.length === 1, 30_000);
  }
  await eventually('ready', async () => (await readiness(site)) === 200);
  const after = await expectCalm(site, before);
  expect(gateway.opens).toHaveLength(times + 1);
  return [before, after];
}

export interface Outage {
  readonly ms: number;
  readonly timeScale: number;
  readonly refuse: (gateway: DingtalkGateway, refused: boolean) => void;
}

/** Refuses the program for a while: at most ten attempts with growing gaps, and one healthy connection afterwards. */
export async function surviveRefusal({ ms, timeScale, refuse }: Outage): Promise<readonly number[]> {
  const { site, before } = await openCalmSite(timeScale);
  const { gateway } = site;
  gateway.opens.length = 0;
  refuse(gateway, true);
  gateway.drop();
  await new Promise((resolve) => setTimeout(resolve, ms));
  const opens = [...gateway.opens];
  expect(opens.length).toBeGreaterThan(2);
  expect(opens.length).toBeLessThanOrEqual(10);
  const gaps = opens.slice(1).map((at, index) => at - (opens[index] ?? 0));
  expect(gaps.at(-1)).toBeGreaterThan(gaps[0] ?? Number.POSITIVE_INFINITY);
  expect(await vitalsOf(site)).toMatchObject({ alive: 200, connected: 0 });
  expect(await readiness(site)).toBe(503);
  refuse(gateway, false);
  await eventually('connected', async () => (await readiness(site)) === 200, 40_000);
  await expectCalm(site, before);
  return gaps;
}

export const refusals: [string, Outage['refuse']][] = [
  [
    'the socket is refused',
    (gateway, refused) => {
      gateway.refusesUpgrades = refused;
    },
  ],
  [
    'the upgrade is answered 403',
    (gateway, refused) => {
      gateway.upgradeStatus = refused ? 403 : undefined;
    },
  ],
  [
    'the gateway does not answer',
    (gateway, refused) => {
      gateway.fault = () => (refused ? { cut: true } : undefined);
    },
  ],
];
