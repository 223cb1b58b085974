import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly action: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
}

export interface VendorServer {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  close(): Promise<void>;
}

export type Answer = (request: SeenRequest, response: ServerResponse, attempt: number) => void;

/** A vendor on a loopback socket that answers as it is told; `attempt` counts requests of one action from 1. */
export async function startVendor(answer: Answer): Promise<VendorServer> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://vendor');
    const action = String(request.headers['x-acs-action'] ?? request.url);
    const one = { method: request.method ?? '', action, query: searchParams, headers: request.headers };
    seen.push(one);
    answer(one, response, seen.filter((other) => other.action === action).length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const { port } =
    typeof address === 'object' && address !== null ? address : ({ port: 0 } satisfies Partial<AddressInfo>);
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
