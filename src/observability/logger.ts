import { type DestinationStream, destination, pino, stdTimeFunctions } from 'pino';
import type { Logger } from '../../adapters/adapter.ts';
import { redact, redactText } from './redact.ts';

export interface LoggerOptions {
  /** `trace` `debug` `info` `warn` `error` `fatal` `silent` */
  readonly level: string;
  /** Standard error when absent; written synchronously, so that nothing is lost at exit. */
  readonly destination?: DestinationStream;
}

type Fields = Readonly<Record<string, unknown>>;

/** JSON lines on standard error; every field passes redaction, so no token, webhook or message text can leave here. */
export function createLogger({ level, destination: target }: LoggerOptions): Logger {
  const stream = target ?? destination({ fd: 2, sync: true });
  return wrap(
    pino(
      {
        level,
        base: null,
        messageKey: 'event',
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }), log: (fields) => Object(redact(fields)) },
      },
      stream,
    ),
  );
}

interface Sink {
  debug(fields: object, event: string): void;
  info(fields: object, event: string): void;
  warn(fields: object, event: string): void;
  error(fields: object, event: string): void;
  child(fields: object): Sink;
}

function wrap(sink: Sink): Logger {
  return {
    debug: (fields: Fields, event: string) => sink.debug({ ...fields }, redactText(event)),
    info: (fields: Fields, event: string) => sink.info({ ...fields }, redactText(event)),
    warn: (fields: Fields, event: string) => sink.warn({ ...fields }, redactText(event)),
    error: (fields: Fields, event: string) => sink.error({ ...fields }, redactText(event)),
    child: (fields: Fields) => wrap(sink.child(Object(redact(fields)))),
  };
}
