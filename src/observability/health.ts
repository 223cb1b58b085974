import { createServer, type IncomingMessage as Request, type ServerResponse } from 'node:http';
import type { Logger } from '../../adapters/adapter.ts';
import { AppError } from '../errors.ts';
import type { MetricsRegistry } from './metrics.ts';

export interface HealthServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** What keeps this process from serving, one line each; empty when ready. */
  readonly problems: () => Promise<readonly string[]>;
  readonly metrics: MetricsRegistry;
  readonly logger: Logger;
  /** Gauges that are read rather than counted are set here, before each scrape. */
  readonly collect?: () => Promise<void> | void;
  /** Serves every other path (a platform that comes over HTTP); absent: 404. */
  readonly otherwise?: (request: Request, response: ServerResponse) => void;
}

export interface HealthServer {
  readonly port: number;
  stop(): Promise<void>;
}

const probeMs = 3_000;
/** Longer than proxies keep theirs: Node takes one new connection per turn of its loop, so a burst should find them open. */
const keepAliveTimeout = 75_000;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type: string;
}

const json = (status: number, value: unknown): Answer => ({
  status,
  body: `${JSON.stringify(value)}\n`,
  type: 'application/json',
});

/**
 * `/healthz` (the process lives), `/readyz` (store reachable, adapters connected), `/metrics` (Prometheus).
 * @throws AppError `invalid-config` when the address cannot be listened on.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const server = createServer(
    { requestTimeout: 30_000, headersTimeout: 10_000, maxHeaderSize: 16_384, keepAliveTimeout },
    (request, response) => {
      void respond(request, response, options);
    },
  );
  server.maxConnections = 1_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(cannotListen(options, cause)));
    server.listen(options.port, options.host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), 1_000).unref();
      }),
  };
}

function cannotListen({ host, port }: HealthServerOptions, cause: NodeJS.ErrnoException): AppError {
  const reason = cause.code === 'EADDRINUSE' ? 'another program uses that port; set PORT' : (cause.code ?? 'refused');
  return new AppError('invalid-config', `cannot listen on ${host}:${port}: ${reason}`, { cause });
}

async function respond(request: Request, response: ServerResponse, options: HealthServerOptions): Promise<void> {
  try {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const probe = probes[path];
    if (probe === undefined && options.otherwise !== undefined) return options.otherwise(request, response);
    const found = probe === undefined ? json(404, { error: 'not found' }) : json(405, { error: 'use GET' });
    send(request, response, probe !== undefined && isRead(request) ? await probe(options) : found);
  } catch (error) {
    options.logger.error({ error }, 'request failed');
    if (!response.headersSent) send(request, response, json(500, { error: 'internal' }));
    else response.destroy();
  }
}

function send(request: Request, response: ServerResponse, { status, body, type }: Answer): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(request.method === 'HEAD' ? undefined : body, () => {
    if (!isRead(request)) request.destroy();
  });
}

/** What is sent along with a probe is never read; the connection ends instead. */
const isRead = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD';

const probes: Readonly<Record<string, (options: HealthServerOptions) => Promise<Answer>>> = {
  '/healthz': async () => json(200, { status: 'ok' }),
  '/readyz': async ({ problems }) => {
    const found = await withinTime(problems());
    return found.length === 0 ? json(200, { status: 'ready' }) : json(503, { status: 'not ready', problems: found });
  },
  '/metrics': async ({ metrics, collect }) => {
    await collect?.();
    return { status: 200, body: await metrics.text(), type: metrics.contentType };
  },
};

async function withinTime(problems: Promise<readonly string[]>): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve(['the check took too long']), probeMs);
  });
  try {
    return await Promise.race([problems, late]);
  } catch {
    return ['the check failed'];
  } finally {
    clearTimeout(timer);
  }
}
