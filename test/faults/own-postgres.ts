import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

export interface OwnPostgres {
  readonly address: string;
  /** `immediate`: as after a crash, with recovery from the log. */
  restart(mode: 'fast' | 'immediate'): void;
  stop(): void;
}

/** Where Debian keeps the server's programs, newest first; else whatever the path has. */
function programs(): string {
  const base = '/usr/lib/postgresql';
  const [newest] = existsSync(base) ? readdirSync(base).sort((a, b) => Number(b) - Number(a)) : [];
  return newest === undefined ? '' : join(base, newest, 'bin');
}

/** A PostgreSQL server of our own, which may be restarted; it refuses to run as root, so then it runs as `postgres`. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-size-pg-'));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
    chownSync(folder, id('-u'), id('-g'));
  }
  chmodSync(folder, 0o700);
  const port = await freePort();
  const data = join(folder, 'data');
  const run = (program: string, ...args: string[]): void => {
    const command = [join(programs(), program), ...args];
    const [first = '', ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', ...command] : command;
    execFileSync(first, rest, { cwd: folder, stdio: 'ignore', timeout: 60_000 });
  };
  run('initdb', '-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync');
  const options = `-h 127.0.0.1 -p ${port} -k ${folder}`;
  const start = (): void => run('pg_ctl', '-D', data, '-o', options, '-l', join(folder, 'log'), '-w', 'start');
  start();
  return {
    address: `postgres://postgres@127.0.0.1:${port}/postgres`,
    restart(mode) {
      run('pg_ctl', '-D', data, '-m', mode, '-w', 'stop');
      start();
    },
    stop() {
      run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
