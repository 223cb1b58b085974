import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Each layer is judged by its own tests, in one process; see scripts/mutation.mjs. */
const layer = process.env['MUTATION_LAYER'] ?? '*';

/** What starts the real estimator for a few facts, or takes long to find what others find at once. */
const slow = [
  'test/**/*.long.test.ts',
  'test/advice/{lighter-variant,workbench}.test.ts',
  'test/estimator/{random-workloads,sharing}.test.ts',
];

/** Random cases and long tables: a mutant that a quick file kills never gets there. */
const last = /choice|laws|parameters|accounting|golden|measured|mmseg-cnn/;

class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => (last.test(moduleId) ? 1 : 0);
    return files.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

export default defineConfig({
  test: {
    include: [`test/${layer}/**/*.test.ts`],
    exclude: slow,
    // One worker per mutant instead of one per file; each mutant still gets fresh modules, constants included.
    isolate: false,
    cache: false,
    sequence: { sequencer: QuickFirst },
    setupFiles: ['test/mutation-setup.ts'],
    env: { PROPERTY_RUNS: '100' },
    testTimeout: 60_000,
  },
});
