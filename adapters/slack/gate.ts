import type { ServerResponse } from 'node:http';
import { App, HTTPReceiver, type InstallationStore } from '@slack/bolt';
import type { AdapterContext, HttpSurface, Logger } from '../adapter.ts';
import { createIntake, type Reaction } from '../intake.ts';
import { fieldAt, textAt } from '../wire.ts';
import { type SlackAdapterConfig, slackScopes } from './config.ts';
import { escapeText } from './limits.ts';
import { boltLogger, postResponse, webClientOptions } from './web.ts';

/** Slack waits three seconds for the answer to a command or a press. */
const deadlineMs = 2_500;

/** An app without a receiver of its own: those of Socket Mode come and go. */
const noReceiver = { init: () => undefined, start: async () => undefined, stop: async () => undefined };

/**
 * What Bolt's receivers hand deliveries to, without Bolt's listeners, which acknowledge an event before anybody saw it,
 * run all at once and answer nothing where one of them throws. Here an event is acknowledged once it is stored (an
 * error leaves it to Slack's redelivery); commands and presses always get an answer in time, known to us or not.
 */
export function createGate({ logger, texts }: AdapterContext, react: (body: unknown) => Promise<Reaction>) {
  const intake = createIntake(logger);
  const library = boltLogger(logger);
  const options = { receiver: noReceiver, logger: library, deferInitialization: true };
  const app = new App({ ...options, convoStore: false, ignoreSelf: false });
  // In both languages: nobody can be asked now.
  const apology = escapeText(`${texts('zh').failed}\n${texts('en').failed}`);
  app.processEvent = ({ body, ack }) => {
    const incoming = { ack, react: () => react(body) };
    if (fieldAt(body, 'event')) return intake.take({ ...incoming, comesAgain: true });
    return intake.take({ ...incoming, comesAgain: false, deadlineMs, apology: () => apologize(body, apology) });
  };
  return { app, drain: intake.drain };
}

/** What a person reads whose command, form or press could not be stored. */
function apologize(body: unknown, text: string): unknown {
  const ephemeral = { response_type: 'ephemeral', replace_original: false, text };
  if (textAt(body, 'command') !== undefined) return ephemeral;
  if (textAt(body, 'type') === 'view_submission') return { response_action: 'errors', errors: { model: text } };
  const url = textAt(body, 'response_url');
  if (url) void postResponse(url, ephemeral).catch(() => undefined);
  return undefined;
}

/** 500 makes Slack deliver the event again. */
async function processEventErrorHandler({ response }: { response: ServerResponse }): Promise<boolean> {
  if (!response.headersSent) response.writeHead(500).end();
  return true;
}

/** Requests stamped in the future pass the library's check, and could be replayed until then. */
const isFromFuture = (stamp: unknown): boolean => Number(stamp) * 1_000 > Date.now() + 300_000;

interface HttpParts {
  readonly installations: InstallationStore;
  readonly app: App;
}

/** HTTP transport with Slack's signature check, and the pages of OAuth for several workspaces; none in Socket Mode. */
export function openHttp(config: SlackAdapterConfig, log: Logger, parts: HttpParts): HttpSurface | undefined {
  const { credentials } = config;
  if (credentials.transport === 'socket') return undefined;
  const logger = boltLogger(log);
  const oauth = credentials.transport === 'oauth' && {
    ...credentials,
    scopes: [...slackScopes.required, ...slackScopes.optional],
    installationStore: parts.installations,
    installerOptions: { clientOptions: webClientOptions(config, logger) },
  };
  const { signingSecret } = credentials;
  const usual = { signingSecret, logger, bodyLimit: 1_000_000, processEventErrorHandler };
  const receiver = new HTTPReceiver({ ...usual, ...oauth });
  receiver.init(parts.app);
  return {
    paths: ['/slack/events', ...(oauth ? ['/slack/install', '/slack/oauth_redirect'] : [])],
    handle(request, response) {
      if (isFromFuture(request.headers['x-slack-request-timestamp'])) response.writeHead(401).end();
      else if (request.method !== 'POST' && request.url?.startsWith('/slack/events')) response.writeHead(405).end();
      else receiver.requestListener(request, response);
    },
  };
}
