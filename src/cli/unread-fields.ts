import type { Writable } from 'node:stream';

import { recommendLineSchema } from './workload-line.ts';

/** Both commands are given the same lines, so what only one of them reads is no mistake. */
const KNOWN: ReadonlySet<string> = new Set(Object.keys(recommendLineSchema.shape));
/** Names told; memory stays flat however the lines are named. */
const MOST_TOLD = 20;

/** Tells about fields that nobody reads, each once: a mistyped name would pass as a default without a word. */
export function createFieldCheck(log: Writable): (value: unknown) => void {
  const told = new Set<string>();
  return (value) => {
    if (typeof value !== 'object' || value === null) return;
    for (const name of Object.keys(value)) {
      if (KNOWN.has(name) || told.has(name) || told.size >= MOST_TOLD) continue;
      told.add(name);
      log.write(`field not read: ${name.slice(0, 100)}\n`);
    }
  };
}
