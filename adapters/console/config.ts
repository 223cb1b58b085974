import type { Readable, Writable } from 'node:stream';

/** The terminal needs no environment variables: streams and looks are handed in by whoever starts it. */
export interface ConsoleAdapterConfig {
  readonly input: Readable;
  readonly output: Writable;
  /** A person sits there: prompt, line editing, greeting. */
  readonly interactive: boolean;
  readonly color: boolean;
  readonly columns: number | undefined;
  /** Whole answers at once, as for a single message. */
  readonly everything: boolean;
  readonly userId: string;
  /** Called when the input ends or the person leaves. */
  readonly onEnd?: () => void;
}
