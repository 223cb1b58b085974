import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const root = dirname(dirname(import.meta.dirname));
let project: string;

const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
};
const lock = (version: string): string => JSON.stringify({ packages: { '': {}, 'node_modules/a': { version } } });

/** A small project with the real scripts and compiler, and an `npm` that notes its calls and "installs" the lock. */
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'gpu-size-bootstrap-'));
  for (const script of ['bootstrap.mjs', 'build.mjs'])
    cpSync(join(root, 'scripts', script), join(project, 'scripts', script));
  for (const file of ['tsconfig.json', 'tsconfig.build.json']) cpSync(join(root, file), join(project, file));
  mkdirSync(join(project, 'node_modules/@typescript'), { recursive: true });
  symlinkSync(join(root, 'node_modules/@typescript/native'), join(project, 'node_modules/@typescript/native'));
  symlinkSync(join(root, 'node_modules/@types'), join(project, 'node_modules/@types'));
  put('package.json', '{ "type": "module" }');
  put('package-lock.json', lock('1.0.0'));
  put('node_modules/.package-lock.json', lock('1.0.0'));
  put('catalog/extra.txt', 'data');
  put('src/main.ts', "process.stdout.write('said ' + process.argv.slice(2).join('|'));\n");
  put(
    'bin/npm',
    '#!/bin/sh\necho "$@" >> npm-calls\ncp package-lock.json node_modules/.package-lock.json\necho installed\n',
  );
  chmodSync(join(project, 'bin/npm'), 0o755);
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

const environment = () => ({ ...process.env, PATH: `${join(project, 'bin')}${delimiter}${process.env['PATH'] ?? ''}` });
const start = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/bootstrap.mjs', 'start', ...args], {
    cwd: project,
    encoding: 'utf8',
    env: environment(),
  });
const npmCalls = (): string =>
  existsSync(join(project, 'npm-calls')) ? readFileSync(join(project, 'npm-calls'), 'utf8') : '';
const builtAt = (): number => statSync(join(project, 'dist/src/main.js')).mtimeMs;

test('builds, passes the arguments on, and keeps standard output for the program', () => {
  const first = start('one', '--two', '三');
  expect(first).toMatchObject({ status: 0, stdout: 'said one|--two|三', stderr: '' });
  expect(readFileSync(join(project, 'dist/catalog/extra.txt'), 'utf8')).toBe('data');
  expect(npmCalls()).toBe('');
});

test('does nothing when nothing changed, builds again when a source is edited, added or removed', () => {
  start();
  const before = builtAt();
  start();
  expect(builtAt()).toBe(before);
  put('src/main.ts', "import './other.ts';\nprocess.stdout.write('new');\n");
  put('src/other.ts', 'export const other = 1;\n');
  expect(start().stdout).toBe('new');
  put('src/main.ts', "process.stdout.write('newer');\n");
  rmSync(join(project, 'src/other.ts'));
  expect(start().stdout).toBe('newer');
  expect(existsSync(join(project, 'dist/src/other.js'))).toBe(false);
});

test('installs when node_modules is missing or differs from the lock, and says so on standard error only', () => {
  put('package-lock.json', lock('2.0.0'));
  const updated = start('x');
  expect(updated.stdout).toBe('said x');
  expect(updated.stderr).toContain('Installing');
  expect(npmCalls()).toMatch(/^ci /);
  rmSync(join(project, 'node_modules/.package-lock.json'));
  start();
  expect(npmCalls().trim().split('\n')).toHaveLength(2);
  start();
  expect(npmCalls().trim().split('\n')).toHaveLength(2);
});

test('a failed install or build is an error with a sentence, and the last good build stays', () => {
  start();
  put('src/main.ts', 'const wrong: number = "text";\n');
  const failed = start();
  expect(failed.status).toBe(1);
  expect(failed.stdout).toBe('');
  expect(failed.stderr).toMatch(/TS2322[\s\S]*The build failed/);
  expect(readFileSync(join(project, 'dist/src/main.js'), 'utf8')).toContain('said');
  put('bin/npm', '#!/bin/sh\nexit 7\n');
  put('package-lock.json', lock('3.0.0'));
  const uninstalled = start();
  expect(uninstalled.status).toBe(7);
  expect(uninstalled.stderr).toContain('npm ci failed');
});

test('exit code and signals are those of the program', async () => {
  put('src/main.ts', 'process.exitCode = 42;\n');
  expect(start().status).toBe(42);
  put(
    'src/main.ts',
    "process.on('SIGTERM', () => process.exit(9));\nsetInterval(() => undefined, 1000);\nprocess.stdout.write('up');\n",
  );
  const child = spawn(process.execPath, ['scripts/bootstrap.mjs', 'start'], { cwd: project, env: environment() });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  child.kill('SIGTERM');
  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(9);
});

test('reads a .env file of the folder it is started in', () => {
  put('.env', 'GPU_SIZE_PROBE=from-file\n');
  put('src/main.ts', "process.stdout.write(process.env['GPU_SIZE_PROBE'] ?? 'none');\n");
  expect(start().stdout).toBe('from-file');
});

test('an old Node is told what is needed, in both languages', () => {
  put(
    'old.mjs',
    "Object.defineProperty(process.versions, 'node', { value: '18.20.4' });\nprocess.argv.push('start');\nawait import('./scripts/bootstrap.mjs');\n",
  );
  const old = spawnSync(process.execPath, ['old.mjs'], { cwd: project, encoding: 'utf8' });
  expect(old.status).toBe(1);
  expect(old.stderr).toMatch(/needs Node 20\.19 or newer; this is 18\.20\.4[\s\S]*升级/);
});
