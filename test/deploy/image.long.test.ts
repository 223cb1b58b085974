import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { SlackServer } from '../fakes/slack-server.ts';
import { until } from '../inbox/harness.ts';
import { parseCopy, parseDockerfile, type Stage } from './dockerfile.ts';

const root = dirname(dirname(import.meta.dirname));
const image = mkdtempSync(join(tmpdir(), 'gpu-size-image-'));
const stages = parseDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8'));

// What a build would send: the working tree as committed files, of which .dockerignore admits some.
const admitted = readFileSync(join(root, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('!'))
  .map((line) => line.slice(1));

/** Replays one stage in a folder of its own, as a builder without containers would: paths below the folder, steps by a shell. */
function replay(stage: Stage): void {
  const folder = join(image, stage.name);
  let directory = folder;
  for (const { name, text } of stage.instructions) {
    if (name === 'WORKDIR') {
      directory = join(folder, text);
      mkdirSync(directory, { recursive: true });
    } else if (name === 'COPY') {
      const { from, sources, target } = parseCopy(text);
      for (const source of sources)
        copy(from === undefined ? join(root, source) : join(image, from, source), directory, target);
      if (from === undefined) expect(sources.filter((source) => !admitted.includes(source))).toEqual([]);
    } else if (name === 'RUN' && !text.includes('/data')) {
      execFileSync('sh', ['-ec', text], { cwd: directory, stdio: 'pipe', timeout: 300_000 });
    }
  }
}

function copy(source: string, directory: string, target: string): void {
  const into = /\/$|^\.$/.test(target) || target === './';
  const path = into ? join(directory, target, source.split('/').at(-1) ?? '') : join(directory, target);
  cpSync(source, path, { recursive: true });
}

beforeAll(() => {
  for (const stage of stages) replay(stage);
  execFileSync('chmod', ['-R', 'a-w,a+rX', image]);
  execFileSync('chmod', ['a+rx', image]);
}, 600_000);
afterAll(() => {
  execFileSync('chmod', ['-R', 'u+w', image]);
  rmSync(image, { recursive: true, force: true });
});

const app = join(image, 'runtime', 'app');
/** `nobody`, without any privilege, wherever this test runs as root; else whoever runs it. */
const asOther = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
const environment = { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', HOME: '/nonexistent' };

function run(args: readonly string[]) {
  const [command = '', ...rest] = [...asOther, process.execPath, join(app, 'dist/src/main.js'), ...args];
  return spawnSync(command, rest, { cwd: app, env: environment, encoding: 'utf8', timeout: 60_000 });
}

test('the runtime stage holds the program and no tool to build it', () => {
  expect(existsSync(join(app, 'dist/src/main.js'))).toBe(true);
  expect(existsSync(join(app, 'node_modules/libsql'))).toBe(true);
  for (const absent of [
    'src',
    'test',
    'scripts',
    'node_modules/vitest',
    'node_modules/@typescript',
    'node_modules/typescript',
  ]) {
    expect(existsSync(join(app, absent)), absent).toBe(false);
  }
});

test('answers a question as another user with the installation read-only', () => {
  const { stdout, stderr, status } = run(['segformer b2 512x512 batch 8 budget 10 CNY/hour']);
  expect(stderr).toBe('');
  expect(status).toBe(0);
  expect(stdout).toMatch(/GiB/);
  expect(run(['--check']).status).toBe(0);
});

test('serves as another user, writes only its data folder, stops on SIGTERM', async () => {
  const slack = await SlackServer.start();
  const data = mkdtempSync(join(tmpdir(), 'gpu-size-data-'));
  execFileSync('chmod', ['a+rwx', data]);
  const health = stages.at(-1)?.instructions.find(({ name }) => name === 'HEALTHCHECK')?.text ?? '';
  const [, ...probe] = z.array(z.string()).parse(JSON.parse(health.slice(health.indexOf('['))));
  const env = {
    ...environment,
    PORT: '39471',
    HOST: '127.0.0.1',
    DATABASE_URL: `sqlite:${join(data, 'state.db')}`,
    SLACK_API_URL: slack.apiUrl,
    SLACK_BOT_TOKEN: 'xoxb-fake-one-secret',
    SLACK_APP_TOKEN: slack.appToken,
  };
  const [command = '', ...rest] = [...asOther, process.execPath, join(app, 'dist/src/main.js')];
  const server = spawn(command, rest, { cwd: app, env, stdio: 'pipe' });
  const exited = new Promise<number | null>((resolve) => server.on('exit', resolve));
  await until(
    async () => (await fetch('http://127.0.0.1:39471/readyz').catch(() => undefined))?.status === 200,
    'ready',
  );
  expect(spawnSync(process.execPath, probe, { env, timeout: 20_000 }).status).toBe(0);
  expect(existsSync(join(data, 'state.db'))).toBe(true);
  server.kill('SIGTERM');
  expect(await exited).toBe(0);
  expect(spawnSync(process.execPath, probe, { env, timeout: 20_000 }).status).toBe(1);
  await slack.stop();
  rmSync(data, { recursive: true, force: true });
});
