import { EventEmitter, once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { type Link, Supervisor } from '../../adapters/supervisor.ts';
import { AppError } from '../../src/errors.ts';
import { eventually } from '../fakes/eventually.ts';

interface TestLink extends Link {
  readonly renew: () => void;
  readonly drop: () => void;
  isOpen: boolean;
}

function openLink(): TestLink {
  const events = new EventEmitter();
  const link: TestLink = {
    renewal: once(events, 'renewal').then(String),
    closed: once(events, 'closed'),
    renew: () => void events.emit('renewal', 'asked'),
    drop: () => {
      link.isOpen = false;
      events.emit('closed');
    },
    close: async () => link.drop(),
    isOpen: true,
  };
  return link;
}

const pace = { firstPauseMs: 20, longestPauseMs: 1_000, refusedPauseMs: 60 };
const links: TestLink[] = [];
const logs: string[] = [];
const gauges: number[] = [];
let supervisor: Supervisor;
let failures: AppError[] = [];
let connecting: Promise<unknown> | undefined;

function supervise(): Supervisor {
  const write = (_: unknown, event: string): void => void logs.push(event);
  const logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  const metrics = {
    count: () => undefined,
    observe: () => undefined,
    gauge: (_: string, value: number) => void gauges.push(value),
  };
  supervisor = new Supervisor({
    name: 'test',
    context: { logger, metrics },
    pace,
    advice: () => 'look',
    connect: async () => {
      await connecting;
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      const link = openLink();
      links.push(link);
      return link;
    },
  });
  return supervisor;
}

afterEach(async () => {
  await supervisor.stop();
  connecting = undefined;
  failures = [];
  for (const list of [links, logs, gauges]) list.length = 0;
});

const standing = () => links.filter(({ isOpen }) => isOpen).length;
const away = () => new AppError('platform-unreachable', 'away');

test('the first connection that asks for a successor gets it at once, before it is closed', async () => {
  await supervise().start();
  expect(supervisor.status).toBe('connected');
  links[0]?.renew();
  await eventually('two', () => links.length === 2);
  await eventually('one', () => standing() === 1);
  expect([links[0]?.isOpen, links[1]?.isOpen, supervisor.status]).toEqual([false, true, 'connected']);
});

test('successors that each ask for another one do not come in a storm', async () => {
  const since = performance.now();
  await supervise().start();
  for (let round = 1; round <= 5; round += 1) {
    await eventually('another', () => links.length === round);
    links.at(-1)?.renew();
  }
  // At once, then at least half of 20, 40 and 80 ms.
  expect(performance.now() - since).toBeGreaterThanOrEqual(70);
});

test('a dropped connection is replaced after a pause', async () => {
  await supervise().start();
  links[0]?.drop();
  await eventually('again', () => links.length === 2);
  expect(supervisor.status).toBe('connected');
  expect(gauges).toEqual([1, 0, 1]);
});

test('a connection stands while its successor fails', async () => {
  await supervise().start();
  failures = [away(), away()];
  links[0]?.renew();
  await eventually('failed', () => failures.length === 0);
  expect([links[0]?.isOpen, supervisor.status]).toEqual([true, 'connected']);
  await eventually('replaced', () => links.length === 2 && standing() === 1);
  expect(gauges).not.toContain(0);
});

test('the start waits for the first attempt alone; refused credentials are a failure', async () => {
  failures = [new AppError('platform-refused', 'no'), away()];
  await supervise().start();
  expect(supervisor.status).toBe('failed');
  await eventually('unreachable', () => supervisor.status === 'connecting');
  await eventually('connected', () => supervisor.status === 'connected');
  expect(logs.filter((event) => event === 'connection failed')).toHaveLength(2);
});

test('a standing connection whose successor is refused is a failure that names its reason, until one is taken', async () => {
  await supervise().start();
  failures = [new AppError('platform-refused', 'no')];
  links[0]?.renew();
  await eventually('refused', () => supervisor.status === 'failed');
  expect([links[0]?.isOpen, supervisor.refusal?.message]).toEqual([true, 'no']);
  await eventually('replaced', () => supervisor.status === 'connected');
  expect(supervisor.refusal).toBeUndefined();
});

test('a connection that comes after the stop is closed again', async () => {
  const gate = new EventEmitter();
  connecting = once(gate, 'open');
  const starting = supervise().start();
  await supervisor.stop();
  gate.emit('open');
  await starting;
  await eventually('closed', () => links.length === 1 && standing() === 0);
  expect(supervisor.status).toBe('stopped');
});
