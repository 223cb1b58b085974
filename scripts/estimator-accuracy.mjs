// Writes the accuracy tables of docs/estimator.md from test/fixtures/traces. Run with tsx: the estimator is TypeScript.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { withTables } from '../test/estimator/accuracy.ts';

const page = fileURLToPath(new URL('../docs/estimator.md', import.meta.url));
writeFileSync(page, withTables(readFileSync(page, 'utf8')));
