import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { SlackServer } from '../fakes/slack-server.ts';

export const signingSecret = 'signing-secret-of-the-campaign';
export const root = join(import.meta.dirname, '../..');
const program = join(root, 'dist/src/main.js');

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

export interface Replica {
  readonly base: string;
  readonly child: ChildProcess;
  /** What it wrote to standard error. */
  readonly log: string[];
  readonly exited: Promise<number | null>;
}

export interface FleetOptions {
  readonly server: SlackServer;
  readonly databaseUrl: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Over Socket Mode instead of HTTP. */
  readonly socket?: boolean;
}

/** Real processes of the built program, serving a fake Slack over HTTP. */
export class Fleet {
  readonly replicas: (Replica | undefined)[] = [];
  readonly #options: FleetOptions;
  readonly #ports: number[] = [];

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  async start(index: number): Promise<Replica> {
    const port = this.#ports[index] ?? (await freePort());
    this.#ports[index] = port;
    const { server, databaseUrl, env = {}, socket = false } = this.#options;
    const child = spawn(process.execPath, [program], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '',
        LOCALE: 'en',
        LOG_LEVEL: 'warn',
        PORT: String(port),
        DATABASE_URL: databaseUrl,
        SLACK_API_URL: server.apiUrl,
        SLACK_BOT_TOKEN: 'xoxb-fake-one-secret',
        ...(socket ? { SLACK_APP_TOKEN: server.appToken } : { SLACK_SIGNING_SECRET: signingSecret }),
        RATE_LIMIT_PER_MINUTE: '1000000',
        CONVERSATION_RATE_LIMIT_PER_MINUTE: '1000000',
        ...env,
      },
    });
    const log: string[] = [];
    child.stderr.on('data', (chunk) => void (log.length < 2_000 && log.push(String(chunk))));
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const replica = { base: `http://127.0.0.1:${port}`, child, log, exited };
    await this.#ready(replica);
    this.replicas[index] = replica;
    return replica;
  }

  async #ready({ base, exited, log }: Replica): Promise<void> {
    let code: number | null | undefined;
    void exited.then((found) => {
      code = found;
    });
    const deadline = performance.now() + 60_000;
    while (performance.now() < deadline) {
      if (code !== undefined) throw new Error(`the program ended with ${code}: ${log.join('')}`);
      const response = await fetch(`${base}/readyz`).catch(() => undefined);
      if (response?.status === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`not ready: ${log.join('')}`);
  }

  /** `kill -9`: no chance to finish anything. */
  async kill(index: number): Promise<void> {
    const replica = this.replicas[index];
    this.replicas[index] = undefined;
    replica?.child.kill('SIGKILL');
    await replica?.exited;
  }

  alive(): readonly Replica[] {
    return this.replicas.filter((replica) => replica !== undefined);
  }

  async stop(): Promise<readonly (number | null)[]> {
    const alive = this.alive();
    for (const { child } of alive) child.kill('SIGTERM');
    return Promise.all(alive.map(({ exited }) => exited));
  }
}
