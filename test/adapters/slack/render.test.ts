import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeControlId } from '../../../adapters/controls.ts';
import { formFields, readFields } from '../../../adapters/form.ts';
import { escapeText, slackLimits } from '../../../adapters/slack/limits.ts';
import { plainText } from '../../../adapters/slack/receive.ts';
import { renderReply } from '../../../adapters/slack/render.ts';
import { formView, homeView } from '../../../adapters/slack/views.ts';
import { clip, clipBytes } from '../../../adapters/text.ts';
import { textAt } from '../../../adapters/wire.ts';
import type { Block, Reply } from '../../../src/reply/reply.ts';
import { messageProblems, viewProblems } from '../../fakes/block-kit.ts';
import { columns, englishTexts, fullReply, textsOf, tier } from './samples.ts';

const placement = { thread: '1700000000.000100', ephemeral: false };
const render = (reply: Reply, ephemeral = false) =>
  renderReply(reply, { ...placement, ephemeral }, textsOf(reply.locale));

const words = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.constantFrom(
    '',
    '<!channel>',
    '&amp;',
    '*b* _i_ `c`',
    '显存够吗',
    'x'.repeat(5_000),
    '😀'.repeat(2_000),
    '\ud83d',
  ),
);
const level = fc.constantFrom('main', 'details');
const row = fc.record({
  tier: words,
  recommended: fc.boolean(),
  instance: words,
  gpu: words,
  result: words,
  price: words,
  secondsPerStep: words,
  costPerThousand: words,
  note: words,
});
const block: fc.Arbitrary<Block> = fc.oneof(
  fc.record({ kind: fc.constant('verdict'), level, text: words }),
  fc.record({
    kind: fc.constant('tiers'),
    level,
    title: words,
    columns: fc.constant(columns),
    rows: fc.array(row, { maxLength: 30 }),
  }),
  fc.record({
    kind: fc.constant('bar'),
    level,
    title: words,
    segments: fc.array(fc.record({ label: words, bytes: fc.nat(1e11) }), { maxLength: 12 }),
    note: words,
  }),
  fc.record({
    kind: fc.constant('facts'),
    level,
    title: words,
    items: fc.array(fc.record({ label: words, value: words }), { maxLength: 30 }),
  }),
  fc.record({ kind: fc.constant('list'), level, title: words, items: fc.array(words, { maxLength: 40 }) }),
  fc.record({ kind: fc.constant('text'), level, text: words }),
  fc.record({ kind: fc.constant('code'), level, title: words, text: words }),
  fc.record({ kind: fc.constant('note'), level, text: words }),
);
const reply: fc.Arbitrary<Reply> = fc
  .record({
    locale: fc.constantFrom('zh', 'en'),
    kind: fc.constantFrom('answer', 'question', 'notice'),
    fallback: words.map((text) => text || 'verdict'),
    blocks: fc.array(block, { maxLength: 60 }),
    choices: fc.array(fc.record({ label: words.map((text) => text || 'x'), say: words, primary: fc.boolean() }), {
      maxLength: 130,
    }),
  })
  .chain((value) =>
    fc
      .option(fc.constant('G7K2'), { nil: undefined })
      .map((code) => (code === undefined ? value : { ...value, estimateCode: code })),
  );

