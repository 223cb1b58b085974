import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refusals, surviveDrops, surviveRefusal } from './endurance.ts';
import { type Bench, openBench } from './harness.ts';
import { fresh, sampleNames } from './recorded.ts';

test('many drops in a row leak nothing', () => surviveDrops(100, 0.001).then(() => undefined), 120_000);

test.each(refusals)(
  '%s for a while: few attempts, growing gaps, healthy afterwards',
  async (_, refuse) => {
    await surviveRefusal({ ms: 1_200, timeScale: 0.02, refuse });
  },
  120_000,
);

/** All paths to values inside, so that any of them can be taken away or replaced. */
function pathsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, child]) => pathsIn(child, [...path, key]))];
}

function changed(value: unknown, path: readonly string[], replacement: unknown): unknown {
  const [head, ...rest] = path;
  if (head === undefined) return replacement;
  if (typeof value !== 'object' || value === null) return value;
  const swap = ([key, child]: [string, unknown]): [string, unknown] => [
    key,
    key === head ? changed(child, rest, replacement) : child,
  ];
  if (Array.isArray(value)) return value.map((child, index) => swap([String(index), child])[1]);
  return Object.fromEntries(Object.entries(value).map(swap));
}

const odd = fc.constantFrom<unknown>(
  undefined,
  null,
  '',
  'x',
  0,
  1e300,
  true,
  [],
  {},
  '\ud800',
  '\0',
  'x'.repeat(5_000),
);

describe('damaged messages', () => {
  let bench: Bench;
  const rejections: unknown[] = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  beforeAll(async () => {
    process.on('unhandledRejection', note);
    bench = await openBench({ pace: { pingMs: 5_000 } });
  });
  afterAll(async () => {
    process.off('unhandledRejection', note);
    await bench.stop();
  });

  test('are acknowledged and never break the connection; good ones are answered afterwards', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...sampleNames), fc.nat(500), odd, async (name, at, replacement) => {
        const payload = fresh(bench.gateway, name);
        const paths = pathsIn(payload);
        const damaged = changed(payload, paths[at % paths.length] ?? [], replacement);
        expect(await bench.gateway.send(JSON.stringify(damaged) ?? '')).toBeDefined();
      }),
      { numRuns: 400 },
    );
    await bench.settled();
    expect(rejections).toEqual([]);
    expect(bench.gateway.opens).toHaveLength(1);
    // By its own webhook: a courtesy to one of the damaged messages may still be on its way.
    const good = bench.say({ text: 'unet' });
    const session = new URL(String(good['sessionWebhook'])).searchParams.get('session');
    expect(await bench.gateway.send(good)).toBeDefined();
    await bench.settled();
    expect(bench.gateway.api.messages.filter(({ to }) => to === session)).toHaveLength(1);
    expect(bench.gateway.api.problems).toEqual([]);
  }, 120_000);

  test('whole frames of anything: the connection stands', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.constantFrom('CALLBACK', 'SYSTEM', 'EVENT', 'x'), async (value, type) => {
        bench.gateway.broadcast(JSON.stringify(value));
        bench.gateway.broadcast(JSON.stringify({ type, headers: value, data: value }));
      }),
      { numRuns: 300 },
    );
    expect((await bench.gateway.ping())?.frame).toBeDefined();
    expect(bench.gateway.opens).toHaveLength(1);
    expect(rejections).toEqual([]);
  });
});
