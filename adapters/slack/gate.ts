import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { App, HTTPReceiver, type ReceiverEvent } from '@slack/bolt';
import { AppError } from '../../src/errors.ts';
import type { AdapterContext, HttpSurface } from '../adapter.ts';
import { type SlackAdapterConfig, slackScopes } from './config.ts';
import type { Reaction } from './desk.ts';
import type { Installations } from './installations.ts';
import { escapeText } from './limits.ts';
import { type Delivery, delivery } from './receive.ts';
import { boltLogger, postResponse, webClientOptions } from './web.ts';

/** Slack waits three seconds for the answer to a command or a press. */
const ackDeadlineMs = 2_500;
const drainMs = 4_000;

/** An app without a receiver of its own: those of Socket Mode come and go. */
const noReceiver = { init: () => undefined, start: async () => undefined, stop: async () => undefined };

/**
 * What Bolt's receivers hand deliveries to, without Bolt's listeners, which acknowledge an event before anybody saw it,
 * run all at once and answer nothing where one of them throws. Here an event is acknowledged once it is stored (an
 * error leaves it to Slack's redelivery); commands and presses always get an answer in time, known to us or not.
 */
export class Gate extends App {
  readonly #running = new Set<Promise<void>>();
  readonly #context: AdapterContext;
  readonly #react: (body: Delivery) => Promise<Reaction>;

  constructor(context: AdapterContext, react: (body: Delivery) => Promise<Reaction>) {
    const logger = boltLogger(context.logger);
    super({ receiver: noReceiver, logger, deferInitialization: true, convoStore: false, ignoreSelf: false });
    this.#context = context;
    this.#react = react;
  }

  override processEvent(event: ReceiverEvent): Promise<void> {
    const work = this.#pass(event).finally(() => this.#running.delete(work));
    this.#running.add(work);
    return work;
  }

  /** Waits, bounded, for what is being received. */
  async drain(): Promise<void> {
    await Promise.race([Promise.allSettled(this.#running), wait(drainMs, undefined, { ref: false })]);
  }

  async #pass(event: ReceiverEvent): Promise<void> {
    const { logger } = this.#context;
    const body = delivery.safeParse(event.body).data;
    if (body === undefined) logger.warn({}, 'unreadable delivery');
    let acknowledged = false;
    const ack = async (response?: unknown): Promise<void> => {
      if (acknowledged) return;
      acknowledged = true;
      await event.ack(response);
    };
    const isEvent = Boolean(body?.event);
    const deadline = isEvent ? undefined : setTimeout(() => void ack().catch(() => undefined), ackDeadlineMs);
    try {
      const { response, afterwards } = body === undefined ? {} : await this.#react(body);
      await ack(response);
      await afterwards?.();
    } catch (error) {
      const gone = error instanceof AppError && error.code === 'platform-refused';
      if (gone) logger.info({ error }, 'workspace without installation');
      else logger.error({ error }, 'receiving failed');
      if (isEvent && !gone && !acknowledged) throw error;
      await ack(gone || body === undefined ? undefined : this.#apology(body));
    } finally {
      clearTimeout(deadline);
    }
  }

  /** What a person reads whose command, form or press could not be stored; in both languages, nobody can be asked now. */
  #apology({ command, type, response_url: url }: Delivery): unknown {
    const text = escapeText(`${this.#context.texts('zh').failed}\n${this.#context.texts('en').failed}`);
    const ephemeral = { response_type: 'ephemeral', replace_original: false, text };
    if (typeof command === 'string') return ephemeral;
    if (type === 'view_submission') return { response_action: 'errors', errors: { model: text } };
    if (url) void postResponse(url, ephemeral).catch(() => undefined);
    return undefined;
  }
}

export interface WebParts {
  readonly config: SlackAdapterConfig;
  readonly context: AdapterContext;
  readonly installations: Installations;
  readonly gate: Gate;
}

/** 500 makes Slack deliver the event again. */
async function processEventErrorHandler({ response }: { response: ServerResponse }): Promise<boolean> {
  if (!response.headersSent) response.writeHead(500).end();
  return true;
}

/** Requests stamped in the future pass the library's check, and could be replayed until then. */
const isFromFuture = (stamp: unknown): boolean => Number(stamp) * 1_000 > Date.now() + 300_000;

/** HTTP transport with Slack's signature check, and the pages of OAuth for several workspaces; none in Socket Mode. */
export function openHttp({ config, context, installations, gate }: WebParts): HttpSurface | undefined {
  const { credentials } = config;
  if (credentials.transport === 'socket') return undefined;
  const { transport, signingSecret } = credentials;
  const logger = boltLogger(context.logger);
  const common = { signingSecret, logger, bodyLimit: 1_000_000, processEventErrorHandler };
  const oauth = transport === 'oauth' && {
    clientId: credentials.clientId,
    clientSecret: credentials.clientSecret,
    stateSecret: credentials.stateSecret,
    scopes: [...slackScopes.required, ...slackScopes.optional],
    installationStore: installations,
    installerOptions: { clientOptions: webClientOptions(config, logger) },
  };
  const receiver = new HTTPReceiver({ ...common, ...oauth });
  receiver.init(gate);
  return {
    paths: ['/slack/events', ...(oauth ? ['/slack/install', '/slack/oauth_redirect'] : [])],
    handle(request, response) {
      if (isFromFuture(request.headers['x-slack-request-timestamp'])) response.writeHead(401).end();
      else if (request.method !== 'POST' && request.url?.startsWith('/slack/events')) response.writeHead(405).end();
      else receiver.requestListener(request, response);
    },
  };
}
