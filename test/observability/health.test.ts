import { createServer } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { type HealthServer, type HealthServerOptions, startHealthServer } from '../../src/observability/health.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { createMetrics } from '../../src/observability/metrics.ts';

const started: HealthServer[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
});

async function start(changes: Partial<HealthServerOptions> = {}): Promise<string> {
  const server = await startHealthServer({
    host: '127.0.0.1',
    port: 0,
    problems: async () => [],
    metrics: createMetrics(),
    logger: createLogger({ level: 'silent' }),
    ...changes,
  });
  started.push(server);
  return `http://127.0.0.1:${server.port}`;
}

test('lives, is ready, and shows metrics collected at that moment', async () => {
  const metrics = createMetrics();
  const base = await start({ metrics, collect: () => metrics.gauge('price_age_days', 12) });
  expect(await (await fetch(`${base}/healthz`)).json()).toEqual({ status: 'ok' });
  expect((await fetch(`${base}/readyz`)).status).toBe(200);
  const scraped = await fetch(`${base}/metrics?x=1`);
  expect(scraped.headers.get('content-type')).toContain('text/plain');
  expect(await scraped.text()).toContain('gpu_size_price_age_days 12');
});

test('names every problem and answers 503 while not ready, still alive', async () => {
  const base = await start({ problems: async () => ['store: unreachable', 'console: connecting'] });
  const ready = await fetch(`${base}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toEqual({ status: 'not ready', problems: ['store: unreachable', 'console: connecting'] });
  expect((await fetch(`${base}/healthz`)).status).toBe(200);
});

test('a check that fails or hangs is not ready', async () => {
  const failing = await start({ problems: () => Promise.reject(new Error('boom')) });
  expect((await fetch(`${failing}/readyz`)).status).toBe(503);
  const hanging = await start({ problems: () => new Promise(() => undefined) });
  expect((await fetch(`${hanging}/readyz`)).status).toBe(503);
});

test('other methods and paths are refused, a platform over HTTP is passed on', async () => {
  const base = await start();
  expect((await fetch(`${base}/healthz`, { method: 'POST', body: 'x'.repeat(1_000_000) })).status).toBe(405);
  expect((await fetch(`${base}/secret`)).status).toBe(404);
  expect((await fetch(`${base}/__proto__`)).status).toBe(404);
  const passing = await start({ otherwise: (_request, response) => void response.end('passed on') });
  expect(await (await fetch(`${passing}/events`)).text()).toBe('passed on');
});

test('a taken port is an error that says what to set', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await expect(start({ port })).rejects.toThrow(AppError);
  await expect(start({ port })).rejects.toThrow(/another program uses that port; set PORT/);
  await new Promise((resolve) => other.close(resolve));
});
