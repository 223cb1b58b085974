import type { IncomingMessage as HttpRequest, ServerResponse } from 'node:http';
import type { IncomingMessage, Locale } from '../src/message.ts';
import type { Reply } from '../src/reply/reply.ts';
import type { StateStore } from '../src/state/state-store.ts';

/** What a platform can show; callers branch on these flags, never on an adapter's name. */
export interface Capabilities {
  readonly buttons: boolean;
  readonly threads: boolean;
  /** Whether a sent answer can be changed in place. */
  readonly updates: boolean;
  readonly images: boolean;
  /** UTF-8 bytes of one outgoing message. */
  readonly maximumBytes: number;
}

/**
 * Where an answer goes: written by `receive`, kept with the message in the inbox until the answer is out, read back by
 * `deliver`, possibly by another process after a crash. Plain JSON without secrets.
 */
export type Address = Readonly<Record<string, string | number | boolean | null>>;

export interface Accepted {
  readonly message: IncomingMessage;
  readonly address: Address;
}

/** The outcome of handing a message to the inbox; the adapter acks on each of them. */
export type AcceptOutcome = 'accepted' | 'duplicate' | 'overloaded';

export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, event: string): void;
  info(fields: Readonly<Record<string, unknown>>, event: string): void;
  warn(fields: Readonly<Record<string, unknown>>, event: string): void;
  error(fields: Readonly<Record<string, unknown>>, event: string): void;
  child(fields: Readonly<Record<string, unknown>>): Logger;
}

/** Counters by name and labels; histograms in seconds. */
export interface Metrics {
  count(name: string, labels?: Readonly<Record<string, string>>): void;
  observe(name: string, seconds: number, labels?: Readonly<Record<string, string>>): void;
  gauge(name: string, value: number, labels?: Readonly<Record<string, string>>): void;
}

export interface RecentEstimate {
  readonly estimateCode: string;
  readonly verdict: string;
  /** The message that asks for it again. */
  readonly say: string;
  readonly at: number;
}

/** What the product offers to an adapter. */
export interface AdapterContext {
  /**
   * Durable hand-over: returns once the message is stored (or known as a duplicate), so that the platform can be told.
   * The answer comes later through `Adapter.deliver`, exactly once, in order per conversation, also after a restart.
   */
  accept(accepted: Accepted): Promise<AcceptOutcome>;
  /** A direct answer without the inbox, for surfaces that wait (modal validation, previews). Pure apart from the dialog state. */
  answer(message: IncomingMessage): Promise<Reply>;
  /** Slots held for a conversation as the text fields of a form. */
  prefill(conversationId: IncomingMessage['conversationId']): Promise<Readonly<Record<string, string>>>;
  recentEstimates(userId: string, limit: number): Promise<readonly RecentEstimate[]>;
  /** Kept verdict on an answer: what the operator reads in the report. */
  feedback(userId: string, estimateCode: string, helpful: boolean): Promise<void>;
  /** Typed texts of the adapter's own surfaces (form labels, help, declines) in one language. */
  readonly texts: (locale: Locale) => SurfaceTexts;
  readonly store: StateStore;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now: () => number;
}

/** Words that platform surfaces need and that no reply carries. */
export interface SurfaceTexts {
  readonly help: string;
  /** What to do where the platform takes no commands. */
  readonly helpInThreads: string;
  readonly formTitle: string;
  readonly formSubmit: string;
  readonly formCancel: string;
  readonly fieldModel: string;
  readonly fieldModelHint: string;
  readonly fieldSize: string;
  readonly fieldSizeHint: string;
  readonly fieldBatch: string;
  readonly fieldBudget: string;
  readonly fieldBudgetHint: string;
  readonly fieldInvalid: string;
  readonly details: string;
  readonly share: string;
  readonly helpful: string;
  readonly notHelpful: string;
  readonly thanks: string;
  readonly homeTitle: string;
  readonly homeIntro: string;
  readonly homeRecent: string;
  readonly homeEmpty: string;
  readonly newEstimate: string;
  readonly textOnly: string;
  readonly overloaded: string;
  readonly failed: string;
  readonly otherCard: string;
  /** Before the numbered choices, where every choice can be typed. */
  readonly pickByNumber: string;
  /** The same where the bot only hears what mentions it. */
  readonly pickInGroups: string;
  readonly suggestedPrompts: readonly { readonly title: string; readonly message: string }[];
}

/** What makes a repeated delivery look like one to a person. */
export interface Delivery {
  /** The same for every attempt at one message: a platform's idempotency key (UUID form), or metadata to look for. */
  readonly key: string;
  /** An earlier attempt may have reached the platform (crash or time-out): look for it first where the platform allows. */
  readonly repeated: boolean;
}

export type ConnectionStatus = 'connected' | 'connecting' | 'stopped' | 'failed';

/** Requests that a platform or a browser sends to this process; the one HTTP server of the program hands them over. */
export interface HttpSurface {
  /** Exact paths that belong to the adapter. */
  readonly paths: readonly string[];
  /** Answers the request completely, whatever its method. */
  handle(request: HttpRequest, response: ServerResponse): void;
}

export interface Adapter<Payload = unknown> {
  readonly name: string;
  readonly capabilities: Capabilities;
  /** @throws AppError `invalid-config` or `platform-refused` with a readable reason. */
  start(): Promise<void>;
  /** Stops receiving, waits for work in flight (bounded), closes the connection. */
  stop(): Promise<void>;
  status(): ConnectionStatus;
  render(reply: Reply): Payload;
  /** @throws AppError `platform-unreachable` (worth a retry) or `platform-refused` (not). */
  deliver(address: Address, reply: Reply, delivery?: Delivery): Promise<void>;
  /** Present when the platform calls this process over HTTP. */
  readonly http?: HttpSurface;
  /** Language of the sender's profile, asked while the answer is prepared: an accepted message must not wait for it. */
  profileLocale?(address: Address): Promise<Locale | undefined>;
  /** Tries the credentials; one line per problem, empty when all is well. */
  check(): Promise<readonly string[]>;
}
