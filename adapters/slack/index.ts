import type { Adapter, AdapterContext } from '../adapter.ts';
import { createReception } from '../reception.ts';
import { createSeal } from '../seal.ts';
import { type Link, Supervisor, usualPace } from '../supervisor.ts';
import type { SlackAdapterConfig } from './config.ts';
import { openSocket } from './connection.ts';
import { deliverReply } from './deliver.ts';
import { createGate, openHttp } from './gate.ts';
import { createInstallations } from './installations.ts';
import { slackAddress, tenantOf, type Workspace } from './receive.ts';
import { renderReply, type SlackMessage } from './render.ts';
import { createStage } from './stage.ts';
import { react } from './surfaces.ts';
import { createWorkspaces } from './workspaces.ts';

const dayMs = 86_400_000;
const pace = { ...usualPace, firstPauseMs: 500 };
const advice = (): string =>
  'check the tokens (SLACK_APP_TOKEN needs the scope connections:write); outgoing HTTPS and WSS must be open';
const never = new Promise<never>(() => undefined);

/** Slack over Socket Mode or HTTP, for one workspace or many. */
export function createSlackAdapter(config: SlackAdapterConfig, context: AdapterContext): Adapter<SlackMessage> {
  const { credentials } = config;
  const { logger } = context;
  const lifeMs = config.retentionDays * dayMs;
  const secret = credentials.transport === 'socket' ? credentials.appToken : credentials.signingSecret;
  const seal = createSeal(config.encryptionKey, secret);
  const installations = createInstallations(context, seal);
  const workspaces = createWorkspaces(config, context, installations);
  let tryAgain = (_reason: string): void => undefined;

  /** Where it was our only workspace, the token is tried again: nothing works any more. */
  const removed = async (workspace: Workspace, event: string): Promise<void> => {
    const tenant = tenantOf(workspace);
    logger.warn({ event, tenant }, 'the app was removed from a workspace');
    await installations.drop(tenant);
    await reception.forget(tenant);
    tryAgain(event);
  };
  const stage = createStage(context, workspaces, seal);
  const reception = createReception({ context, stage, name: 'slack', lifeMs });
  const desk = { reception, seal, workspaces, removed };
  const { app, drain } = createGate(context, (body) => react(desk, body));
  const http = openHttp(config, logger, { installations, app });

  /** Over HTTP there is nothing to keep open, and a token that works is all it takes. */
  const connect = async (): Promise<Link> => {
    for (const warning of await workspaces.verify()) logger.warn({ warning }, 'missing scope');
    const again = new Promise<string>((resolve) => {
      tryAgain = resolve;
    });
    if (credentials.transport !== 'socket') return { renewal: again, closed: never, close: async () => undefined };
    const link = await openSocket({ ...config, appToken: credentials.appToken }, app, logger);
    // What came over it is acknowledged over it.
    return { ...link, renewal: Promise.race([link.renewal, again]), close: () => drain().then(link.close) };
  };
  const connection = new Supervisor({ name: 'slack', context, pace, connect, advice });
  return {
    name: 'slack',
    capabilities: { buttons: true, threads: true, updates: true, images: false, maximumBytes: 40_000 },
    ...(http === undefined ? {} : { http }),
    async start() {
      if (config.ignoresSigningSecret) logger.info({}, 'app token and signing secret are set: Socket Mode is used');
      await connection.start();
      if (connection.refusal !== undefined) throw connection.refusal;
    },
    async stop() {
      await Promise.all([connection.stop(), drain()]);
    },
    status: () => connection.status,
    render: (reply) => renderReply(reply, { thread: '', ephemeral: false }, context.texts(reply.locale)).message,
    async deliver(place, reply, delivery) {
      const address = slackAddress.parse(place);
      const client = await workspaces.clientFor(address);
      await deliverReply({ context, address, client, seal, delivery }, reply, reception.keep);
    },
    profileLocale: (address) => workspaces.localeOf(slackAddress.parse(address)),
    check: workspaces.check,
  };
}
