// Prints `N passed, N failed` from vitest's JSON report; fails when nothing ran or a file could not be loaded.
import { existsSync, readFileSync } from 'node:fs';

const [file = ''] = process.argv.slice(2);
const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { numPassedTests: 0, numFailedTests: 0 };
const brokenFiles = (report.testResults ?? []).filter(
  (result) => result.status === 'failed' && result.assertionResults.every((test) => test.status !== 'failed'),
);
for (const broken of brokenFiles) console.log(`did not run to the end: ${broken.name}`);
const failed = report.numFailedTests + brokenFiles.length;
const skipped = (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0);
console.log(`${report.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exit(report.numPassedTests > 0 && failed === 0 ? 0 : 1);
