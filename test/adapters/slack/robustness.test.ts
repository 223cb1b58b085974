import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Bench, openBench } from './harness.ts';

const folder = join(import.meta.dirname, '../../fixtures/slack-payloads');
const recorded = readdirSync(folder)
  .filter((file) => /^(event|interaction|command)\./u.test(file))
  .map((file) => ({ file, payload: z.looseObject({}).parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))) }));

/** All paths to values inside, so that any of them can be taken away or replaced. */
function pathsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, child]) => pathsIn(child, [...path, key]))];
}

function changed(value: unknown, path: readonly string[], replacement: unknown): unknown {
  const [head, ...rest] = path;
  if (head === undefined) return replacement;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value))
    return value.map((child, index) => (String(index) === head ? changed(child, rest, replacement) : child));
  const entries = Object.entries(value).map(([key, child]) => [
    key,
    key === head ? changed(child, rest, replacement) : child,
  ]);
  return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
}

const ours = (payload: object): object => ({ ...payload, callback_id: 'gpu_size_from_message', command: '/gpu-size' });
const odd = fc.constantFrom<unknown>(undefined, null, '', 'x', 0, true, [], {}, '\ud800', 'D1');
const mutation = fc.record({
  index: fc.nat(recorded.length - 1),
  at: fc.nat(500),
  replacement: odd,
  mine: fc.boolean(),
});

describe.each(['http', 'socket'] as const)('damaged payloads over %s', (mode) => {
  let bench: Bench;
  const rejections: unknown[] = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  beforeAll(async () => {
    process.on('unhandledRejection', note);
    bench = await openBench(mode);
  });
  afterAll(async () => {
    process.off('unhandledRejection', note);
    await bench.stop();
  });

  test('never break the connection, and good ones are answered afterwards', async () => {
    await fc.assert(
      fc.asyncProperty(mutation, async ({ index, at, replacement, mine }) => {
        const one = recorded[index % recorded.length];
        if (one === undefined) return;
        const paths = pathsIn(one.payload);
        const damaged = changed(mine ? ours(one.payload) : one.payload, paths[at % paths.length] ?? [], replacement);
        const body = typeof damaged === 'object' && damaged !== null ? damaged : {};
        const options = { waitMs: 300 };
        if (one.file.startsWith('command'))
          await bench.slack.command(z.record(z.string(), z.coerce.string()).catch({}).parse(body), options);
        else if (one.file.startsWith('interaction')) await bench.slack.interaction(body, options);
        else await bench.slack.event(body, options);
      }),
      { numRuns: 400 },
    );
    await bench.settled();
    expect(rejections).toEqual([]);
    const before = bench.accepted.length;
    expect((await bench.slack.event(bench.make.mention('unet'))).acked).toBe(true);
    expect(bench.accepted.length).toBe(before + 1);
  }, 120_000);
});
