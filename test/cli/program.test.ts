import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

const root = dirname(dirname(import.meta.dirname));
const program = [join(root, 'node_modules', 'tsx', 'dist', 'cli.mjs'), join(root, 'src', 'main.ts')];
const folder = mkdtempSync(join(tmpdir(), 'gpu-size-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The real program in its own process, with nothing of this one's environment. */
function run(
  args: readonly string[],
  options: { input?: string | Buffer; env?: Readonly<Record<string, string>> } = {},
) {
  const result = spawnSync(process.execPath, [...program, ...args], {
    input: options.input ?? '',
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    encoding: 'utf8',
    cwd: folder,
  });
  return { code: result.status, out: result.stdout, errors: result.stderr };
}

describe('one message on the command line', () => {
  test('is answered in full, without colour, and the program ends', () => {
    const { code, out, errors } = run(['我想训 deeplabv3+ resnet50，512x1024，每卡2张，19类，预算 15 元/小时']);
    expect(code).toBe(0);
    expect(errors).toBe('');
    expect(out).toMatch(/^需要 7\.0 GiB/);
    for (const text of ['A 入门', 'B 标准 ★', 'C 高性能', 'aliyun ecs RunInstances', '2024-12-30'])
      expect(out).toContain(text);
    expect(out).not.toContain('\u001b');
  });
});

describe('the chat', () => {
  test('asks for what is missing, answers, refines, and ends with its input', () => {
    const turns = [
      '我想训个分割模型，要多大的卡',
      'deeplabv3+ resnet50',
      '512x1024',
      '每卡2张',
      '预算 15 元/小时',
      '换成 segformer b2 呢',
      '预算改成 5000/月',
      '开 amp',
      '',
    ];
    const { code, out } = run([], { input: turns.join('\n') });
    expect(code).toBe(0);
    expect(out).toContain('训什么模型');
    expect(out.match(/推荐 ecs\./g)?.length).toBeGreaterThanOrEqual(4);
    expect(out.replaceAll('\n', ' ')).toContain('预算 ¥5,000/月');
  });

  test('takes as many lines as are piped in', () => {
    const { out } = run([], { input: 'unet\n'.repeat(80) });
    expect(out.match(/训练时图多大|裁剪|512x512/g)?.length).toBeGreaterThanOrEqual(80);
    expect(out).not.toContain('消息太多');
  });

  test('lives through empty lines, garbage bytes and a megabyte of text', () => {
    const input = Buffer.concat([
      Buffer.from('\n  \n'),
      Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x0a]),
      Buffer.alloc(1_000_000, 'a'),
      Buffer.from('\nunet\n'),
    ]);
    const { code, out } = run([], { input });
    expect(code).toBe(0);
    expect(out).toContain('100 KB');
    expect(out.trim().endsWith('1024x1024')).toBe(true);
  });
});

describe('scripts', () => {
  test('get only JSON on standard output, one line for each line', () => {
    const input = '{"id":1,"model":"unet"}\nnonsense\n{"id":2,"model":"segformer b0","batchSize":2}\n';
    const { code, out, errors } = run(['estimate', '--jsonl'], { input });
    expect(code).toBe(0);
    expect(errors).toBe('');
    const lines = out
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(lines).toMatchObject([{ id: 1 }, { id: null, error: { code: 'invalid-input' } }, { id: 2 }]);
  });

  test('may stop reading early', async () => {
    const child = spawn(process.execPath, [...program, 'estimate', '--jsonl'], {
      env: { PATH: process.env['PATH'] ?? '' },
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end('{"id":1,"model":"unet"}\n'.repeat(5_000));
    child.stdout.once('data', () => child.stdout.destroy());
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect(code).toBe(0);
  });
});

describe('checks and failures at start', () => {
  test('--check says that all is well', () => {
    const { code, out } = run(['--check']);
    expect(code).toBe(0);
    expect(out).toContain('✓');
  });

  test('--check and the start name every missing variable, exit code 1', () => {
    const env = { SLACK_BOT_TOKEN: 'xoxb-1', PORT: 'many' };
    for (const args of [['--check'], []]) {
      const { code, out, errors } = run(args, { env });
      expect(code).toBe(1);
      expect(out + errors).toContain('SLACK_APP_TOKEN');
      expect(out + errors).toContain('PORT');
    }
  });

  test('--check names a region that no price row knows', () => {
    const { code, out } = run(['--check'], { env: { REGION: 'mars-1' } });
    expect(code).toBe(1);
    expect(out).toMatch(/REGION: no prices for mars-1; known: .*cn-hangzhou/);
  });

  test.each([
    [{ CATALOG_DIR: '/nonexistent' }, 'invalid-catalog'],
    [{ DATABASE_URL: 'mysql://x' }, 'invalid-config'],
    [{ DATABASE_URL: 'sqlite:/proc/none/x.db' }, 'store-unavailable'],
  ])('%j ends with a reason', (env, code) => {
    const result = run(['hello'], { env });
    expect(result.code).toBe(1);
    expect(result.errors).toContain(code);
    expect(result.errors).not.toContain('at ');
  });

  test('a damaged database file is named with what to do', () => {
    const file = join(folder, 'damaged.db');
    writeFileSync(file, 'this is no database, but it is long enough to look like one '.repeat(40));
    const { code, errors } = run(['hello'], { env: { DATABASE_URL: `sqlite:${file}` } });
    expect(code).toBe(1);
    expect(errors).toContain(file);
  });

  test('a wrong flag shows the usage', () => {
    const { code, errors } = run(['--bogus']);
    expect(code).toBe(1);
    expect(errors).toContain('usage:');
  });

  test('--check reads the lists of an overlay that are otherwise read late', () => {
    const overlay = mkdtempSync(join(folder, 'overlay-'));
    writeFileSync(join(overlay, 'recipes.json'), '{"rows":[{"id":"mine"}]}');
    const { code, out } = run(['--check'], { env: { CATALOG_DIR: overlay } });
    expect(code).toBe(1);
    expect(out).toMatch(/^✗ catalogue: .*recipes\.json, row 1 \(mine\)/);
  });

  test('forget says when there was no database at the path', () => {
    const env = { DATABASE_URL: `sqlite:${join(folder, 'mistyped.db')}` };
    expect(run(['forget', '--user', 'nobody'], { env }).errors).toMatch(/^no database at .*mistyped\.db/);
    expect(run(['forget', '--user', 'nobody'], { env }).errors).toBe('');
  });

  test('report and forget work on a database file', () => {
    const env = { DATABASE_URL: `sqlite:${join(folder, 'kept.db')}` };
    run(['unet 512x512 batch 2 预算不限'], { env });
    const forgotten = run(['forget', '--user', 'console:local:you'], { env });
    expect(forgotten.out).toMatch(/^[1-9]\d* entries removed/);
    expect(run(['report'], { env }).out).toMatch(/^0 measurements/);
  });
});
