import { beforeEach, describe, expect, test } from 'vitest';

import { type Bot, createBot } from '../../src/bot.ts';
import { AppError } from '../../src/errors.ts';
import { encodeConversationId, type IncomingMessage } from '../../src/message.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { createRateLimiter } from '../../src/observability/rate-limit.ts';
import { openStateStore } from '../../src/state/open-state-store.ts';
import type { Store } from '../../src/state/store.ts';
import { countFeedback, listMeasurements } from '../../src/turn/records.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

const REQUEST = 'deeplabv3+ resnet50，512x1024，每卡2张，预算 15 元/小时';
const DAY_MS = 86_400_000;

let store: Store;
let bot: Bot;
let now: number;
let count: number;

beforeEach(async () => {
  now = 1_800_000_000_000;
  count = 0;
  store = await openStateStore('memory:', { now: () => now });
  bot = botWith({ perPerson: 1_000, perConversation: 1_000 });
});

function botWith(limits: { perPerson: number; perConversation: number }): Bot {
  return createBot({
    ...answerPorts,
    store,
    limiter: createRateLimiter(limits),
    locale: 'zh',
    retentionDays: 30,
    logger: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    now: () => now,
  });
}

function message(
  text: string,
  options: { thread?: string; user?: string; code?: string; id?: string } = {},
): IncomingMessage {
  count += 1;
  const { thread = 't1', user = 'u1', code } = options;
  return {
    messageId: options.id ?? `test:${count}`,
    conversationId: encodeConversationId({ adapter: 'test', tenant: 'x', channel: 'c', thread }),
    userId: `test:x:${user}`,
    text,
    receivedAt: now,
    ...(code === undefined ? {} : { estimateCode: code }),
  };
}

const say = (text: string, options: Parameters<typeof message>[1] = {}) => bot.handle(message(text, options));
const firstLine = ({ fallback }: { fallback: string }): string => fallback.split('\n')[0] ?? '';

describe('a conversation', () => {
  test('is remembered between messages, apart from other conversations', async () => {
    await say('unet');
    await say('segformer b2', { thread: 't2' });
    expect(await bot.prefill(message('').conversationId)).toEqual({ model: 'unet' });
    expect(firstLine(await say('512x512'))).toContain('batch');
    expect(await bot.prefill(message('', { thread: 't2' }).conversationId)).toEqual({ model: 'segformer mit-b2' });
  });

  test('an open question is forgotten after half an hour, an answer after the retention', async () => {
    await say('unet');
    now += 31 * 60_000;
    expect(await bot.prefill(message('').conversationId)).toEqual({});
    await say(REQUEST);
    now += 29 * DAY_MS;
    expect(firstLine(await say('batch 4'))).toMatch(/^需要/);
    now += 31 * DAY_MS;
    expect(await bot.prefill(message('').conversationId)).toEqual({});
  });

  test('the same message again gives the same answer and changes nothing twice', async () => {
    await say(REQUEST);
    const doubled = message('batch 翻倍');
    const first = await bot.handle(doubled);
    const again = await bot.handle(doubled);
    expect(again).toEqual(first);
    expect(first.estimateCode).toMatch(/^[2-9A-HJ-NP-Z]{4}$/);
    expect((await bot.prefill(doubled.conversationId))['batch']).toBe('4');
  });

  test('messages that race are decided one after the other', async () => {
    await say(REQUEST);
    await Promise.all([say('预算 20 元/小时'), say('batch 8'), say('开 AMP')]);
    const prefill = await bot.prefill(message('').conversationId);
    expect(prefill).toMatchObject({ batch: '8', budget: '20 CNY/hour' });
  });
});

