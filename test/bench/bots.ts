import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Compiled, this file stands in dist/test/bench. */
export const main = join(import.meta.dirname, '../../src/main.js');

export interface Bot {
  readonly child: ChildProcess;
  readonly port: number;
}

export async function startBot(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Bot> {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'] ?? '', LOCALE: 'en', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const port = await new Promise<number>((resolve, reject) => {
    let output = '';
    const look = (chunk: Buffer): void => {
      output += chunk.toString('utf8');
      const found = /"port":(\d+)[^\n]*"serving"/u.exec(output)?.[1];
      if (found !== undefined) resolve(Number(found));
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    child.once('exit', () => reject(new Error(`the bot ended: ${output}`)));
  });
  return { child, port };
}

export function residentMiB({ child }: Bot): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/u.exec(status)?.[1] ?? 0) / 1_024;
}

/** Processor time so far; ticks of 10 ms as proc(5) has them. */
export function processorMs({ child }: Bot): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export async function stopBot({ child }: Bot): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}
