import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChatMessage } from '../../fakes/dingtalk-api.ts';
import { type Ack, DingtalkGateway } from '../../fakes/dingtalk-gateway.ts';
import { type Payload, robotMessages, type Said } from '../../fakes/dingtalk-payloads.ts';
import { eventually } from '../../fakes/eventually.ts';
import { environmentOf } from './harness.ts';

const root = join(import.meta.dirname, '../../..');
const program = join(root, 'dist/src/main.js');

/** Everything that any program of this suite wrote, for the search after secrets and words. */
export const everyOutput: string[] = [];

export interface Program {
  readonly child: ChildProcess;
  /** Standard output and standard error so far. */
  output(): string;
  readonly exited: Promise<number | null>;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** False: do not wait until it is connected. */
  readonly ready?: boolean;
  /** Share of each pause between attempts that is really waited. With it, SIGUSR2 collects garbage. */
  readonly timeScale?: number;
}

export interface Site {
  readonly gateway: DingtalkGateway;
  readonly say: (said: Said) => Payload;
  /** Base address of the program's HTTP server. */
  base(): string;
  start(options?: StartOptions): Promise<Program>;
  /** Delivers until it is acknowledged, as the platform does. */
  deliver(payload: Payload): Promise<Ack>;
  /** Delivers, waits for the answer, and returns it. */
  ask(payload: Payload): Promise<ChatMessage>;
  /** What came back to one message through its own webhook. */
  answersTo(payload: Payload): readonly ChatMessage[];
  close(): Promise<void>;
}

/** Runs the built program as an operator would, with only the given environment. */
export function runProgram(args: readonly string[], env: Readonly<Record<string, string>>): Program {
  if (!existsSync(program)) throw new Error('the program is not built: npm run build');
  const child = spawn(process.execPath, [program, ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const collect = (chunk: Buffer): void => {
    output += chunk.toString('utf8');
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      everyOutput.push(output);
      resolve(code);
    });
  });
  return { child, output: () => output, exited };
}

/** Loaded before the program: shortens what it waits between attempts, and collects garbage when told to. */
function preloaded(timeScale: number): string {
  const code = `import timers from 'node:timers/promises';
    import { syncBuiltinESMExports } from 'node:module';
    import { setFlagsFromString } from 'node:v8';
    import { runInNewContext } from 'node:vm';
    const real = timers.setTimeout;
    timers.setTimeout = (ms, ...rest) => real(ms * ${timeScale}, ...rest);
    syncBuiltinESMExports();
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    process.on('SIGUSR2', () => collect());`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

const sessionOf = (payload: Payload): string =>
  new URL(String(payload['sessionWebhook'])).searchParams.get('session') ?? '';

/** A fake DingTalk, a database file and a way to run the program between them. */
export async function openSite(): Promise<Site> {
  const gateway = await DingtalkGateway.start();
  const folder = mkdtempSync(join(tmpdir(), 'gpu-size-dingtalk-'));
  const running = new Set<Program>();
  let port = '0';
  const site: Site = {
    gateway,
    say: robotMessages(gateway),
    base: () => `http://127.0.0.1:${port}`,
    async start({ env = {}, ready = true, timeScale } = {}) {
      const started = runProgram([], {
        ...environmentOf(gateway),
        DATABASE_URL: `sqlite:${join(folder, 'state.db')}`,
        PORT: '0',
        LOG_LEVEL: 'trace',
        RATE_LIMIT_PER_MINUTE: '1000',
        CONVERSATION_RATE_LIMIT_PER_MINUTE: '1000',
        ...(timeScale === undefined ? {} : { NODE_OPTIONS: preloaded(timeScale) }),
        ...env,
      });
      running.add(started);
      void started.exited.then(() => running.delete(started));
      port = await eventually('port', () => /"port":(\d+)[^\n]*"serving"/u.exec(started.output())?.[1], 60_000);
      if (ready) await eventually('ready', async () => (await readiness(site)) === 200, 30_000);
      return started;
    },
    deliver: (payload) => eventually('acknowledged', () => gateway.send(payload, { waitMs: 2_000 }), 30_000),
    async ask(payload) {
      const before = site.answersTo(payload).length;
      await site.deliver(payload);
      return eventually('answer', () => site.answersTo(payload)[before], 20_000);
    },
    answersTo: (payload) => gateway.api.messages.filter(({ to }) => to === sessionOf(payload)),
    async close() {
      for (const { child } of running) child.kill('SIGKILL');
      await Promise.all([...running].map(({ exited }) => exited));
      await gateway.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return site;
}

/** HTTP status of the readiness probe; 0 when nobody answers. */
export async function readiness(site: Site): Promise<number> {
  const response = await fetch(`${site.base()}/readyz`).catch(() => undefined);
  return response?.status ?? 0;
}

export interface Vitals {
  /** HTTP status of the liveness probe; 0 when nobody answers. */
  readonly alive: number;
  readonly connected: number;
  /** Timers that keep the process running. */
  readonly timers: number;
  readonly sockets: number;
  readonly heapBytes: number;
}

/** How the program says it is: `/healthz` and `/metrics`. */
export async function vitalsOf(site: Site): Promise<Vitals> {
  const get = (path: string) => fetch(`${site.base()}${path}`).catch(() => undefined);
  const alive = (await get('/healthz'))?.status ?? 0;
  const metrics = (await (await get('/metrics'))?.text()) ?? '';
  const value = (name: string): number => {
    const line = metrics.split('\n').find((candidate) => candidate.startsWith(`gpu_size_${name} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  return {
    alive,
    connected: value('connected{adapter="dingtalk"}'),
    timers: value('nodejs_active_resources{type="Timeout"}'),
    sockets: value('nodejs_active_resources{type="TCPSocketWrap"}'),
    heapBytes: value('nodejs_heap_size_used_bytes'),
  };
}

/** What a tap on a button sends, as the client does: the content of its link. */
export function tapped(button: ChatMessage['buttons'][number] | undefined): string {
  return new URL(button?.actionURL ?? '').searchParams.get('content') ?? '';
}
