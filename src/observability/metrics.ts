import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Metrics } from '../../adapters/adapter.ts';

/** What operators can rely on; shown from the start, with these labels. Other names are added as they come. */
const known = {
  counters: {
    messages: ['adapter'],
    duplicates: ['adapter'],
    overloaded: ['adapter'],
    answers: ['adapter', 'kind'],
    errors: ['code'],
    understood: ['intent'],
    delivery_retries: ['adapter'],
    takeovers: [],
  },
  histograms: { estimate: [], answer: ['adapter'], handle: [], deliver: ['adapter'] },
  gauges: { waiting: [], store_waiting: [], connected: ['adapter'], price_age_days: [] },
} as const;

const seconds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const maximumNames = 200;

type Labels = Readonly<Record<string, string>>;

export interface MetricsRegistry extends Metrics {
  /** Prometheus text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

interface Named<T> {
  readonly metric: T;
  readonly labels: readonly string[];
}

const noLabels: Record<string, string> = {};

/** Only labels the metric was made with, each present and short: a stray label is dropped rather than thrown on. */
function fitting(names: readonly string[], labels: Labels): Record<string, string> {
  if (names.length === 0) return noLabels;
  return Object.fromEntries(names.map((name) => [name, (labels[name] ?? '').slice(0, 80)]));
}

/** One kind of metric: those known from the start, and those made on first use. */
function createFamily<T>(
  names: Readonly<Record<string, readonly string[]>>,
  make: (name: string, labels: readonly string[]) => T,
) {
  const members = new Map<string, Named<T>>(
    Object.entries(names).map(([name, labels]) => [name, { metric: make(name, labels), labels }]),
  );
  return (name: string, labels: Labels): Named<T> | undefined => {
    const clean = name.replace(/[^a-zA-Z0-9_]/g, '_');
    const found = members.get(clean);
    if (found !== undefined || members.size >= maximumNames) return found;
    const added = { metric: make(clean, Object.keys(labels)), labels: Object.keys(labels) };
    members.set(clean, added);
    return added;
  };
}

/** Metrics named `gpu_size_<name>_total`, `gpu_size_<name>_seconds` or `gpu_size_<name>`, beside those of the process. */
export function createMetrics(): MetricsRegistry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'gpu_size_' });
  const help = (name: string): string => `gpu-size: ${name.replaceAll('_', ' ')}`;
  const settings = (name: string, labels: readonly string[]) => ({
    help: help(name),
    labelNames: [...labels],
    registers: [registry],
  });
  const counters = createFamily(known.counters, (name, labels) => {
    const counter = new Counter({ name: `gpu_size_${name}_total`, ...settings(name, labels) });
    if (labels.length === 0) counter.inc(0);
    return counter;
  });
  const histograms = createFamily(
    known.histograms,
    (name, labels) => new Histogram({ name: `gpu_size_${name}_seconds`, buckets: seconds, ...settings(name, labels) }),
  );
  const gauges = createFamily(
    known.gauges,
    (name, labels) => new Gauge({ name: `gpu_size_${name}`, ...settings(name, labels) }),
  );

  return {
    count(name, labels = {}) {
      const found = counters(name, labels);
      found?.metric.inc(fitting(found.labels, labels));
    },
    observe(name, value, labels = {}) {
      const found = histograms(name, labels);
      found?.metric.observe(fitting(found.labels, labels), value);
    },
    gauge(name, value, labels = {}) {
      const found = gauges(name, labels);
      found?.metric.set(fitting(found.labels, labels), value);
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
