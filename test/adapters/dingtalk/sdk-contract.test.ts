import { createRequire } from 'node:module';
import { DWClient, TOPIC_ROBOT } from 'dingtalk-stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DingtalkGateway, robotTopic } from '../../fakes/dingtalk-gateway.ts';
import { eventually } from '../../fakes/eventually.ts';

/** The bare library, pointed at the fake by the means that the adapter uses. */
class Probe extends DWClient {
  readonly #address: string;
  readonly seen: unknown[] = [];

  constructor(address: string) {
    super({ clientId: 'id', clientSecret: 'secret' });
    this.#address = address;
    this.config.autoReconnect = false;
  }

  override async getEndpoint(): Promise<this> {
    Reflect.set(this, 'dw_url', this.#address);
    return this;
  }

  override onDownStream(data: string): void {
    this.seen.push(JSON.parse(String(data)));
  }
}

/**
 * What the adapter relies on inside `dingtalk-stream`. When this fails after an update of the package, read
 * adapters/dingtalk/connection.ts against the new source before changing anything here.
 */
describe('dingtalk-stream', () => {
  let gateway: DingtalkGateway;
  beforeEach(async () => {
    gateway = await DingtalkGateway.start();
  });
  afterEach(() => gateway.stop());

  const ticketed = async (): Promise<string> => {
    const body = { clientId: gateway.clientId, clientSecret: gateway.clientSecret, subscriptions: [] };
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(`${gateway.url}/v1.0/gateway/connections/open`, request);
    const { endpoint, ticket } = z.object({ endpoint: z.string(), ticket: z.string() }).parse(await response.json());
    return `${endpoint}?ticket=${encodeURIComponent(ticket)}`;
  };

  test('is the version that was measured', () => {
    const manifest: unknown = createRequire(import.meta.url)('dingtalk-stream/package.json');
    expect(z.looseObject({ version: z.string() }).parse(manifest).version).toMatch(/^v?2\.1\.5$/u);
    expect(TOPIC_ROBOT).toBe(robotTopic);
  });

  test('has the methods and fields that the adapter overrides or reaches for', () => {
    for (const name of ['disconnect', 'getEndpoint', '_connect', 'onDownStream', 'socketCallBackResponse'])
      expect(typeof Reflect.get(DWClient.prototype, name), name).toBe('function');
    const client = new DWClient({ clientId: 'id', clientSecret: 'secret' });
    for (const name of ['socket', 'dw_url', 'sslopts', 'config']) expect(Object.keys(client), name).toContain(name);
    expect(client.config.autoReconnect).toBe(true);
  });

  test('shares the default subscriptions between clients: they have to be replaced', () => {
    const [one, two] = [1, 2].map(() => new DWClient({ clientId: 'id', clientSecret: 'secret' }));
    expect(one?.config.subscriptions).toBe(two?.config.subscriptions);
  });

  test('opens the socket at `dw_url`, hands frames to `onDownStream`, answers with `socketCallBackResponse`', async () => {
    const probe = new Probe(await ticketed());
    await probe.getEndpoint();
    const opening = probe._connect();
    // Set before the handshake ends: the adapter puts its own listeners on it.
    const socket: unknown = Reflect.get(probe, 'socket');
    expect(socket).toMatchObject({ removeAllListeners: expect.any(Function), terminate: expect.any(Function) });
    await opening;
    const acked = gateway.send('{"a":1}', { messageId: 'm1' });
    await eventually('frame', () => probe.seen.length === 1);
    probe.socketCallBackResponse('m1', { success: true });
    expect((await acked)?.frame).toMatchObject({
      code: 200,
      headers: { messageId: 'm1', contentType: 'application/json' },
      data: '{"response":{"success":true}}',
    });
    probe.disconnect();
    await eventually('closed', () => gateway.connections.length === 0);
  });

  test('does not encode the ticket by itself', async () => {
    const probe = new Probe((await ticketed()).replace(/ticket=.*/u, 'ticket=secret-ticket+1/='));
    await probe.getEndpoint();
    await expect(probe._connect()).rejects.toThrow();
    expect(gateway.refusedUpgrades).toEqual(['ticket']);
    probe.disconnect();
  });
});
