import { expect } from 'vitest';
import { eventually } from '../../fakes/eventually.ts';
import { type Bench, openBench } from './harness.ts';

const resources = (): number =>
  process.getActiveResourcesInfo().filter((name) => /Timeout|TCP(?!Server)|TLS/u.test(name)).length;

/** Waits until no more timers and sockets are open than `limit`. */
async function calm(limit: number): Promise<void> {
  await eventually('timers and sockets are gone', () => resources() <= limit, 15_000);
}

/** Drops the connection again and again: at the end there is one, and no timer or socket more than before. */
export async function surviveDrops(times: number): Promise<void> {
  const bench = await openBench({ pace: { firstPauseMs: 1, longestPauseMs: 2 } });
  await eventually('connected', () => bench.gateway.connections.length === 1);
  const before = resources();
  for (let round = 0; round < times; round += 1) {
    const opens = bench.gateway.opens.length;
    bench.gateway.drop();
    await eventually('again', () => bench.gateway.opens.length > opens && bench.adapter.status() === 'connected');
  }
  await stillOne(bench);
  await calm(before + 2);
  expect(bench.gateway.opens.length).toBeLessThanOrEqual(times + 2);
  await bench.stop();
}

export interface Refusal {
  readonly ms: number;
  /** Share of the real pauses. */
  readonly scale: number;
  readonly refuse: (bench: Bench, refused: boolean) => void;
}

/** Refuses connections for a while: at most ten attempts, gaps that grow, and one healthy connection afterwards. */
export async function surviveRefusal({ ms, scale, refuse }: Refusal): Promise<readonly number[]> {
  const before = resources();
  const pace = { firstPauseMs: 1_000 * scale, longestPauseMs: 30_000 * scale };
  const bench = await openBench({ start: false, pace });
  refuse(bench, true);
  await bench.adapter.start();
  await new Promise((resolve) => setTimeout(resolve, ms));
  const opens = [...bench.gateway.opens];
  expect(opens.length).toBeGreaterThan(2);
  expect(opens.length).toBeLessThanOrEqual(10);
  const gaps = opens.slice(1).map((at, index) => at - (opens[index] ?? 0));
  expect(gaps.at(-1)).toBeGreaterThan(gaps[0] ?? Number.POSITIVE_INFINITY);
  refuse(bench, false);
  await eventually('connected', () => bench.adapter.status() === 'connected', 40_000);
  await stillOne(bench);
  await bench.stop();
  await calm(before + 1);
  return gaps;
}

async function stillOne(bench: Bench): Promise<void> {
  await eventually('one connection', () => bench.gateway.connections.length === 1);
  const answers = bench.gateway.api.messages.length;
  expect(await bench.gateway.send(bench.say({ text: 'unet' }))).toBeDefined();
  await bench.settled();
  expect(bench.gateway.api.messages.length).toBe(answers + 1);
}

export const refusals: [string, Refusal['refuse']][] = [
  [
    'the socket is refused',
    ({ gateway }, refused) => {
      gateway.refusesUpgrades = refused;
    },
  ],
  [
    'the upgrade is answered 403',
    ({ gateway }, refused) => {
      gateway.upgradeStatus = refused ? 403 : undefined;
    },
  ],
  [
    'the gateway does not answer',
    ({ gateway }, refused) => {
      gateway.fault = () => (refused ? { cut: true } : undefined);
    },
  ],
];
