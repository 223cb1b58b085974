import { expect, onTestFinished } from 'vitest';
import type { DingtalkGateway } from '../../fakes/dingtalk-gateway.ts';
import { eventually } from '../../fakes/eventually.ts';
import { openSite, readiness, type Site, type Vitals, vitalsOf } from './process.ts';

interface Patient {
  readonly site: Site;
  readonly vitals: () => Promise<Vitals>;
  /** After the first answer, so that everything that is loaded late is there. */
  readonly before: Vitals;
}

async function openPatient(timeScale: number): Promise<Patient> {
  const site = await openSite();
  onTestFinished(() => site.close());
  const { child } = await site.start({ timeScale });
  const vitals = async (): Promise<Vitals> => {
    child.kill('SIGUSR2');
    // The signal is handled before the second request at the latest.
    await readiness(site);
    return vitalsOf(site);
  };
  await site.ask(site.say({ text: 'unet' }));
  const before = await vitals();
  expect(before).toMatchObject({ alive: 200, connected: 1 });
  return { site, vitals, before };
}

/** What an answer and the caches behind it may add. */
const roomBytes = 4 * 2 ** 20;

/** One connection, one answer to one question, no more timers and sockets than before, no more memory either. */
async function expectCalm({ site, vitals, before }: Patient): Promise<Vitals> {
  const { gateway } = site;
  await eventually('one connection', () => gateway.connections.length === 1);
  const asked = site.say({ text: 'unet' });
  await site.ask(asked);
  expect(site.answersTo(asked)).toHaveLength(1);
  const calm = async (): Promise<Vitals | undefined> => {
    const now = await vitals();
    const isCalm = now.timers <= before.timers && now.sockets <= before.sockets;
    return isCalm && now.heapBytes < before.heapBytes + roomBytes ? now : undefined;
  };
  const after = await eventually('as calm as before', calm, 20_000);
  expect(after).toMatchObject({ alive: 200, connected: 1 });
  expect(gateway.connections).toHaveLength(1);
  return after;
}

/** Drops the program's connection again and again: at the end there is one, and nothing left of the others. */
export async function surviveDrops(times: number, timeScale: number): Promise<readonly [Vitals, Vitals]> {
  const patient = await openPatient(timeScale);
  const { site, before } = patient;
  const { gateway } = site;
  for (let round = 0; round < times; round += 1) {
    const opens = gateway.opens.length;
    gateway.drop();
    await eventually('again', () => gateway.opens.length > opens && gateway.connections.length === 1, 30_000);
  }
  await eventually('ready', async () => (await readiness(site)) === 200);
  const after = await expectCalm(patient);
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
  const patient = await openPatient(timeScale);
  const { site } = patient;
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
  await expectCalm(patient);
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
