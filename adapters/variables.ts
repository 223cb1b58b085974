import { z } from 'zod';

/** A variable of the environment; blank is absent. */
export const text = z
  .string()
  .trim()
  .optional()
  .transform((value) => value || undefined);

/** `ENCRYPTION_KEY` */
export const encryptionKey = text.refine(
  (value) => value === undefined || Buffer.from(value, 'base64').length === 32,
  'must be base64 of 32 bytes, e.g. from: openssl rand -base64 32',
);

/** `RETENTION_DAYS` */
export const retentionDays = text
  .transform((value) => Number(value ?? 30))
  .refine((value) => value > 0, 'must be a positive number');

/** What is wrong, by variable. */
type Problems = Readonly<Record<string, string>>;

/** Of the variables that are needed, with where a person finds each, those that are absent. */
export function missing(env: Readonly<Record<string, unknown>>, needed: Problems): Problems {
  const absent = Object.entries(needed).filter(([name]) => env[name] === undefined);
  return Object.fromEntries(absent.map(([name, where]) => [name, `missing (${where})`]));
}

/** One issue for each problem, with the variable as its path. */
export function report(context: z.RefinementCtx, problems: Problems): void {
  for (const [name, message] of Object.entries(problems)) {
    context.addIssue({ code: 'custom', path: [name], message, input: undefined });
  }
}
