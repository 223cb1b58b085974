import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import { withTables } from '../estimator/accuracy.ts';

test('the accuracy tables of docs/estimator.md are those of the fixtures (`npm run docs:estimator` writes them)', () => {
  const page = readFileSync(new URL('../../docs/estimator.md', import.meta.url), 'utf8');
  expect(withTables(page)).toBe(page);
});
