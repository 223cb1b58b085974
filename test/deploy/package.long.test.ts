import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = dirname(dirname(import.meta.dirname));
const folder = mkdtempSync(join(tmpdir(), 'gpu-size-package-'));
let archive = '';

beforeAll(() => {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root, timeout: 300_000 });
  archive = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the package holds the program and its data, and neither tests nor sources', () => {
  const files = execFileSync('tar', ['tzf', join(folder, archive)], { encoding: 'utf8' })
    .trim()
    .split('\n');
  for (const needed of [
    'package.json',
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
    'dist/src/main.js',
    'dist/catalog/models.json',
  ]) {
    expect(files).toContain(`package/${needed}`);
  }
  expect(files.filter((file) => /\/test\/|\.ts$|\.map$|\.env/.test(file))).toEqual([]);
});

test('npx runs the archive in an empty folder with only Node and npm', () => {
  const question = ['-y', `./${archive}`, 'deeplabv3+ resnet50 512x1024 batch 2, budget 15 CNY/hour'];
  const { stdout, status, stderr } = spawnSync('npx', question, { cwd: folder, encoding: 'utf8', timeout: 300_000 });
  expect(status, stderr).toBe(0);
  expect(stdout).toMatch(/GiB/);
}, 300_000);
