import { describe, expect, test } from 'vitest';
import { dingtalkLimits, escapeMarkdown } from '../../../adapters/dingtalk/limits.ts';
import { renderReply } from '../../../adapters/dingtalk/render.ts';
import type { Choice, Reply } from '../../../src/reply/reply.ts';
import { extremeReplies, goldenReplies } from '../../contracts/golden-replies.ts';
import { markdownProblems, messageProblems, parameterProblems } from '../../fakes/dingtalk-markdown.ts';
import { chineseTexts, englishTexts, fullReply } from '../slack/samples.ts';
import { tapped } from './process.ts';

const render = (reply: Reply, isGroup = false) => renderReply(reply, { isGroup }, englishTexts);
const choicesOf = (...says: string[]): Choice[] => says.map((say) => ({ label: say.slice(0, 20), say }));

describe('an answer', () => {
  test('has the verdict as its title and first line, the parts in order, its code at the end', () => {
    const { title, text } = render(fullReply());
    expect(title).toBe('Needs about 18.4 GB; A10 24 GB fits');
    expect(text.startsWith('**Needs about 18.4 GB; A10 24 GB fits**')).toBe(true);
    const places = ['What to rent', 'Where it goes', 'Run', 'Tips', 'Assumed'].map((word) => text.indexOf(word));
    expect(places).toEqual([...places].sort((one, two) => one - two));
    expect(places[0]).toBeGreaterThan(0);
    expect(text.endsWith('\\#G7K2')).toBe(true);
  });

  test('leaves details for the asking, and a recommended tier is marked', () => {
    const { text } = render(fullReply());
    expect(text).not.toContain('The peak is in backward');
    expect(text.split('\n').filter((line) => line.includes('✅'))).toHaveLength(1);
    expect(text).toMatch(/✅ \*\*B\*\* ecs\.gn7i-c8g1\.2xlarge/u);
  });

  test('says in a group that the bot has to be mentioned', () => {
    const { pickInGroups, pickByNumber } = englishTexts;
    expect(render(fullReply(), true).text).toContain(pickInGroups);
    expect(render(fullReply()).text).toContain(pickByNumber);
  });

  test('is complete without buttons: every choice stands in the text with a number', () => {
    const { text, buttons } = render(fullReply());
    expect(buttons).toHaveLength(5);
    for (const [index, { label }] of fullReply().choices.entries()) expect(text).toContain(`${index + 1} ${label}`);
    expect(render(fullReply({ kind: 'question' })).text).toContain('\\#1 fp16');
  });
});

