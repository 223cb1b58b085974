import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

export const root = join(import.meta.dirname, '../..');
const program = join(root, 'dist/src/main.js');

export interface Replica {
  readonly base: string;
  readonly child: ChildProcess;
  /** What it wrote to standard error. */
  readonly log: string[];
  readonly exited: Promise<number | null>;
}

export interface FleetOptions {
  readonly databaseUrl: string;
  /** Which platform it serves, and anything else. */
  readonly env: () => Readonly<Record<string, string>>;
}

/** Real processes of the built program, serving a fake platform. */
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
    const { databaseUrl, env } = this.#options;
    const child = spawn(process.execPath, [program], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '',
        LOCALE: 'en',
        LOG_LEVEL: 'warn',
        PORT: String(port),
        DATABASE_URL: databaseUrl,
        RATE_LIMIT_PER_MINUTE: '1000000',
        CONVERSATION_RATE_LIMIT_PER_MINUTE: '1000000',
        ...env(),
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
