import { Readable, Writable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { processJsonl, readLines } from '../../src/cli/jsonl.ts';
import { AppError } from '../../src/errors.ts';

/** A slow reader that holds little, so that back-pressure is real. */
function collector() {
  const chunks: string[] = [];
  const stream = new Writable({
    highWaterMark: 1_024,
    decodeStrings: false,
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      setImmediate(done);
    },
  });
  return { stream, text: () => chunks.join('') };
}

async function run(input: Iterable<string | Buffer>, answer: (value: unknown) => unknown) {
  const output = collector();
  const progress = collector();
  const result = await processJsonl(
    { input: Readable.from(input), output: output.stream, progress: progress.stream },
    answer,
  );
  const lines = output
    .text()
    .split('\n')
    .filter((line) => line !== '');
  return { result, lines: lines.map((line): unknown => JSON.parse(line)), progress: progress.text() };
}

describe('a stream of lines', () => {
  test('is answered in its order, however it is cut into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ maxLength: 20 }), { maxLength: 30 }),
        fc.integer({ min: 1, max: 9 }),
        async (texts, size) => {
          const bytes = Buffer.from(texts.map((text, id) => JSON.stringify({ id, text })).join('\n'));
          const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
            bytes.subarray(at * size, at * size + size),
          );
          const { lines } = await run(chunks, (value) => value);
          expect(lines).toEqual(texts.map((text, id) => ({ id, text: text.toWellFormed() })));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('an answer that takes time does not change the order', async () => {
    const waits = [20, 1, 10];
    const input = waits.map((wait, id) => `${JSON.stringify({ id, wait })}\n`);
    const { lines } = await run(input, async (value) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return value;
    });
    expect(lines).toEqual(waits.map((wait, id) => ({ id, wait })));
  });

  test('a bad line gives an error object with its id and the rest goes on', async () => {
    const input = ['{"id":"a"}\n', 'nonsense\n', '\n', '{"id":"b","bad":true}\n', '[1]\n', '{"id":3}\n'];
    const { lines, result } = await run(input, (value) => {
      if (JSON.stringify(value).includes('bad')) throw new AppError('out-of-range', 'too much');
      return value;
    });
    expect(lines).toEqual([
      { id: 'a' },
      { id: null, error: { code: 'invalid-input', message: 'the line is not JSON' } },
      { id: 'b', error: { code: 'out-of-range', message: 'too much' } },
      [1],
      { id: 3 },
    ]);
    expect(result).toEqual({ lines: 5, failed: 2 });
  });

  test('an error names its field: the one that is wrong, else the one its code is about', async () => {
    const errors = [
      new AppError('out-of-range', 'batchSize: too small', { details: { field: 'batchSize' } }),
      new AppError('unknown-model', 'no network called x'),
      new AppError('invalid-input', 'not an object', { details: { field: '' } }),
    ];
    const { lines } = await run(['{"id":0}\n{"id":1}\n{"id":2}\n'], (value) => {
      throw errors[Number(JSON.stringify(value).replaceAll(/\D/g, ''))];
    });
    expect(lines).toEqual([
      { id: 0, error: { code: 'out-of-range', message: 'batchSize: too small', field: 'batchSize' } },
      { id: 1, error: { code: 'unknown-model', message: 'no network called x', field: 'model' } },
      { id: 2, error: { code: 'invalid-input', message: 'not an object' } },
    ]);
  });

  test('a byte order mark and line ends of Windows are no part of a line', async () => {
    const bytes = Buffer.from('\ufeff{"id":1}\r\n\r\n{"id":2}\r\n');
    for (const input of [[bytes], [...bytes].map((byte) => Buffer.from([byte]))]) {
      expect((await run(input, (value) => value)).lines).toEqual([{ id: 1 }, { id: 2 }]);
    }
  });

  test('a failure of the program is reported as one, not thrown', async () => {
    const { lines } = await run(['{"id":1}\n'], () => {
      throw new TypeError('oops');
    });
    expect(lines).toEqual([{ id: 1, error: { code: 'internal', message: 'oops' } }]);
  });

  test('invalid UTF-8 and an endless line are errors, not the end', async () => {
    const endless = Buffer.alloc(5 * 1024 * 1024, 'x');
    const { lines } = await run([Buffer.from([0x7b, 0xff, 0xfe, 0x0a]), endless, '\n{"id":2}\n'], (value) => value);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({ error: { code: 'invalid-input' } });
    expect(lines[1]).toMatchObject({ error: { code: 'too-large' } });
    expect(lines[2]).toEqual({ id: 2 });
  });

  test('long inputs tell their progress, apart from the answers', async () => {
    const input = Array.from({ length: 20_001 }, (_, id) => `{"id":${id}}\n`);
    const { lines, progress } = await run(input, (value) => value);
    expect(lines).toHaveLength(20_001);
    expect(progress).toBe('10000 lines\n20000 lines\n');
  });
});

test('lines come without their ends, the last one without needing one', async () => {
  const lines: string[] = [];
  for await (const line of readLines(Readable.from(['a\n', 'b', 'c\n\nd']))) lines.push(line);
  expect(lines).toEqual(['a', 'bc', '', 'd']);
});
