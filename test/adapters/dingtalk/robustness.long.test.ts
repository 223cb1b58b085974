import { expect, test } from 'vitest';
import { refusals, surviveDrops, surviveRefusal } from './endurance.ts';

test('1,000 drops in a row leak nothing', async () => {
  const [before, after] = await surviveDrops(1_000, 0.001);
  const grown = (after.heapBytes - before.heapBytes) / 2 ** 20;
  process.stdout.write(`timers ${before.timers} → ${after.timers}, sockets ${before.sockets} → ${after.sockets}, `);
  process.stdout.write(`heap ${grown.toFixed(1)} MiB more\n`);
});

test.each(refusals)('%s for 60 s', async (_, refuse) => {
  const gaps = await surviveRefusal({ ms: 60_000, timeScale: 1, refuse });
  process.stdout.write(`pauses of ${gaps.map((gap) => (gap / 1_000).toFixed(1)).join(', ')} s\n`);
  expect(gaps.every((gap, index) => index === 0 || index > 4 || gap > (gaps[index - 1] ?? 0) * 0.9)).toBe(true);
});
