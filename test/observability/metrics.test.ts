import { expect, test } from 'vitest';
import { createMetrics } from '../../src/observability/metrics.ts';

test('what operators rely on is shown from the start', async () => {
  const text = await createMetrics().text();
  for (const name of [
    'gpu_size_messages_total',
    'gpu_size_answers_total',
    'gpu_size_errors_total',
    'gpu_size_understood_total',
    'gpu_size_estimate_seconds',
    'gpu_size_answer_seconds',
    'gpu_size_connected',
    'gpu_size_price_age_days',
    'gpu_size_process_cpu_seconds_total',
  ]) {
    expect(text).toContain(`# TYPE ${name} `);
  }
});

test('counts, observes and sets by name and label', async () => {
  const metrics = createMetrics();
  metrics.count('messages', { adapter: 'console' });
  metrics.count('messages', { adapter: 'console' });
  metrics.count('errors', { code: 'overloaded' });
  metrics.observe('answer', 0.2, { adapter: 'console' });
  metrics.gauge('connected', 1, { adapter: 'console' });
  const text = await metrics.text();
  expect(text).toContain('gpu_size_messages_total{adapter="console"} 2');
  expect(text).toContain('gpu_size_errors_total{code="overloaded"} 1');
  expect(text).toContain('gpu_size_answer_seconds_bucket{le="0.25",adapter="console"} 1');
  expect(text).toContain('gpu_size_connected{adapter="console"} 1');
});

test('a name of an adapter is added on first use; stray labels, odd names and floods of names do no harm', async () => {
  const metrics = createMetrics();
  metrics.count('socket reconnects', { reason: 'silence' });
  metrics.count('socket reconnects', { reason: 'refused', surprise: 'x' });
  metrics.count('messages', { adapter: 'a', text: 'what a person wrote' });
  for (let index = 0; index < 1_000; index += 1) metrics.count(`flood_${index}`);
  const text = await metrics.text();
  expect(text).toContain('gpu_size_socket_reconnects_total{reason="refused"} 1');
  expect(text).not.toContain('what a person wrote');
  expect(text).not.toContain('flood_999');
});