describe('messages', () => {
  test('any reply keeps every limit, in the message and behind the details button', () => {
    fc.assert(
      fc.property(reply, fc.boolean(), (value, ephemeral) => {
        const { message, shared, details } = render(value, ephemeral);
        expect(messageProblems(message)).toEqual([]);
        expect(messageProblems(shared)).toEqual([]);
        if (details.length > 0)
          expect(viewProblems({ type: 'modal', title: { type: 'plain_text', text: 'x' }, blocks: details })).toEqual(
            [],
          );
      }),
      { numRuns: 300, examples: ['', ' ', '\n\t'].map((fallback) => [fullReply({ fallback, blocks: [] }), true]) },
    );
  }, 60_000);

  test.each(['', ' ', '\u3000\n'])('a blank fallback %j still says something', (fallback) => {
    for (const blocks of [[], fullReply().blocks]) {
      const { message, shared } = render(fullReply({ fallback, blocks }));
      expect(message.text).toBe('–');
      expect(messageProblems(message)).toEqual([]);
      expect(messageProblems(shared)).toEqual([]);
    }
    expect(JSON.stringify(render(fullReply({ fallback, blocks: [] })).shared.blocks)).toContain('"text":"–"');
  });

  test('an answer leads with the verdict and ends with feedback', () => {
    const { message, details } = render(fullReply());
    expect(message.text.split('\n')[0]).toBe('Needs about 18.4 GB; A10 24 GB fits');
    const types = message.blocks.map(({ type }) => type);
    expect(types[0]).toBe('header');
    expect(types.at(-1)).toBe('context_actions');
    expect(types.filter((type) => type === 'table')).toHaveLength(1);
    expect(JSON.stringify(details)).toContain('RunInstances');
    expect(JSON.stringify(message.blocks)).not.toContain('RunInstances');
  });

  test('five buttons, the rest in a menu; at most one stands out', () => {
    const text = JSON.stringify(render(fullReply()).message.blocks);
    expect(text.match(/"action_id":"choice:\d"/gu)).toHaveLength(5);
    expect(text).toContain('"type":"static_select"');
    expect(text.match(/"style":"primary"/gu)).toHaveLength(1);
  });

  test('controls remember estimate and conversation', () => {
    const blocks = render(fullReply()).message.blocks;
    const ids = blocks.flatMap((one) => (one.block_id === undefined ? [] : [decodeControlId(one.block_id)]));
    expect(ids).toEqual([
      { code: 'G7K2', thread: '1700000000.000100' },
      { code: 'G7K2', thread: '1700000000.000100' },
    ]);
    expect(new Set(blocks.map(({ block_id: id }) => id).filter((id) => id !== undefined)).size).toBe(2);
    expect(decodeControlId('somebody else')).toBeUndefined();
  });

  test('sharing is offered on an answer that only the asker sees', () => {
    expect(JSON.stringify(render(fullReply(), true).message)).toContain('"share"');
    expect(JSON.stringify(render(fullReply(), false).message)).not.toContain('"share"');
  });

  test('a second table becomes lines; the recommended row stands out', () => {
    const blocks: Block[] = ['one', 'two'].map((title) => ({
      kind: 'tiers',
      level: 'main',
      title,
      columns,
      rows: [tier('A'), tier('B', true)],
    }));
    const text = JSON.stringify(render(fullReply({ blocks })).message.blocks);
    expect(text.match(/"type":"table"/gu)).toHaveLength(1);
    expect(text).toContain('Price: ¥10.09/h');
    expect(text).toContain('"style":{"bold":true}');
  });

  test('the bar lines up with wide characters', () => {
    const { message } = render(fullReply());
    const [, bar] = /"text":"(activations[^"]*)"/u.exec(JSON.stringify(message.blocks)) ?? [];
    const lines = (bar ?? '').split(String.raw`\n`);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^activations █+░+ +11\.2 GiB {2}decoder$/u);
    expect(lines[1]).toMatch(/^权重 {8}█░+ +0\.2 GiB$/u);
  });
});

describe('views', () => {
  test('form and home keep every limit', () => {
    const address = {
      team: 'T',
      enterprise: null,
      orgWide: false,
      user: 'U',
      channel: 'C',
      isDirect: false,
      thread: 'U',
      route: 'respond',
      threadTs: null,
      updateTs: null,
      response: 'x'.repeat(300),
      ephemeral: true,
    } as const;
    fc.assert(
      fc.property(words, words, (one, two) => {
        const texts = { ...englishTexts, fieldModelHint: one || 'x', formTitle: two || 'x' };
        expect(
          viewProblems(formView({ texts, fields: formFields(texts, { model: one, batch: two }) }, address)),
        ).toEqual([]);
        const recent = [{ estimateCode: 'G7K2', verdict: one, say: two, at: 1 }];
        expect(viewProblems(homeView({ texts, recent }))).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  test('the form is read whatever Slack sends', () => {
    const read = (values: unknown) => readFields((name) => textAt(values, `${name}.value.value`), englishTexts);
    expect(read(undefined)).toHaveProperty('errors');
    fc.assert(fc.property(fc.anything(), (values) => void read(values)));
  });
});

describe('text', () => {
  test('escaping and reading are inverse', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(plainText(escapeText(text))).toBe(text.trim());
      }),
    );
  });

  test.each([
    ['<@U1> hi', 'U1', 'hi'],
    ['ask <@U2|anna> in <#C1|general>', 'U1', 'ask @anna in #general'],
    ['<!here> <https://a.test/x|docs> <mailto:a@b.test|a@b.test>', 'U1', 'docs a@b.test'],
    ['512&lt;1024 &amp;amp; <https://a.test/y>', 'U1', '512<1024 &amp; https://a.test/y'],
    ['<!subteam^S1|@team> go', 'U1', '@team go'],
  ])('%s', (text, bot, expected) => {
    expect(plainText(text, bot)).toBe(expected);
  });

  test('clipping keeps limits and whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), fc.integer({ min: 1, max: 100 }), (text, limit) => {
        expect(clip(text, limit).length).toBeLessThanOrEqual(limit);
        expect(Buffer.byteLength(clipBytes(text, limit + 8))).toBeLessThanOrEqual(limit + 8);
        if (text.isWellFormed()) expect(clip(text, limit).isWellFormed()).toBe(true);
      }),
    );
    expect(clip('😀😀', 2)).toBe('…');
    expect(slackLimits.messageBlocks).toBe(50);
  });
});
