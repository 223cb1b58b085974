import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { App, type AppOptions, HTTPReceiver, type Receiver, type ReceiverEvent } from '@slack/bolt';
import { AppError } from '../../src/errors.ts';
import type { AdapterContext, HttpSurface } from '../adapter.ts';
import { type SlackAdapterConfig, slackScopes } from './config.ts';
import { boltLogger } from './connection.ts';
import type { Installations } from './installations.ts';
import { escapeText } from './limits.ts';
import { postResponse, webClientOptions } from './web.ts';

/** Slack waits three seconds for the answer to a command or a press. */
const ackDeadlineMs = 2_500;
const drainMs = 5_000;

export interface AppParts {
  readonly config: SlackAdapterConfig;
  readonly context: AdapterContext;
  readonly installations: Installations;
}

/** The app is not installed (any more) where the event comes from; a store that fails is something else. */
function isUninstalled(error: unknown): boolean {
  if (error instanceof AppError) return error.code === 'platform-refused';
  return error instanceof Error && 'original' in error && isUninstalled(error.original);
}

/**
 * Bolt with the order of things that nothing lost needs: an event is acknowledged after its listeners stored it (an
 * error leaves it to Slack's redelivery); commands and presses always get an answer in time, known to us or not.
 */
export class GatedApp extends App {
  readonly #running = new Set<Promise<void>>();
  readonly #context: AdapterContext;

  constructor(options: AppOptions, context: AdapterContext) {
    super(options);
    this.#context = context;
    this.error(async (error) => Promise.reject(error));
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
    const isEvent = event.body['event'] !== undefined;
    let acknowledged = false;
    const ack = async (response?: unknown): Promise<void> => {
      if (acknowledged) return;
      acknowledged = true;
      await event.ack(response);
    };
    const deadline = isEvent ? undefined : setTimeout(() => void ack().catch(() => undefined), ackDeadlineMs);
    try {
      await super.processEvent({ ...event, ack: isEvent ? async () => undefined : ack });
      await ack();
    } catch (error) {
      const gone = isUninstalled(error);
      this.#context.logger[gone ? 'info' : 'error'](
        { error },
        gone ? 'workspace without installation' : 'receiving failed',
      );
      if (isEvent && !gone) throw error;
      await ack(gone ? undefined : this.#apology(event.body));
    } finally {
      clearTimeout(deadline);
    }
  }

  /** What a person reads whose command, form or press could not be stored; in both languages, nobody can be asked now. */
  #apology(body: ReceiverEvent['body']): unknown {
    const text = escapeText(`${this.#context.texts('zh').failed}\n${this.#context.texts('en').failed}`);
    const ephemeral = { response_type: 'ephemeral', replace_original: false, text };
    if (body['command'] !== undefined) return ephemeral;
    if (body['type'] === 'view_submission') return { response_action: 'errors', errors: { model: text } };
    if (typeof body['response_url'] === 'string')
      void postResponse(body['response_url'], ephemeral).catch(() => undefined);
    return undefined;
  }
}

/** HTTP transport with Slack's signature check; several workspaces by OAuth when there is no token. */
export function createHttpReceiver(parts: AppParts & { readonly signingSecret: string }): HTTPReceiver {
  const { config, context, installations, signingSecret } = parts;
  const { credentials } = config;
  const logger = boltLogger(context.logger);
  const common = {
    signingSecret,
    logger,
    bodyLimit: 1_000_000,
    /** 500 makes Slack deliver the event again. */
    processEventErrorHandler: async ({ response }: { response: ServerResponse }) => {
      if (!response.headersSent) response.writeHead(500).end();
      return true;
    },
  };
  if (credentials.transport !== 'oauth') return new HTTPReceiver(common);
  const { clientId, clientSecret, stateSecret } = credentials;
  const installerOptions = { clientOptions: webClientOptions(config, logger) };
  const scopes = [...slackScopes.required, ...slackScopes.optional];
  const oauth = { clientId, clientSecret, stateSecret, scopes, installationStore: installations, installerOptions };
  return new HTTPReceiver({ ...common, ...oauth });
}

/** Requests stamped in the future pass the library's check, and could be replayed until then. */
const isFromFuture = (stamp: unknown): boolean => Number(stamp) * 1_000 > Date.now() + 300_000;

export function httpSurface(receiver: HTTPReceiver, installs: boolean): HttpSurface {
  return {
    paths: ['/slack/events', ...(installs ? ['/slack/install', '/slack/oauth_redirect'] : [])],
    handle(request, response) {
      if (isFromFuture(request.headers['x-slack-request-timestamp'])) response.writeHead(401).end();
      else if (request.method !== 'POST' && request.url?.startsWith('/slack/events')) response.writeHead(405).end();
      else receiver.requestListener(request, response);
    },
  };
}

/** The app on its transport; `authorize` never asks the network, since Slack's clock runs meanwhile. */
export function createApp(parts: AppParts, receiver: Receiver, botUser: () => string | undefined): GatedApp {
  const { config, context } = parts;
  const { credentials } = config;
  const logger = boltLogger(context.logger);
  const authorize = async () => ({
    botToken: credentials.transport === 'oauth' ? '' : credentials.botToken,
    botUserId: botUser() ?? '',
  });
  const options: AppOptions = {
    receiver,
    ...(credentials.transport === 'oauth' ? {} : { authorize }),
    deferInitialization: true,
    tokenVerificationEnabled: false,
    convoStore: false,
    ignoreSelf: false,
    attachFunctionToken: false,
    logger,
    clientOptions: webClientOptions(config, logger),
  };
  return new GatedApp(options, context);
}
