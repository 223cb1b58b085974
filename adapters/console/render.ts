import type { BarSegment, Block, Reply, TierColumns, TierLine } from '../../src/reply/reply.ts';
import { displayWidth, padColumns } from '../text.ts';
import { consoleLimits } from './limits.ts';
import { clipColumns, printable, wrapColumns } from './width.ts';

export interface ConsoleStyle {
  readonly color: boolean;
  readonly columns: number;
  /** Everything, or what belongs on the first screen and the tips. */
  readonly everything: boolean;
}

interface Painter {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly accent: (text: string) => string;
  readonly columns: number;
}

const GIB = 1024 ** 3;
const INDENT = ' '.repeat(consoleLimits.titleColumns);
const TIER_COLUMNS = [
  'tier',
  'instance',
  'gpu',
  'result',
  'price',
  'secondsPerStep',
  'costPerThousand',
  'note',
] as const;
const HINT_COLUMNS = 72;
/** Segments smaller than this share of the largest share one line. */
const OWN_LINE = 0.1;

/** A reply as terminal text: aligned columns, bars, wrapped to the width. */
export function renderConsole(reply: Reply, style: ConsoleStyle): string {
  const painter = paint(style);
  const tips = reply.blocks.find((block) => block.level === 'details' && block.kind === 'list');
  const shown = reply.blocks.filter((block) => style.everything || block.level === 'main' || block === tips);
  const parts = shown.map((block) => renderBlock(block, painter).join('\n'));
  const choices = renderChoices(reply, painter);
  return `${[...parts, ...(choices === '' ? [] : [choices])].join('\n\n')}\n`;
}

function paint({ color, columns }: ConsoleStyle): Painter {
  const code = (open: number, close: number) => (text: string) =>
    color ? `\u001B[${open}m${text}\u001B[${close}m` : text;
  return {
    bold: code(1, 22),
    dim: code(2, 22),
    accent: code(36, 39),
    columns: Math.max(columns, consoleLimits.minimumColumns),
  };
}

function renderBlock(block: Block, painter: Painter): readonly string[] {
  switch (block.kind) {
    case 'verdict':
      return wrapColumns(shownText(block.text), painter.columns).map(painter.bold);
    case 'text':
      return wrapColumns(shownText(block.text), painter.columns);
    case 'note':
      return wrapColumns(shownText(block.text), painter.columns).map(painter.dim);
    case 'tiers':
      return tierRows(block.columns, block.rows, painter);
    case 'bar':
      return section(block.title, [...barLines(block.segments, painter), painter.dim(shownText(block.note))], painter);
    case 'list':
      return section(
        block.title,
        block.items.slice(0, consoleLimits.items).flatMap((item) => hanging(shownText(item), painter)),
        painter,
      );
    case 'facts':
      return section(block.title, factLines(block.items.slice(0, consoleLimits.items), painter), painter);
    case 'code':
      return [
        painter.accent(cell(block.title)),
        ...block.text
          .slice(0, consoleLimits.textCharacters)
          .split('\n')
          .map((line) => `  ${printable(line)}`),
      ];
  }
}

/** The title on the left, the lines on the right of it. */
function section(heading: string, lines: readonly string[], painter: Painter): readonly string[] {
  const title = cell(heading);
  if (title === '') return lines.map((line) => `  ${line}`);
  const width = displayWidth(title);
  if (width >= consoleLimits.titleColumns) return [painter.accent(title), ...lines.map((line) => `${INDENT}${line}`)];
  const [first = '', ...rest] = lines;
  const gap = ' '.repeat(consoleLimits.titleColumns - width);
  return [`${painter.accent(title)}${gap}${first}`, ...rest.map((line) => `${INDENT}${line}`)];
}

/** Text of a block: no control characters, no endless length. */
function shownText(text: string): string {
  return printable(text.slice(0, consoleLimits.textCharacters));
}

function cell(text: string, columns: number = consoleLimits.cellColumns): string {
  return clipColumns(printable(text), columns);
}

function hanging(item: string, painter: Painter): readonly string[] {
  const lines = wrapColumns(item, painter.columns - consoleLimits.titleColumns - 2);
  return lines.map((line, index) => `${index === 0 ? '· ' : '  '}${line}`);
}

