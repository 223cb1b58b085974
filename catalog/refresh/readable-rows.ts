import type { z } from 'zod';

/** Rows that can be read; a broken one does not spoil the others. */
export function readable<Schema extends z.ZodType>(
  schema: Schema,
  rows: readonly unknown[],
): readonly z.infer<Schema>[] {
  return rows.flatMap((row) => {
    const parsed = schema.safeParse(row);
    return parsed.success ? [parsed.data] : [];
  });
}
