import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { methods, type Params, useResponse } from './slack-web-api.ts';
import { type FakeWorkspace, fakeWorkspace, SlackStore } from './slack-workspace.ts';

export interface ApiCall {
  readonly method: string;
  readonly token: string;
  readonly params: Params;
  readonly at: number;
}

/** How a call goes wrong; absent parts are as usual. */
export interface Failure {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly delayMs?: number;
  /** Cuts the TCP connection instead of answering. */
  readonly cut?: boolean;
}

export interface Ack {
  readonly payload: unknown;
  readonly ms: number;
}

interface Waiting {
  readonly sentAt: number;
  readonly resolve: (ack: Ack | undefined) => void;
}

const appToken = 'xapp-fake-secret';

function decode(body: string, type: string): Params {
  if (type.startsWith('application/json')) return JSON.parse(body || '{}');
  const decoded = [...new URLSearchParams(body)].map(([key, value]) => [
    key,
    /^[[{]/u.test(value) ? tryJson(value) : value,
  ]);
  return Object.fromEntries(decoded);
}

function tryJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

/** Slack on loopback: Web API, response URLs and Socket Mode on one port. Strict where Slack is. */
export class SlackServer {
  readonly store = new SlackStore();
  readonly calls: ApiCall[] = [];
  readonly unknownMethods: string[] = [];
  readonly refusals: { readonly method: string; readonly error: unknown; readonly detail: unknown }[] = [];
  readonly appToken = appToken;
  /** OAuth codes that a browser brings back → the workspace they install into. */
  readonly codes = new Map<string, FakeWorkspace>();
  failure: (method: string, call: ApiCall) => Failure | undefined = () => undefined;
  withholdHello = false;
  mutePongs = false;
  /** Sees every call as it arrives. */
  onCall: (call: ApiCall) => void = () => undefined;
  /** Extra connections that `hello` claims. */
  ghosts = 0;
  readonly opened: number[] = [];
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, autoPong: false });
  readonly #tcp = new Set<Socket>();
  readonly #waiting = new Map<string, Waiting>();
  #envelopes = 0;

  private constructor() {
    this.#server = createServer((request, response) => void this.#respond(request, response));
    this.#server.on('connection', (socket) => {
      this.#tcp.add(socket);
      socket.on('close', () => this.#tcp.delete(socket));
    });
    this.#server.on('upgrade', (request, socket, head) => {
      this.#sockets.handleUpgrade(request, socket, head, (client) => this.#welcome(client));
    });
  }

  static async start(workspaces: readonly FakeWorkspace[] = [fakeWorkspace()], port = 0): Promise<SlackServer> {
    const server = new SlackServer();
    server.store.workspaces.push(...workspaces);
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject);
      server.#server.listen(port, '127.0.0.1', resolve);
    });
    return server;
  }

  get port(): number {
    const address: AddressInfo | string | null = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.port}/api/`;
  }

  responseUrl(id: string): string {
    return `http://127.0.0.1:${this.port}/response/${id}`;
  }

  get connections(): readonly WebSocket[] {
    return [...this.#sockets.clients].filter((client) => client.readyState === WebSocket.OPEN);
  }

  async stop(): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    for (const socket of this.#tcp) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** Sends one envelope over the newest connection; undefined when it was not acknowledged in time. */
  send(type: string, payload: unknown, options: { retry?: number; waitMs?: number } = {}): Promise<Ack | undefined> {
    const client = this.connections.at(-1);
    if (client === undefined) return Promise.resolve(undefined);
    this.#envelopes += 1;
    const envelope_id = `envelope-${this.#envelopes}`;
    const retry = options.retry ?? 0;
    const reason = retry === 0 ? '' : 'timeout';
    const envelope = {
      envelope_id,
      type,
      payload,
      accepts_response_payload: type !== 'events_api',
      retry_attempt: retry,
      retry_reason: reason,
    };
    return new Promise((resolve) => {
      this.#waiting.set(envelope_id, { sentAt: performance.now(), resolve });
      setTimeout(() => this.#settle(envelope_id, undefined), options.waitMs ?? 4_000).unref();
      client.send(JSON.stringify(envelope));
    });
  }

  /** A frame as it is, to every connection. */
  broadcast(frame: string): void {
    for (const client of this.connections) client.send(frame);
  }

  dropConnections(): void {
    for (const client of this.#sockets.clients) client.terminate();
  }

  #settle(id: string, payload: unknown): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.resolve(payload === undefined ? undefined : { payload, ms: performance.now() - waiting.sentAt });
  }

  #welcome(client: WebSocket): void {
    client.on('ping', (data) => {
      if (!this.mutePongs) client.pong(data);
    });
    client.on('error', () => undefined);
    client.on('message', (data) => {
      const frame: unknown = JSON.parse(String(data));
      if (typeof frame !== 'object' || frame === null || !('envelope_id' in frame)) return;
      this.#settle(String(frame.envelope_id), 'payload' in frame ? frame.payload : {});
    });
    if (this.withholdHello) return;
    const hello = {
      type: 'hello',
      num_connections: this.connections.length + this.ghosts,
      debug_info: { host: 'fake', approximate_connection_time: 18_060 },
      connection_info: { app_id: 'A00FAKEAPP01' },
    };
    client.send(JSON.stringify(hello));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const params = decode(await bodyOf(request), String(request.headers['content-type'] ?? ''));
    const token = String(request.headers.authorization ?? '').replace(/^Bearer /u, '');
    const method = path.startsWith('/response/') ? 'response_url' : path.replace(/^\/api\//u, '');
    const call: ApiCall = { method, token, params, at: Date.now() };
    if (!this.store.lenient) this.calls.push(call);
    this.onCall(call);
    const failure = this.failure(method, call);
    if (failure?.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, failure.delayMs));
    if (failure?.cut === true) {
      request.socket.destroy();
      return;
    }
    if (failure?.status !== undefined || failure?.body !== undefined) {
      response.writeHead(failure.status ?? 200, { 'content-type': 'application/json', ...failure.headers });
      response.end(failure.body ?? '{"ok":false,"error":"failure"}');
      return;
    }
    const { status, answer, headers } = this.#answer(call, path);
    if (answer['ok'] !== true)
      this.refusals.push({ method, error: answer['error'], detail: answer['response_metadata'] });
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
    response.end(JSON.stringify(answer));
  }

  #answer(
    call: ApiCall,
    path: string,
  ): { status: number; answer: Readonly<Record<string, unknown>>; headers: Record<string, string> } {
    const plain = (answer: Readonly<Record<string, unknown>>) => ({ status: 200, answer, headers: {} });
    if (call.method === 'response_url') {
      return { ...useResponse(this.store, path.slice('/response/'.length), call.params), headers: {} };
    }
    if (call.method === 'apps.connections.open') {
      if (call.token !== appToken) return plain({ ok: false, error: 'invalid_auth' });
      this.opened.push(Date.now());
      return plain({ ok: true, url: `ws://127.0.0.1:${this.port}/link/?ticket=secret-ticket&app_id=A1` });
    }
    if (call.method === 'oauth.v2.access') return plain(this.#exchange(String(call.params['code'])));
    const workspace = this.store.workspaces.find(({ token }) => token === call.token);
    if (workspace === undefined) return plain({ ok: false, error: call.token === '' ? 'not_authed' : 'invalid_auth' });
    const handle = methods[call.method];
    if (handle === undefined) {
      this.unknownMethods.push(call.method);
      return plain({ ok: false, error: 'unknown_method' });
    }
    const headers = { 'x-oauth-scopes': workspace.scopes.join(',') };
    return { status: 200, answer: handle({ store: this.store, workspace, params: call.params }), headers };
  }

  #exchange(code: string): Readonly<Record<string, unknown>> {
    const workspace = this.codes.get(code);
    if (workspace === undefined) return { ok: false, error: 'invalid_code' };
    if (!this.store.workspaces.includes(workspace)) this.store.workspaces.push(workspace);
    const { team, enterprise, orgWide, token, botUser, scopes } = workspace;
    return {
      ok: true,
      app_id: 'A00FAKEAPP01',
      authed_user: { id: 'U00INSTALLER' },
      scope: scopes.join(','),
      token_type: 'bot',
      access_token: token,
      bot_user_id: botUser,
      team: orgWide === true ? null : { id: team, name: 'Fake' },
      enterprise: enterprise === undefined ? null : { id: enterprise, name: 'Fake Org' },
      is_enterprise_install: orgWide === true,
    };
  }
}