function factLines(facts: readonly { label: string; value: string }[], painter: Painter): readonly string[] {
  const items = facts.map(({ label, value }) => ({ label: cell(label), value }));
  const width = Math.max(0, ...items.map(({ label }) => displayWidth(label)));
  const room = painter.columns - consoleLimits.titleColumns - width - 2;
  return items.flatMap(({ label, value }) =>
    wrapColumns(shownText(value), Math.max(room, consoleLimits.minimumColumns / 2)).map(
      (line, index) => `${padColumns(index === 0 ? label : '', width)}  ${line}`,
    ),
  );
}

function barLines(all: readonly BarSegment[], painter: Painter): readonly string[] {
  const segments = all.slice(0, consoleLimits.items).map((segment) => ({ ...segment, label: cell(segment.label) }));
  const largest = Math.max(1, ...segments.map(({ bytes }) => bytes));
  const labels = Math.max(0, ...segments.map(({ label }) => displayWidth(label)));
  const long = segments.filter(({ bytes }) => bytes >= largest * OWN_LINE);
  const short = segments.filter((segment) => !long.includes(segment));
  const lines = long.map(({ label, bytes, hint }) => {
    const cells = Math.max(1, Math.round((bytes / largest) * consoleLimits.barColumns));
    const bar = painter.accent(padColumns('▇'.repeat(cells), consoleLimits.barColumns));
    return `${padColumns(label, labels)} ${amount(bytes).padStart(5)} ${bar}${hint === undefined ? '' : painter.dim(` ${cell(hint, HINT_COLUMNS)}`)}`.trimEnd();
  });
  const rest = short.map(({ label, bytes }) => `${label} ${amount(bytes)}`).join(' · ');
  return rest === '' ? lines : [...lines, ...wrapColumns(rest, painter.columns - consoleLimits.titleColumns)];
}

function amount(bytes: number): string {
  const gib = bytes / GIB;
  return gib >= 99.95 ? gib.toFixed(0) : gib.toFixed(gib < 0.95 ? 2 : 1);
}

function tierRows(columns: TierColumns, rows: readonly TierLine[], painter: Painter): readonly string[] {
  const table = [columns, ...rows.slice(0, consoleLimits.items)].map((row) =>
    TIER_COLUMNS.map((column) => cell(cellText(row, column))),
  );
  const widths = TIER_COLUMNS.map((_, index) => Math.max(...table.map((row) => displayWidth(row[index] ?? ''))));
  const noteWidth = widths.at(-1) ?? 0;
  const tableWidth = widths.reduce((sum, width) => sum + width + 2, 0);
  const noteBelow = tableWidth > painter.columns && noteWidth > 0;
  return table.flatMap((cells, index) => {
    const shown = noteBelow ? cells.slice(0, -1) : cells;
    const line = shown
      .map((cell, column) => padColumns(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd();
    const style =
      index === 0 ? painter.dim : rows[index - 1]?.recommended === true ? painter.bold : (text: string) => text;
    const note = noteBelow && cells.at(-1) ? [painter.dim(`${INDENT}${cells.at(-1) ?? ''}`)] : [];
    return [style(line), ...note];
  });
}

function cellText(row: TierColumns | TierLine, column: (typeof TIER_COLUMNS)[number]): string {
  const star = column === 'tier' && 'recommended' in row && row.recommended ? ' ★' : '';
  return `${row[column]}${star}`;
}

/** Numbered, so that a number is enough; after a question numbers are answers and a choice is `#1`. */
function renderChoices({ choices, kind }: Reply, painter: Painter): string {
  const mark = kind === 'question' ? '#' : '';
  const texts = choices.map(({ label }, index) => `[${mark}${index + 1}] ${cell(label)}`);
  const lines: string[] = [];
  for (const text of texts) {
    const last = lines.at(-1);
    if (last !== undefined && displayWidth(`${last}  ${text}`) <= painter.columns)
      lines[lines.length - 1] = `${last}  ${text}`;
    else lines.push(text);
  }
  return lines.map(painter.accent).join('\n');
}
