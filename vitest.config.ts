import { defineConfig } from 'vitest/config';

const long = process.env['LONG'] === '1';
const files = long ? '*.long.test.ts' : '*.test.ts';

/** Folders whose tests compute and compare: they share one set of modules a worker, which spares a minute of loading. */
const COMPUTING = [
  'advice',
  'catalog',
  'conversations',
  'dialog',
  'estimator',
  'reply',
  'turn',
  'understanding',
  'workload',
].map((folder) => `test/${folder}/**/${files}`);
const LONG_ONES = long ? [] : ['test/**/*.long.test.ts'];

export default defineConfig({
  test: {
    testTimeout: long ? 3_600_000 : 60_000,
    hookTimeout: 120_000,
    // Half of the suite's time is waiting for real processes and sockets: two files at a time on two cores.
    maxWorkers: 2,
    coverage: { include: ['src/**', 'adapters/**', 'catalog/**'] },
    projects: [
      { extends: true, test: { name: 'computing', include: COMPUTING, exclude: LONG_ONES, isolate: false } },
      {
        extends: true,
        test: { name: 'running', include: [`test/**/${files}`], exclude: [...LONG_ONES, ...COMPUTING] },
      },
    ],
  },
});
