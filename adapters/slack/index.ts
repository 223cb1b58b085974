import { setTimeout as wait } from 'node:timers/promises';
import { backoff } from '../../src/backoff.ts';
import { AppError } from '../../src/errors.ts';
import type { Adapter, AdapterContext, ConnectionStatus, Logger } from '../adapter.ts';
import { createSeal } from '../seal.ts';
import type { SlackAdapterConfig } from './config.ts';
import { SupervisedSocket } from './connection.ts';
import { deliverReply } from './deliver.ts';
import { Desk } from './desk.ts';
import { registerEvents } from './events.ts';
import { createApp, createHttpReceiver, type GatedApp, httpSurface } from './gate.ts';
import { createInstallations } from './installations.ts';
import { slackAddress, tenantOf, type Workspace } from './receive.ts';
import { renderReply, type SlackMessage } from './render.ts';
import { registerSurfaces } from './surfaces.ts';
import { createThreads } from './threads.ts';
import { createWorkspaces } from './workspaces.ts';

export type { SlackAdapterConfig } from './config.ts';

const dayMs = 86_400_000;
const forgottenAtOnce = 1_000;

/** Slack over Socket Mode or HTTP, for one workspace or many. */
export function createSlackAdapter(config: SlackAdapterConfig, context: AdapterContext): Adapter<SlackMessage> {
  const { credentials } = config;
  const keepMs = config.retentionDays * dayMs;
  const secret = credentials.transport === 'socket' ? credentials.appToken : credentials.signingSecret;
  const seal = createSeal(config.encryptionKey, secret);
  const parts = { config, context, installations: createInstallations(context, seal) };
  const workspaces = createWorkspaces(parts);
  const socket =
    credentials.transport === 'socket'
      ? new SupervisedSocket({ config, context, appToken: credentials.appToken })
      : null;
  const web = credentials.transport === 'socket' ? null : createHttpReceiver({ ...parts, ...credentials });
  const receiver = socket ?? web;
  if (receiver === null) throw new AppError('internal', 'no transport');
  const app = createApp(parts, receiver, workspaces.botUser);
  const life = new Life({ app, socket, verify: workspaces.verify, logger: context.logger });
  const desk = new Desk({ context, seal, workspaces, resolveThread: createThreads(context, keepMs) });
  registerSurfaces(app, desk);
  registerEvents(app, desk, async (workspace, event) => {
    context.logger.warn({ event, tenant: tenantOf(workspace) }, 'the app was removed from a workspace');
    if (credentials.transport !== 'oauth') void life.recheck();
    await parts.installations.remove(workspace);
    await forget(context, workspace);
  });
  return {
    name: 'slack',
    capabilities: { buttons: true, threads: true, updates: true, images: false, maximumBytes: 40_000 },
    ...(web === null ? {} : { http: httpSurface(web, credentials.transport === 'oauth') }),
    async start() {
      if (config.ignoresSigningSecret)
        context.logger.info({}, 'app token and signing secret are set: Socket Mode is used');
      await life.start();
    },
    stop: () => life.stop(),
    status: () => life.status(),
    render: (reply) => renderReply(reply, { thread: '', ephemeral: false }, context.texts(reply.locale)).message,
    async deliver(address, reply, delivery) {
      const place = slackAddress.parse(address);
      const client = await workspaces.clientFor(place);
      await deliverReply({ context, address: place, client, seal, delivery, keepMs }, reply);
    },
    profileLocale: (address) => workspaces.localeOf(slackAddress.parse(address)),
    check: () => workspaces.check(),
  };
}

/** What is stored about threads and answers of a workspace; the rest expires. */
async function forget({ store }: AdapterContext, workspace: Workspace): Promise<void> {
  for (const kind of ['thread', 'answer']) {
    const entries = await store.list(`slack/${kind}/${tenantOf(workspace)}/`, forgottenAtOnce);
    await Promise.all(entries.map(({ key }) => store.delete(key)));
  }
}

interface LifeParts {
  readonly app: GatedApp;
  readonly socket: SupervisedSocket | null;
  readonly verify: () => Promise<readonly string[]>;
  readonly logger: Logger;
}

/** From start to stop: verified token, connected socket, drained work. */
class Life {
  readonly #parts: LifeParts;
  readonly #stopping = new AbortController();
  #verified = false;
  #failed = false;

  constructor(parts: LifeParts) {
    this.#parts = parts;
  }

  /** @throws AppError `platform-refused`; an unreachable platform does not keep the process from taking what arrives. */
  async start(): Promise<void> {
    await this.#parts.app.init();
    await this.#check().catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'platform-refused') throw error;
      this.#parts.logger.warn({ error }, 'token not verified');
      void this.#checkLater();
    });
    await this.#parts.socket?.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#parts.app.drain();
    await this.#parts.socket?.stop();
  }

  /** Somebody removed the app: when it was our only workspace, nothing can work any more. */
  async recheck(): Promise<void> {
    await this.#check().catch((error: unknown) => {
      this.#failed = error instanceof AppError && error.code === 'platform-refused';
      this.#parts.logger.error({ error }, 'token checked after a removal');
    });
  }

  status(): ConnectionStatus {
    const socket = this.#parts.socket?.status ?? 'connected';
    if (this.#stopping.signal.aborted) return 'stopped';
    if (this.#failed || socket === 'failed') return 'failed';
    return this.#verified && socket === 'connected' ? 'connected' : 'connecting';
  }

  async #check(): Promise<void> {
    for (const warning of await this.#parts.verify()) this.#parts.logger.warn({ warning }, 'missing scope');
    this.#verified = true;
  }

  async #checkLater(): Promise<void> {
    const { signal } = this.#stopping;
    for (let tries = 1; !this.#verified && !signal.aborted; tries += 1) {
      await wait(backoff(tries, { firstMs: 1_000 }), undefined, { signal, ref: false }).catch(() => undefined);
      await this.#check().catch((error: unknown) => this.#parts.logger.warn({ error }, 'token not verified'));
    }
  }
}
