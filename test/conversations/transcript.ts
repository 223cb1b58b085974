import { readFileSync } from 'node:fs';
import { z } from 'zod';

const expectation = z.object({
  slots: z.record(z.string(), z.unknown()),
  intent: z.union([z.string(), z.array(z.string())]).optional(),
});

const transcript = z.object({
  id: z.string(),
  /** Every slot that matters is listed: an invented one is wrong. */
  complete: z.boolean().optional(),
  turns: z.array(z.object({ user: z.string(), expect: expectation })),
});

/** A scripted conversation with what a careful reader holds after each turn (shape: test/fixtures/cases/README.md). */
export type Transcript = z.infer<typeof transcript>;

export function readJsonl<T>(file: URL, schema: z.ZodType<T>): readonly T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => schema.parse(JSON.parse(line)));
}

export function readTranscripts(path: string): readonly Transcript[] {
  return readJsonl(new URL(path, import.meta.url), transcript);
}