describe('buttons', () => {
  test.each(['预算改成30', '打开 AMP', 'A10 or V100?', 'deeplabv3+ 512×512 & 50% #1', '换成 “unet”'])(
    '%s arrives as it was meant',
    (say) => {
      const [button] = render(fullReply({ choices: choicesOf(say) })).buttons;
      expect(tapped(button).normalize('NFKC')).toBe(say.normalize('NFKC'));
      expect(button?.actionURL).toMatch(/^dtmd:\/\/dingtalkclient\/sendMessage\?content=[\w%.!~*'()-]+$/u);
      expect(button?.actionURL).not.toMatch(/%20|%2B|\+/u);
    },
  );

  test('what cannot be said in one short line gets none', () => {
    const choices = choicesOf('a\nb', 'x'.repeat(500), 'https://example.test/', '', 'batch 4');
    expect(render(fullReply({ choices })).buttons.map(({ title }) => title)).toEqual(['batch 4']);
  });
});

describe('limits', () => {
  const bodies = [...goldenReplies(), ...extremeReplies()].flatMap((reply) => [
    renderReply(reply, { isGroup: false }, chineseTexts),
    renderReply(reply, { isGroup: true }, englishTexts),
  ]);

  test('hold for every reply, whichever way it takes', () => {
    for (const { title, text, buttons, plain } of bodies) {
      const card = { title, text, btnOrientation: '0', btns: buttons };
      const markdown = { msgtype: 'markdown', markdown: { title, text } };
      expect(messageProblems(buttons.length === 0 ? markdown : { msgtype: 'actionCard', actionCard: card })).toEqual(
        [],
      );
      expect(parameterProblems('sampleMarkdown', JSON.stringify({ title, text }))).toEqual([]);
      expect(Buffer.byteLength(JSON.stringify(card))).toBeLessThanOrEqual(dingtalkLimits.messageBytes);
      expect(Buffer.byteLength(JSON.stringify(plain))).toBeLessThanOrEqual(dingtalkLimits.plainBytes + 100);
    }
  });

  test('an answer that fits is not cut: the usual one takes little of the room', () => {
    for (const reply of goldenReplies().filter(({ estimateCode }) => estimateCode !== undefined))
      expect(Buffer.byteLength(render(reply).text)).toBeLessThan(dingtalkLimits.messageBytes / 3);
  });
});

test.each([
  ['# title', 'a heading'],
  ['- item', 'a list'],
  ['1. item', 'a numbered list'],
  ['> quote', 'a quote'],
  ['**bold** _x_ ~~gone~~ `code`', 'marks'],
  ['[a](https://x.test) ![b](https://x.test)', 'links'],
  ['<font color=red>x</font>', 'tags'],
  ['dtmd://dingtalkclient/sendMessage?content=x', 'a link into the client'],
  ['@所有人 @all @staff0001', 'mentions'],
  ['a | b | c', 'a table'],
])('%s: not %s', (text) => {
  const safe = escapeMarkdown(text);
  expect(markdownProblems(safe)).toEqual([]);
  expect(safe).not.toMatch(/^(?:#|- |>|1\. )/u);
  expect(safe).not.toMatch(/@(?:\w|所有人)/u);
  expect(safe).not.toMatch(/(?<!\\)[*`[\]~|]/u);
});

test.each(['smp.Unet', 'deep_lab_v3', '50% of 22.1 GiB', '1×A10 · ¥10.09/时', 'a-b', '3.5'])(
  '%s reads as it is',
  (text) => {
    expect(escapeMarkdown(text)).toBe(text);
  },
);

describe('the judge of these tests', () => {
  const at = { atUserIds: ['staff0001'], isAtAll: false };
  const markdown = (text: string, title = 't') => ({ msgtype: 'markdown', markdown: { title, text } });
  const card = (btns: unknown[]) => ({
    msgtype: 'actionCard',
    actionCard: { title: 't', text: 'x', btnOrientation: '0', btns },
  });
  const link = 'dtmd://dingtalkclient/sendMessage?content=';
  const button = (content: string) => ({ title: 'b', actionURL: `${link}${content}` });
  test.each<[string, unknown]>([
    ['a table', markdown('| a | b |\n|---|---|')],
    ['a fence', markdown('```\nx\n```')],
    ['code', markdown('a `b` c')],
    ['a tag', markdown('<font>x</font>')],
    ['an image', markdown('![x](https://x.test)')],
    ['no title', markdown('x', ' ')],
    ['everybody', markdown('@所有人')],
    ['too many bytes', markdown('字'.repeat(6_000))],
    ['at all', { ...markdown('x'), at: { ...at, isAtAll: true } }],
    ['a mention that is not in the text', { ...markdown('x'), at }],
    ['six buttons', card(Array.from({ length: 6 }, () => button('x')))],
    ['an upper-case host', card([{ title: 'b', actionURL: 'dtmd://dingtalkClient/sendMessage?content=x' }])],
    ['a blank', card([button('a%20b')])],
    ['a plus', card([button('a%2Bb')])],
    ['JSON', card([button('%7B%22a%22%3A1%7D')])],
    ['nothing to say', card([button('')])],
    ['raw characters', card([button('预算')])],
    ['an unknown key', { ...markdown('x'), other: 1 }],
  ])('refuses %s', (_, body) => {
    expect(messageProblems(body)).not.toEqual([]);
  });

  test('and takes a good one', () => {
    expect(messageProblems({ ...markdown('**x** @staff0001'), at, msgUuid: 'k' })).toEqual([]);
    expect(messageProblems(card([button('%E9%A2%84%E7%AE%97')]))).toEqual([]);
    expect(parameterProblems('sampleActionCard2', '{"title":"t","text":"x"}')).not.toEqual([]);
  });
});
