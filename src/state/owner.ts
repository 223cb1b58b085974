import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

const processId = randomUUID();

/** Names who holds a claim: machine, process number, this run of the process, and the part of it. */
export function createOwner(): string {
  return [encodeURIComponent(hostname()), process.pid, processId, randomUUID().slice(0, 8)].join(':');
}

/**
 * Whether the owner was a process of this machine that has ended. Only for backends that live on one machine: elsewhere
 * two containers may share a host name and a process number.
 */
export function isGone(owner: string): boolean {
  const [host = '', pid = '', run = ''] = owner.split(':');
  if (host !== encodeURIComponent(hostname()) || run === processId) return false;
  if (Number(pid) === process.pid) return true;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}
