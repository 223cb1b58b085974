/** Codes that operators see in the log and scripts see in JSON; each has a message in every language (`reply/messages`). */
export type ErrorCode =
  | 'invalid-input'
  | 'unknown-model'
  | 'unknown-backbone'
  | 'unsupported-combination'
  | 'unknown-gpu'
  | 'out-of-range'
  | 'too-large'
  | 'invalid-config'
  | 'invalid-catalog'
  | 'store-unavailable'
  | 'platform-refused'
  | 'platform-unreachable'
  | 'overloaded'
  | 'internal';

/** An error with a stable code. `message` never holds a secret or a person's text; `details` is safe to show. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, string | number | readonly string[]>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, string | number | readonly string[]>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** Wraps anything thrown; an `AppError` comes back as it is. */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError('internal', error instanceof Error ? error.message : 'unknown failure', { cause: error });
}

/** Makes a `switch` over a union exhaustive at compile time. */
export function assertNever(value: never): never {
  throw new AppError('internal', `unexpected value ${JSON.stringify(value)}`);
}
