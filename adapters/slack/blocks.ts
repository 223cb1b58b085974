import type { types } from '@slack/bolt';
import { assertNever } from '../../src/errors.ts';
import type { BarSegment, Block, TierColumns, TierLine } from '../../src/reply/reply.ts';
import { clip, displayWidth, padColumns } from '../text.ts';
import { slackLimits } from './limits.ts';

type TiersBlock = Extract<Block, { kind: 'tiers' }>;
type BarBlock = Extract<Block, { kind: 'bar' }>;
const tierKeys = ['tier', 'gpu', 'instance', 'result', 'price', 'secondsPerStep', 'costPerThousand'] as const;
const barCells = 20;
const gib = 1024 ** 3;

export const plain = (text: string) => ({ type: 'plain_text' as const, text, emoji: false });
const literal = (text: string, bold = false): types.RichTextText => ({
  type: 'text',
  text: text === '' ? '–' : clip(text, slackLimits.sectionText),
  ...(bold ? { style: { bold } } : {}),
});
const line = (...elements: types.RichTextElement[]): types.RichTextSection => ({ type: 'rich_text_section', elements });
const rich = (...elements: types.RichTextBlockElement[]): types.RichTextBlock => ({ type: 'rich_text', elements });
const preformatted = (text: string): types.RichTextPreformatted => ({
  type: 'rich_text_preformatted',
  elements: [literal(text)],
});
const titled = (title: string): types.RichTextSection[] => (title === '' ? [] : [line(literal(title, true))]);

function barText(block: BarBlock): string {
  const total = block.segments.reduce((sum, segment) => sum + segment.bytes, 0);
  const scale = Math.max(total, block.capacityBytes ?? 0, 1);
  const width = Math.max(...block.segments.map((segment) => displayWidth(segment.label)), 0);
  const row = (segment: BarSegment): string => {
    const cells = segment.bytes > 0 ? Math.max(1, Math.round((segment.bytes / scale) * barCells)) : 0;
    const size = `${(segment.bytes / gib).toFixed(segment.bytes < gib / 10 ? 2 : 1)} GiB`.padStart(9);
    const hint = segment.hint === undefined ? '' : `  ${segment.hint}`;
    return `${padColumns(segment.label, width)} ${'█'.repeat(cells).padEnd(barCells, '░')} ${size}${hint}`;
  };
  return block.segments.map(row).join('\n');
}

function tiersTable(block: TiersBlock): types.TableBlock {
  const cell = (row: TierLine, key: (typeof tierKeys)[number]) =>
    row.recommended ? rich(line(literal(row[key], true))) : { type: 'raw_text' as const, text: row[key] || '–' };
  const header = tierKeys.map((key) => ({ type: 'raw_text' as const, text: block.columns[key] || '–' }));
  const rows = block.rows.slice(0, slackLimits.tableRows - 1).map((row) => tierKeys.map((key) => cell(row, key)));
  return { type: 'table', rows: [header, ...rows], column_settings: tierKeys.map(() => ({ is_wrapped: true })) };
}

function tierLines(columns: TierColumns, rows: readonly TierLine[]): types.RichTextBlock {
  const fields = ({ tier: _, recommended, ...rest }: TierLine): string =>
    tierKeys.flatMap((key) => (key === 'tier' ? [] : [`${columns[key]}: ${rest[key]}`])).join(' · ');
  const elements = rows.map((row) => line(literal(row.tier, true), literal(`\n${fields(row)}`, row.recommended)));
  return rich({ type: 'rich_text_list', style: 'bullet', elements });
}

const notesOf = (rows: readonly TierLine[]): string[] =>
  rows.flatMap((row) => (row.note === '' ? [] : [`${row.tier}: ${row.note}`])).slice(0, slackLimits.contextElements);

const context = (texts: readonly string[]): types.ContextBlock[] =>
  texts.length === 0
    ? []
    : [{ type: 'context', elements: texts.map((text) => plain(clip(text, slackLimits.sectionText))) }];

function tiersBlocks(block: TiersBlock, table: boolean): types.KnownBlock[] {
  if (block.rows.length === 0) return [];
  const title = block.title === '' ? [] : [rich(...titled(block.title))];
  const body = table ? tiersTable(block) : tierLines(block.columns, block.rows);
  return [...title, body, ...context(notesOf(block.rows))];
}

export const paragraph = (text: string): types.RichTextBlock => rich(line(literal(text)));

/** One neutral block → Slack's blocks. Everything is plain or rich text, where no character has a meaning. */
export function toSlack(block: Block, table: boolean): types.KnownBlock[] {
  switch (block.kind) {
    case 'verdict':
      return block.text.length <= slackLimits.headerText
        ? [{ type: 'header', text: plain(block.text) }]
        : [rich(line(literal(block.text, true)))];
    case 'tiers':
      return tiersBlocks(block, table);
    case 'bar':
      return [
        rich(...titled(block.title), preformatted(barText(block))),
        ...context(block.note === '' ? [] : [block.note]),
      ];
    case 'facts':
      return [
        rich(
          ...titled(block.title),
          ...block.items.map(({ label, value }) => line(literal(`${label}: `, true), literal(`${value}\n`))),
        ),
      ];
    case 'list':
      return [
        rich(...titled(block.title), {
          type: 'rich_text_list',
          style: 'bullet',
          elements: block.items.map((item) => line(literal(item))),
        }),
      ];
    case 'text':
      return [paragraph(block.text)];
    case 'code':
      return [rich(...titled(block.title), preformatted(block.text))];
    case 'note':
      return context([block.text]);
    default:
      return assertNever(block);
  }
}

export const isEmpty = (block: Block): boolean =>
  ('items' in block && block.items.length === 0) ||
  ('text' in block && block.text.trim() === '') ||
  (block.kind === 'bar' && block.segments.length === 0);