describe('estimates', () => {
  test('have a code by which another conversation can go on', async () => {
    const { estimateCode: code } = await say(REQUEST);
    if (code === undefined) throw new Error('no code');
    const reply = await say('batch 4', { thread: 'other', user: 'u2', code });
    expect(firstLine(reply)).toMatch(/^需要/);
    expect(await bot.prefill(message('', { thread: 'other' }).conversationId)).toMatchObject({
      batch: '4',
      size: '512x1024',
    });
    expect(await bot.prefill(message('').conversationId)).toMatchObject({ batch: '2' });
  });

  test('an unknown code is no harm', async () => {
    expect((await say('unet', { code: 'ZZZZ' })).kind).toBe('question');
  });

  test('are listed for the person, newest first, and can be asked for again', async () => {
    await say(REQUEST);
    now += 1_000;
    await say('batch 4');
    const recent = await bot.recentEstimates('test:x:u1', 5);
    expect(recent).toHaveLength(2);
    expect(recent[0]?.verdict).toMatch(/^需要/);
    const again = await say(recent[0]?.say ?? '', { thread: 'again' });
    expect(firstLine(again)).toBe(recent[0]?.verdict);
    expect(await bot.recentEstimates('test:x:u2', 5)).toEqual([]);
  });

  test('feedback and measurements are kept without the person', async () => {
    const { estimateCode: code } = await say(REQUEST);
    await bot.feedback('test:x:u1', code ?? '', true);
    expect(await countFeedback(store)).toEqual({ helpful: 1, notHelpful: 0 });
    await say('nvidia-smi 显示 13.2G');
    const [measured] = await listMeasurements(store);
    expect(measured).toMatchObject({
      kind: 'device',
      measured: 13.2,
      workload: { model: { architecture: 'deeplabv3plus' } },
    });
    const kept = await store.list('measurement/', 5);
    expect(JSON.stringify(kept)).not.toMatch(/u1|test:x/);
  });

  test('forgetting a person removes dialogs and estimates, not measurements', async () => {
    await say(REQUEST);
    await say('nvidia-smi 显示 13.2G');
    expect(await store.forget('test:x:u1')).toBeGreaterThan(0);
    expect(await bot.recentEstimates('test:x:u1', 5)).toEqual([]);
    expect(await bot.prefill(message('').conversationId)).toEqual({});
    expect(await listMeasurements(store)).toHaveLength(1);
  });
});

describe('limits', () => {
  test('too many messages of one person are declined kindly, others go on', async () => {
    bot = botWith({ perPerson: 2, perConversation: 10 });
    await say('unet');
    await say('512');
    expect((await say('8')).fallback).toMatch(/\d+ 秒后再发/);
    expect((await say('unet', { user: 'u2' })).kind).toBe('question');
    now += 61_000;
    expect((await say('8')).kind).not.toBe('notice');
  });

  test('a message of a megabyte is declined in one sentence', async () => {
    const reply = await say('a'.repeat(1_000_000));
    expect(reply.kind).toBe('notice');
    expect(reply.fallback).toContain('100 KB');
  });

  test('an apology is in the language of the person', () => {
    const apology = bot.apologize({ ...message('x'), locale: 'en' }, new AppError('internal', 'secret detail'));
    expect(apology.fallback).toContain('went wrong');
    expect(apology.fallback).not.toContain('secret');
  });

  test('a failure inside is an apology; what was said is kept', async () => {
    const broken = (): never => {
      throw new TypeError('oops');
    };
    bot = createBot({
      ...answerPorts,
      estimate: broken,
      store,
      limiter: createRateLimiter({ perPerson: 99, perConversation: 99 }),
      locale: 'zh',
      retentionDays: 30,
      logger: createLogger({ level: 'silent' }),
      metrics: createMetrics(),
      now: () => now,
    });
    const reply = await say(REQUEST);
    expect(reply.kind).toBe('notice');
    expect(reply.fallback).toContain('出错');
    expect(reply.fallback).not.toContain('oops');
    expect(await bot.prefill(message('').conversationId)).toMatchObject({ model: 'deeplabv3plus resnet50' });
  });

  test('a store that is away is reported with its code', async () => {
    await store.close();
    const lost = { ...store, get: () => Promise.reject(new AppError('store-unavailable', 'gone')) };
    const cut = createBot({
      ...answerPorts,
      store: lost,
      limiter: createRateLimiter({ perPerson: 9, perConversation: 9 }),
      locale: 'zh',
      retentionDays: 1,
      logger: createLogger({ level: 'silent' }),
      metrics: createMetrics(),
      now: () => now,
    });
    await expect(cut.handle(message('unet'))).rejects.toMatchObject({ code: 'store-unavailable' });
  });
});
