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
