import type { types } from '@slack/bolt';
import { assertNever } from '../../src/errors.ts';
import type { Block, TierLine } from '../../src/reply/reply.ts';
import type { Button } from '../controls.ts';
import { barLines } from '../layout.ts';
import { clip } from '../text.ts';
import { slackLimits } from './limits.ts';

type TiersBlock = Extract<Block, { kind: 'tiers' }>;
const tierKeys = ['tier', 'gpu', 'instance', 'result', 'price', 'secondsPerStep', 'costPerThousand'] as const;

export const plain = (text: string) => ({ type: 'plain_text' as const, text, emoji: false });

export const buttonOf = ({ name, label, value, isPrimary = false }: Button): types.Button => ({
  type: 'button',
  action_id: name,
  text: plain(label),
  ...(value === undefined ? {} : { value }),
  ...(isPrimary ? { style: 'primary' } : {}),
});

export const header = (text: string) => ({ type: 'header' as const, text: plain(clip(text, slackLimits.headerText)) });

const literal = (text: string, bold = false): types.RichTextText => ({
  type: 'text',
  text: text === '' ? '–' : clip(text, slackLimits.sectionText),
  ...(bold ? { style: { bold } } : {}),
});
const line = (...elements: types.RichTextElement[]): types.RichTextSection => ({ type: 'rich_text_section', elements });
const list = { type: 'rich_text_list', style: 'bullet' } as const;
const bullets = (elements: types.RichTextSection[]): types.RichTextList => ({ ...list, elements });
const fixed = (text: string) => ({ type: 'rich_text_preformatted' as const, elements: [literal(text)] });
const titled = (title: string, ...elements: types.RichTextBlockElement[]): types.RichTextBlock => ({
  type: 'rich_text',
  elements: [...(title === '' ? [] : [line(literal(title, true))]), ...elements],
});

export const paragraph = (text: string): types.RichTextBlock => titled('', line(literal(text)));

function notes(all: readonly string[]): types.ContextBlock[] {
  const texts = all.filter((text) => text !== '').slice(0, slackLimits.contextElements);
  const elements = texts.map((text) => plain(clip(text, slackLimits.sectionText)));
  return elements.length === 0 ? [] : [{ type: 'context', elements }];
}

function tiersTable({ columns, rows }: TiersBlock): types.TableBlock {
  const raw = (text: string) => ({ type: 'raw_text' as const, text: text || '–' });
  const head = tierKeys.map((key) => raw(columns[key]));
  const body = rows
    .slice(0, slackLimits.tableRows - 1)
    .map((row) => tierKeys.map((key) => (row.recommended ? titled(row[key] || '–') : raw(row[key]))));
  return { type: 'table', rows: [head, ...body], column_settings: tierKeys.map(() => ({ is_wrapped: true })) };
}

function tierLines({ columns, rows }: TiersBlock): types.RichTextBlock {
  const [, ...keys] = tierKeys;
  const fieldsOf = (row: TierLine): string => keys.map((key) => `${columns[key]}: ${row[key]}`).join(' · ');
  const lineOf = (row: TierLine) => line(literal(row.tier, true), literal(`\n${fieldsOf(row)}`, row.recommended));
  return titled('', bullets(rows.map(lineOf)));
}

/** One neutral block → Slack's blocks. Everything is plain or rich text, where no character has a meaning. */
export function toSlack(block: Block, asTable: boolean): types.KnownBlock[] {
  switch (block.kind) {
    case 'verdict':
      return [block.text.length <= slackLimits.headerText ? header(block.text) : titled(block.text)];
    case 'tiers': {
      const title = block.title === '' ? [] : [titled(block.title)];
      const remarks = block.rows.map(({ tier, note }) => (note === '' ? '' : `${tier}: ${note}`));
      return [...title, asTable ? tiersTable(block) : tierLines(block), ...notes(remarks)];
    }
    case 'bar':
      return [titled(block.title, fixed(barLines(block).join('\n'))), ...notes([block.note])];
    case 'facts': {
      const facts = block.items.map(({ label, value }) => line(literal(`${label}: `, true), literal(`${value}\n`)));
      return [titled(block.title, ...facts)];
    }
    case 'list':
      return [titled(block.title, bullets(block.items.map((item) => line(literal(item)))))];
    case 'text':
      return [paragraph(block.text)];
    case 'code':
      return [titled(block.title, fixed(block.text))];
    case 'note':
      return notes([block.text]);
    default:
      return assertNever(block);
  }
}
