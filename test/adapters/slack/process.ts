import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../fakes/eventually.ts';
import { httpTransport, payloads, type SlackTransport, socketTransport } from '../../fakes/slack-driver.ts';
import { SlackServer } from '../../fakes/slack-server.ts';
import type { FakeMessage, FakeWorkspace } from '../../fakes/slack-workspace.ts';
import { signingSecret } from './harness.ts';

const root = join(import.meta.dirname, '../../..');
const program = join(root, 'dist/src/main.js');

export type ProcessMode = 'socket' | 'http' | 'oauth';

/** Everything that any program of this suite wrote, for the search after secrets and words. */
export const everyOutput: string[] = [];

export interface Program {
  readonly child: ChildProcess;
  /** Standard output and standard error so far. */
  output(): string;
  readonly exited: Promise<number | null>;
}

export interface Site {
  readonly server: SlackServer;
  readonly make: ReturnType<typeof payloads>;
  readonly slack: SlackTransport;
  readonly folder: string;
  /** Base address of the program's HTTP server. */
  base(): string;
  /** Messages in a channel, oldest first. */
  messages(channel?: string): readonly FakeMessage[];
  start(options?: StartOptions): Promise<Program>;
  close(): Promise<void>;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** False: do not wait until it is ready. */
  readonly ready?: boolean;
}

export function environmentOf(mode: ProcessMode, server: SlackServer): Record<string, string> {
  if (mode === 'socket') return { SLACK_BOT_TOKEN: 'xoxb-fake-one-secret', SLACK_APP_TOKEN: server.appToken };
  if (mode === 'http') return { SLACK_BOT_TOKEN: 'xoxb-fake-one-secret', SLACK_SIGNING_SECRET: signingSecret };
  return {
    SLACK_CLIENT_ID: '1.2',
    SLACK_CLIENT_SECRET: 'client-secret-x',
    SLACK_STATE_SECRET: 'state-secret-x',
    SLACK_SIGNING_SECRET: signingSecret,
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
}

/** Runs the built program as an operator would, with only the given environment. */
export function runProgram(args: readonly string[], env: Readonly<Record<string, string>>): Program {
  if (!existsSync(program)) throw new Error('the program is not built: npm run build');
  const child = spawn(process.execPath, [program, ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', LOCALE: 'en', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const collect = (chunk: Buffer): void => {
    output += chunk.toString('utf8');
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      everyOutput.push(output);
      resolve(code);
    });
  });
  return { child, output: () => output, exited };
}

/** A fake Slack, a database file and a way to run the program between them. */
export async function openSite(mode: ProcessMode, workspaces?: readonly FakeWorkspace[]): Promise<Site> {
  const server = await SlackServer.start(workspaces);
  const folder = mkdtempSync(join(tmpdir(), 'gpu-size-slack-'));
  const running = new Set<Program>();
  let port = '0';
  const base = (): string => `http://127.0.0.1:${port}`;
  const start = async ({ env = {}, ready = true }: StartOptions = {}): Promise<Program> => {
    const common = {
      SLACK_API_URL: server.apiUrl,
      DATABASE_URL: `sqlite:${join(folder, 'state.db')}`,
      PORT: '0',
      LOG_LEVEL: 'debug',
    };
    const program = runProgram([], {
      ...common,
      RATE_LIMIT_PER_MINUTE: '1000',
      CONVERSATION_RATE_LIMIT_PER_MINUTE: '1000',
      ...environmentOf(mode, server),
      ...env,
    });
    running.add(program);
    void program.exited.then(() => running.delete(program));
    if (!ready) return program;
    port = await eventually('port', () => /"port":(\d+)[^\n]*"serving"/u.exec(program.output())?.[1], 20_000);
    await eventually(
      'ready',
      async () => (await fetch(`${base()}/readyz`).catch(() => undefined))?.status === 200,
      20_000,
    );
    return program;
  };
  return {
    server,
    make: payloads(server),
    slack: mode === 'socket' ? socketTransport(server) : httpTransport(() => `${base()}/slack/events`, signingSecret),
    folder,
    base,
    messages: (channel = 'C00FAKECHAN1') => server.store.messages.filter((message) => message.channel === channel),
    start,
    async close() {
      for (const { child } of running) child.kill('SIGKILL');
      await Promise.all([...running].map(({ exited }) => exited));
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The element with that action id in a message, as Slack reports it when it is pressed. */
export function elementIn(blocks: readonly unknown[], actionId: string, label?: string): Record<string, unknown> {
  for (const block of blocks) {
    if (typeof block !== 'object' || block === null || !('elements' in block) || !Array.isArray(block.elements))
      continue;
    const found = block.elements.find(
      (element: { action_id?: string; text?: { text?: string } }) =>
        element.action_id?.startsWith(actionId) === true && (label === undefined || element.text?.text === label),
    );
    if (found === undefined) continue;
    const blockId = 'block_id' in block ? block.block_id : undefined;
    return { type: found.type, action_id: found.action_id, block_id: blockId, value: found.value };
  }
  throw new Error(`no ${actionId} ${label ?? ''}`);
}
