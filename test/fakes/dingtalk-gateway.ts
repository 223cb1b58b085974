import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { type ApiAnswer, type ApiCall, DingtalkApi } from './dingtalk-api.ts';

/** How a request goes wrong; absent parts are as usual. */
export interface Fault {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string as it is. */
  readonly body?: unknown;
  readonly delayMs?: number;
  /** Cuts the TCP connection instead of answering. */
  readonly cut?: boolean;
  /** Never answers. */
  readonly hang?: boolean;
}

/** Answer of the robot to one frame. */
export interface Ack {
  readonly frame: Readonly<Record<string, unknown>>;
  readonly ms: number;
}

export interface FrameOptions {
  readonly type?: string;
  readonly topic?: string;
  /** Of the header; new on each delivery unless given. */
  readonly messageId?: string;
  readonly waitMs?: number;
  /** One of several connections; the newest unless given. */
  readonly over?: WebSocket;
}

interface Waiting {
  readonly sentAt: number;
  readonly resolve: (ack: Ack | undefined) => void;
}

const ackFrame = z.looseObject({ headers: z.looseObject({ messageId: z.string() }) });
export const robotTopic = '/v1.0/im/bot/messages/get';

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** DingTalk on loopback: gateway, ticketed WebSocket, session webhooks and OpenAPI on one port. Strict where DingTalk is. */
export class DingtalkGateway {
  readonly clientId = 'ding-client-id';
  readonly clientSecret = 'client-secret-of-the-tests';
  readonly api: DingtalkApi;
  /** Every HTTP request, oldest first. */
  readonly calls: ApiCall[] = [];
  /** Times of the requests for a connection, refused ones included (epoch milliseconds). */
  readonly opens: number[] = [];
  /** Every frame that the robot sent. */
  readonly frames: string[] = [];
  /** Upgrades that were turned away, by reason. */
  readonly refusedUpgrades: string[] = [];
  /** Acks and messages in the order of their arrival. */
  readonly order: string[] = [];
  fault: (path: string, call: ApiCall) => Fault | undefined = () => undefined;
  /** What happens to the next messages through a webhook, first come first served. */
  readonly webhookFaults: Fault[] = [];
  /** HTTP status that answers each upgrade. */
  upgradeStatus: number | undefined;
  /** Accepts the TCP connection of an upgrade and cuts it. */
  refusesUpgrades = false;
  mutePongs = false;
  /** What the gateway names as the address to connect to. */
  endpoint: () => string = () => `ws://127.0.0.1:${this.port}/connect`;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, autoPong: false });
  readonly #tcp = new Set<Socket>();
  readonly #tickets = new Set<string>();
  readonly #waiting = new Map<string, Waiting>();
  #count = 0;

  private constructor() {
    this.api = new DingtalkApi(this.clientId, this.clientSecret);
    this.#server = createServer((request, response) => void this.#respond(request, response));
    this.#server.on('connection', (socket) => {
      this.#tcp.add(socket);
      socket.on('close', () => this.#tcp.delete(socket));
      socket.on('error', () => undefined);
    });
    this.#server.on('upgrade', (request, socket, head) => {
      const refused = this.#refusal(request);
      if (refused === undefined) this.#sockets.handleUpgrade(request, socket, head, (client) => this.#welcome(client));
      else if (refused === 0) socket.destroy();
      else socket.end(`HTTP/1.1 ${refused} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    });
  }

  static async start(port = 0): Promise<DingtalkGateway> {
    const gateway = new DingtalkGateway();
    await new Promise<void>((resolve, reject) => {
      gateway.#server.once('error', reject);
      gateway.#server.listen(port, '127.0.0.1', resolve);
    });
    return gateway;
  }

  get port(): number {
    const address: AddressInfo | string | null = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Connections that the robot holds open. */
  get connections(): readonly WebSocket[] {
    return [...this.#sockets.clients].filter((client) => client.readyState === WebSocket.OPEN);
  }

  /** TCP connections of any kind. */
  get tcpConnections(): number {
    return this.#tcp.size;
  }

  /** A fresh session webhook. */
  webhook(): string {
    return `${this.url}/robot/sendBySession?session=${this.api.newSession()}`;
  }

  async stop(): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    for (const socket of this.#tcp) socket.destroy();
    for (const id of this.#waiting.keys()) this.#settle(id, undefined);
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** Delivers a robot message over one connection; undefined when it was not acknowledged in time. */
  send(data: unknown, options: FrameOptions = {}): Promise<Ack | undefined> {
    const client = options.over ?? this.connections.at(-1);
    if (client === undefined) return Promise.resolve(undefined);
    this.#count += 1;
    const messageId = options.messageId ?? `frame-${this.#count}`;
    const topic = options.topic ?? robotTopic;
    const headers = { appId: 'app-1', connectionId: 'link-1', contentType: 'application/json', messageId, topic };
    const frame = {
      specVersion: '1.0',
      type: options.type ?? 'CALLBACK',
      headers: { ...headers, time: String(Date.now()) },
      data: typeof data === 'string' ? data : JSON.stringify(data),
    };
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(messageId, undefined), options.waitMs ?? 4_000);
      const settle = (ack: Ack | undefined): void => {
        clearTimeout(timer);
        resolve(ack);
      };
      this.#waiting.set(messageId, { sentAt: performance.now(), resolve: settle });
      client.send(JSON.stringify(frame));
    });
  }

  ping(opaque = '{"opaque" : "123-dsfs"}', waitMs = 4_000): Promise<Ack | undefined> {
    return this.send(opaque, { type: 'SYSTEM', topic: 'ping', waitMs });
  }

  /** Tells the robot that its connection ends, and sends nothing more over it. */
  announceEnd(reason = 'persistent connection is timeout'): void {
    void this.send(JSON.stringify({ reason }), { type: 'SYSTEM', topic: 'disconnect', waitMs: 10 });
  }

  /** A frame as it is, to every connection. */
  broadcast(frame: string | Buffer): void {
    for (const client of this.connections) client.send(frame);
  }

  drop(): void {
    for (const client of this.#sockets.clients) client.terminate();
  }

  #settle(id: string, frame: Readonly<Record<string, unknown>> | undefined): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.resolve(frame === undefined ? undefined : { frame, ms: performance.now() - waiting.sentAt });
  }

  /** HTTP status, 0 to cut the connection, undefined to let the robot in: a ticket is good for one connection. */
  #refusal(request: IncomingMessage): number | undefined {
    const refuse = (reason: string, status: number): number => {
      this.refusedUpgrades.push(reason);
      return status;
    };
    if (this.refusesUpgrades) return refuse('refused', 0);
    if (this.upgradeStatus !== undefined) return refuse('scripted', this.upgradeStatus);
    const url = new URL(request.url ?? '/', this.url);
    if (url.pathname !== '/connect') return refuse('path', 404);
    return this.#tickets.delete(url.searchParams.get('ticket') ?? '') ? undefined : refuse('ticket', 401);
  }

  #welcome(client: WebSocket): void {
    client.on('ping', (data) => {
      if (!this.mutePongs) client.pong(data);
    });
    client.on('error', () => undefined);
    client.on('message', (data) => {
      this.frames.push(String(data));
      const frame = ackFrame.safeParse(parsed(String(data))).data;
      if (frame === undefined) return;
      this.order.push(`ack ${frame.headers.messageId}`);
      this.#settle(frame.headers.messageId, frame);
    });
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const raw = await bodyOf(request).catch(() => Buffer.alloc(0));
    const { method = '', headers } = request;
    const call: ApiCall = {
      method,
      path: url.pathname,
      query: url.searchParams,
      headers,
      body: parsed(raw.toString('utf8')),
      raw,
      at: Date.now(),
    };
    this.calls.push(call);
    if (call.path === '/v1.0/gateway/connections/open') this.opens.push(call.at);
    const isWebhook = call.path === '/robot/sendBySession';
    const fault = (isWebhook ? this.webhookFaults.shift() : undefined) ?? this.fault(call.path, call);
    if (fault?.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, fault.delayMs));
    if (fault?.hang === true) return;
    if (fault?.cut === true) {
      request.socket.destroy();
      return;
    }
    const { status, body, sent } =
      fault?.status !== undefined || fault?.body !== undefined
        ? { status: fault.status ?? 200, body: fault.body ?? '', sent: undefined }
        : this.#answer(call);
    if (sent !== undefined) this.order.push(`message ${sent}`);
    const isText = typeof body === 'string';
    response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...fault?.headers });
    response.end(isText ? body : JSON.stringify(body));
  }

  #answer(call: ApiCall): ApiAnswer {
    if (call.path !== '/v1.0/gateway/connections/open') return this.api.answer(call);
    const problem = this.api.openProblem(call);
    if (problem !== undefined) return problem;
    this.#count += 1;
    const ticket = `secret-ticket+${this.#count}/=`;
    this.#tickets.add(ticket);
    return { status: 200, body: { endpoint: this.endpoint(), ticket } };
  }
}
