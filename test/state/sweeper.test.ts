import { expect, test } from 'vitest';
import { createLogger } from '../../src/observability/logger.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { openStateStore } from '../../src/state/open-state-store.ts';
import { startSweeper } from '../../src/state/sweeper.ts';
import { until } from '../inbox/harness.ts';

const logger = createLogger({ level: 'silent' });

test('removes what expires, at the start and from time to time', async () => {
  const clock = { now: 1_000 };
  const store = await openStateStore('memory:', { now: () => clock.now });
  await store.set('a/old', 1, { expiresAt: 500 });
  await store.set('a/soon', 1, { expiresAt: 2_000 });
  await store.set('a/kept', 1);
  /** What is really there: nothing counts as expired at the beginning of time. */
  const present = async (): Promise<string[]> => {
    const { now } = clock;
    clock.now = 0;
    const found = await store.list('a/', 5);
    clock.now = now;
    return found.map(({ key }) => key).sort();
  };
  const sweeper = startSweeper({ store, logger, metrics: createMetrics(), everyMs: 5 });
  await until(async () => (await present()).length === 2);
  clock.now = 2_000;
  await until(async () => (await present()).length === 1);
  await sweeper.stop();
  expect(await present()).toEqual(['a/kept']);
  await store.close();
});

test('a store that is away does not end the process', async () => {
  const store = await openStateStore('memory:');
  const metrics = createMetrics();
  const broken = { ...store, sweep: () => Promise.reject(new Error('away')) };
  const sweeper = startSweeper({ store: broken, logger, metrics });
  await sweeper.stop();
  expect(await metrics.text()).toContain('gpu_size_errors_total{code="internal"} 1');
});
