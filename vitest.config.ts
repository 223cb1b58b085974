import { defineConfig } from 'vitest/config';

const long = process.env['LONG'] === '1';

export default defineConfig({
  test: {
    include: [long ? 'test/**/*.long.test.ts' : 'test/**/*.test.ts'],
    exclude: long ? [] : ['test/**/*.long.test.ts'],
    testTimeout: long ? 3_600_000 : 60_000,
    hookTimeout: 120_000,
    // Half of the suite's time is waiting for real processes and sockets: two files at a time on two cores.
    maxWorkers: 2,
    coverage: { include: ['src/**', 'adapters/**', 'catalog/**'] },
  },
});
