import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';

import type { AdapterContext } from '../../../adapters/adapter.ts';
import { createConsoleAdapter } from '../../../adapters/console/index.ts';
import { receiveLine } from '../../../adapters/console/receive.ts';
import { renderConsole } from '../../../adapters/console/render.ts';
import { printable, wrapColumns } from '../../../adapters/console/width.ts';
import { displayWidth, padColumns } from '../../../adapters/text.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { surfaceTexts } from '../../../src/reply/messages/surfaces.ts';
import type { Reply } from '../../../src/reply/reply.ts';
import { openStateStore } from '../../../src/state/open-state-store.ts';
import { adapterContract } from '../../contracts/adapter-contract.ts';
import { converse, goldenReplies } from '../../contracts/golden-replies.ts';

const notice = (text: string, choices: Reply['choices'] = []): Reply => ({
  locale: 'en',
  kind: 'notice',
  fallback: text,
  blocks: [{ kind: 'verdict', level: 'main', text }],
  choices,
});

async function open(answer: (text: string) => Reply = (text) => notice(`heard ${text}`)) {
  const input = new PassThrough();
  const output = new PassThrough();
  const store = await openStateStore('memory:');
  const context: AdapterContext = {
    accept: async () => 'overloaded',
    answer: async (message) => answer(message.text),
    prefill: async () => ({}),
    recentEstimates: async () => [],
    feedback: async () => undefined,
    texts: surfaceTexts,
    store,
    logger: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    now: () => 1_700_000_000_000,
  };
  const config = { input, output, interactive: false, color: false, columns: 100, everything: true, userId: 'you' };
  const { promise, resolve } = withResolvers();
  const adapter = createConsoleAdapter({ ...config, onEnd: resolve }, context);
  const close = async (): Promise<void> => {
    input.end();
    await store.close();
  };
  return { adapter, input, output, ended: promise, close };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

adapterContract<string>({
  name: 'console',
  open,
  received: () =>
    ['unet 512', '\ud800 broken', '１'].flatMap(
      (text) => receiveLine({ text, userId: 'you', number: 1, receivedAt: 1, previous: undefined }) ?? [],
    ),
  problems: (payload) => (/[^\P{Cc}\n]/u.test(payload) ? ['control characters'] : []),
  textOf: (payload) => payload,
});

describe('lines of a terminal', () => {
  test('are answered one after the other until the input ends', async () => {
    const { adapter, input, output, ended, close } = await open();
    await adapter.start();
    input.write('one\n\n  \ntwo\n');
    input.end();
    await ended;
    const text = String(output.read());
    expect(text.indexOf('heard one')).toBeGreaterThanOrEqual(0);
    expect(text.indexOf('heard two')).toBeGreaterThan(text.indexOf('heard one'));
    expect(text.match(/heard/g)).toHaveLength(2);
    await adapter.stop();
    await close();
  });

  const previous = { ...notice('x', [{ label: 'A', say: 'turn on amp' }]), estimateCode: 'G7K2' };
  const line = { userId: 'you', number: 1, receivedAt: 1 };

  test('pick a choice by its number, with the code of the answer it stands under', () => {
    const message = receiveLine({ ...line, text: ' 1 ', previous });
    expect(message?.text).toBe('turn on amp');
    expect(message?.estimateCode).toBe('G7K2');
    expect(receiveLine({ ...line, text: '2', previous })?.text).toBe('2');
  });

  test('after a question a number is its answer and # picks the choice', () => {
    const question: Reply = { ...previous, kind: 'question' };
    expect(receiveLine({ ...line, text: '1', previous: question })?.text).toBe('1');
    expect(receiveLine({ ...line, text: '#1', previous: question })?.text).toBe('turn on amp');
    expect(receiveLine({ ...line, text: '＃１', previous: question })?.text).toBe('turn on amp');
  });
});

describe('rendering', () => {
  const style = { color: false, columns: 100, everything: true };

  test('no line is wider than the terminal, in both languages', () => {
    for (const columns of [60, 100, 140]) {
      for (const reply of goldenReplies()) {
        const lines = renderConsole(reply, { ...style, columns }).split('\n');
        const code = reply.blocks.some(
          (block) => block.kind === 'code' || block.kind === 'tiers' || block.kind === 'bar',
        );
        if (!code) expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(columns);
      }
    }
  });

  test('columns of the tiers are aligned with Chinese text', () => {
    const replies = converse('zh', ['deeplabv3+ resnet50，512x1024，每卡2张，预算 15 元/小时']);
    const [reply] = replies;
    if (reply === undefined) throw new Error('no reply');
    const lines = renderConsole(reply, { ...style, columns: 200 }).split('\n');
    const header = lines.findIndex((text) => text.startsWith('方案'));
    const starts = [header, header + 1, header + 2].map((index) =>
      columnsBefore(lines[index] ?? '', index === header ? '实例' : 'ecs.'),
    );
    expect(new Set(starts).size).toBe(1);
  });

  test('colour only when asked for', () => {
    const [, , , , , , answer] = goldenReplies();
    if (answer === undefined) throw new Error('no reply');
    expect(renderConsole(answer, style)).not.toContain('\u001b[');
    expect(renderConsole(answer, { ...style, color: true })).toContain('\u001b[1m');
  });

  test('the chat leaves the order command for when it is asked for', () => {
    const [reply] = converse('en', ['unet 512x512 batch 4 no budget limit']);
    if (reply === undefined) throw new Error('no reply');
    expect(renderConsole(reply, style)).toContain('RunInstances');
    expect(renderConsole(reply, { ...style, everything: false })).not.toContain('RunInstances');
  });
});

function columnsBefore(text: string, word: string): number {
  return displayWidth(text.slice(0, text.indexOf(word)));
}

describe('widths', () => {
  test('wide characters take two columns, marks none', () => {
    expect(displayWidth('显存 A10')).toBe(8);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(padColumns('显存', 6)).toBe('显存  ');
  });

  test('wrapping keeps every character but the spaces it breaks at', () => {
    const text = '推荐 ecs.gn7i-c16g1.4xlarge：1×A10，预算内 and a few more words to wrap';
    const lines = wrapColumns(text, 20);
    expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
    expect(lines.length).toBeGreaterThan(2);
  });

  test('control characters from outside never reach the terminal', () => {
    expect(printable('a\u001b[31mb\u0007\nc')).toBe('a [31mb \nc');
  });
});
