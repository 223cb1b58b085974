import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const script = join(dirname(dirname(import.meta.dirname)), 'scripts/ci-tally.mjs');
const folder = mkdtempSync(join(tmpdir(), 'gpu-size-tally-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function tally(report: object | undefined) {
  const file = join(folder, 'report.json');
  rmSync(file, { force: true });
  if (report !== undefined) writeFileSync(file, JSON.stringify(report));
  const { stdout, status } = spawnSync(process.execPath, [script, file], { encoding: 'utf8' });
  return { last: stdout.trim().split('\n').at(-1), status };
}

test('prints the plain tally and passes only when something ran and nothing failed', () => {
  const passed = { numPassedTests: 12, numFailedTests: 0, testResults: [] };
  expect(tally(passed)).toEqual({ last: '12 passed, 0 failed', status: 0 });
  expect(tally({ ...passed, numFailedTests: 2 })).toEqual({ last: '12 passed, 2 failed', status: 1 });
  expect(tally({ ...passed, numPendingTests: 1, numTodoTests: 1 })).toEqual({
    last: '12 passed, 0 failed, 2 skipped',
    status: 0,
  });
  expect(tally({ ...passed, numPassedTests: 0 })).toEqual({ last: '0 passed, 0 failed', status: 1 });
  expect(tally(undefined)).toEqual({ last: '0 passed, 0 failed', status: 1 });
});

test('a file that could not be loaded counts as failed', () => {
  const testResults = [{ name: 'broken.test.ts', status: 'failed', assertionResults: [] }];
  expect(tally({ numPassedTests: 3, numFailedTests: 0, testResults })).toEqual({
    last: '3 passed, 1 failed',
    status: 1,
  });
});
