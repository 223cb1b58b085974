import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../../src/errors.ts';
import type { Adapter, AdapterContext, ConnectionStatus } from '../adapter.ts';
import type { SlackAdapterConfig } from './config.ts';
import { boltLogger, SupervisedSocket } from './connection.ts';
import { deliverReply } from './deliver.ts';
import { registerEvents } from './events.ts';
import { createHttpReceiver, GatedApp, httpSurface } from './gate.ts';
import { createInstallations, createSeal } from './installations.ts';
import { clip } from './limits.ts';
import { conversationOf, type Said, slackAddress, tenantOf, userIdOf, type Workspace } from './receive.ts';
import { renderReply, type SlackMessage } from './render.ts';
import { registerSurfaces } from './surfaces.ts';
import { createThreads } from './threads.ts';
import { webClientOptions } from './web.ts';
import { createWorkspaces } from './workspaces.ts';

export type { SlackAdapterConfig } from './config.ts';

const dayMs = 86_400_000;
const longestText = 20_000;
const longestRetryMs = 30_000;
const forgottenAtOnce = 1_000;

/** Slack over Socket Mode or HTTP, for one workspace or many. */
export function createSlackAdapter(config: SlackAdapterConfig, context: AdapterContext): Adapter<SlackMessage> {
  const { credentials } = config;
  const { logger, store } = context;
  const seal = createSeal(config);
  const installations = createInstallations(context, seal);
  const workspaces = createWorkspaces(config, context, installations);
  const stopping = new AbortController();
  let verified = credentials.transport === 'oauth';
  let failed = false;

  const hand = ({ address, text, key, estimateCode }: Said) =>
    context.accept({
      address,
      message: {
        messageId: `slack:${tenantOf(address)}:${key}`,
        conversationId: conversationOf(address),
        userId: userIdOf(address),
        text: clip(text, longestText),
        receivedAt: context.now(),
        ...(estimateCode === undefined ? {} : { estimateCode }),
      },
    });
  const textsFor = async (address: Parameters<typeof workspaces.localeOf>[0]) =>
    context.texts((await workspaces.localeOf(address)) ?? 'en');
  const uninstalled = async (workspace: Workspace, event: string): Promise<void> => {
    logger.warn({ event, tenant: tenantOf(workspace) }, 'the app was removed from a workspace');
    if (credentials.transport !== 'oauth') failed = true;
    await installations.remove(workspace);
    for (const kind of ['thread', 'answer']) {
      const entries = await store.list(`slack/${kind}/${tenantOf(workspace)}/`, forgottenAtOnce);
      await Promise.all(entries.map((entry) => store.delete(entry.key)));
    }
  };

  const clientOptions = () => webClientOptions(config, boltLogger(logger));
  const socket =
    credentials.transport === 'socket'
      ? new SupervisedSocket({ appToken: credentials.appToken, clientOptions, context })
      : undefined;
  const web = credentials.transport === 'socket' ? undefined : createHttpReceiver(config, installations, context);
  const receiver = socket ?? web;
  if (receiver === undefined) throw new AppError('internal', 'no transport');
  const authorize = async () => ({
    botToken: credentials.transport === 'oauth' ? '' : credentials.botToken,
    botUserId: workspaces.botUser() ?? '',
  });
  const app = new GatedApp(
    {
      receiver,
      ...(credentials.transport === 'oauth' ? {} : { authorize }),
      deferInitialization: true,
      tokenVerificationEnabled: false,
      convoStore: false,
      ignoreSelf: false,
      attachFunctionToken: false,
      logger: boltLogger(logger),
      clientOptions: clientOptions(),
    },
    context,
  );
  const surfaces = { context, seal, hand, textsFor };
  registerSurfaces(app, surfaces);
  const resolveThread = createThreads(context, config.retentionDays * dayMs);
  registerEvents(app, { ...surfaces, resolveThread, botUser: workspaces.botUser, uninstalled });

  const verify = async (): Promise<void> => {
    for (const warning of await workspaces.verify()) logger.warn({ warning }, 'missing scope');
    verified = true;
  };
  /** An unreachable platform must not keep the process from taking what arrives. */
  const verifyLater = async (): Promise<void> => {
    for (let pause = 1_000; !verified && !stopping.signal.aborted; pause = Math.min(longestRetryMs, pause * 2)) {
      await wait(pause, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      await verify().catch((error: unknown) => logger.warn({ error }, 'token not verified'));
    }
  };

  return {
    name: 'slack',
    capabilities: { buttons: true, threads: true, updates: true, images: false, maximumBytes: 12_000 },
    ...(web === undefined ? {} : { http: httpSurface(web, credentials.transport === 'oauth') }),
    async start() {
      if (config.ignoresSigningSecret)
        logger.info({}, 'both SLACK_APP_TOKEN and SLACK_SIGNING_SECRET are set: Socket Mode is used');
      await app.init();
      await verify().catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'platform-refused') throw error;
        logger.warn({ error }, 'token not verified');
        void verifyLater();
      });
      await socket?.start();
    },
    async stop() {
      stopping.abort();
      await app.drain();
      await socket?.stop();
    },
    status(): ConnectionStatus {
      if (stopping.signal.aborted) return 'stopped';
      if (failed || socket?.status === 'failed') return 'failed';
      return verified && (socket === undefined || socket.status === 'connected') ? 'connected' : 'connecting';
    },
    render: (reply) => renderReply(reply, { thread: '', ephemeral: false }, context.texts(reply.locale)).message,
    async deliver(address, reply, delivery) {
      const place = slackAddress.parse(address);
      const client = await workspaces.clientFor(place);
      await deliverReply({ address: place, client, seal, delivery }, reply, {
        ...context,
        keepMs: config.retentionDays * dayMs,
      });
    },
    profileLocale: (address) => workspaces.localeOf(slackAddress.parse(address)),
    async check() {
      const problems = await workspaces
        .verify()
        .catch((error: unknown) => [error instanceof Error ? error.message : 'failed']);
      if (credentials.transport !== 'socket') return problems;
      return [...problems, ...(await workspaces.checkAppToken())];
    },
  };
}
