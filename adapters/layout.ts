import type { Block, Reply } from '../src/reply/reply.ts';
import { displayWidth, padColumns } from './text.ts';

const gib = 1024 ** 3;
const barCells = 20;

const isEmpty = (block: Block): boolean =>
  ('items' in block && block.items.length === 0) ||
  ('rows' in block && block.rows.length === 0) ||
  ('text' in block && block.text.trim() === '') ||
  ('segments' in block && block.segments.length === 0);

/** The blocks with something in them. */
export const filledBlocks = ({ blocks }: Reply): Block[] => blocks.filter((block) => !isEmpty(block));

/** Whether a block belongs into the message itself; details can be asked for where the answer has a code. */
export const isShown = ({ estimateCode }: Reply, { level }: Block): boolean =>
  level === 'main' || estimateCode === undefined;

/** Takes items in order while there is room; one that is too large is passed over, a smaller one after it still goes in. */
export function takeFitting<T>(items: readonly T[], room: number, sizeOf: (item: T) => number): T[] {
  let left = room;
  return items.filter((item) => {
    const size = sizeOf(item);
    if (size > left) return false;
    left -= size;
    return true;
  });
}

export interface LayoutOptions<T> {
  /** One block in the platform's parts; the first list of tiers may be a table. */
  readonly write: (block: Block, asTable: boolean) => readonly T[];
  readonly message: Room;
  /** Behind a button; nothing without it. */
  readonly details?: Room;
  /** Of parts, or of one of them; characters of their JSON without it. */
  readonly sizeOf?: (parts: unknown) => number;
}

interface Room {
  readonly parts: number;
  readonly size: number;
}

const charactersOf = (parts: unknown): number => JSON.stringify(parts).length;

/** A reply in parts: in order while they fit; what does not fit goes behind the details. */
export function layOut<T>(reply: Reply, options: LayoutOptions<T>): { main: T[]; details: T[] } {
  const { write, message, details = { parts: 0, size: 0 }, sizeOf = charactersOf } = options;
  const filled = filledBlocks(reply);
  const wanted = filled.filter((block) => isShown(reply, block));
  const table = wanted.find(({ kind }) => kind === 'tiers');
  const written = wanted.map((block) => ({ block, parts: write(block, block === table) }));
  const counted = takeFitting(written, message.parts, ({ parts }) => parts.length);
  const main = takeFitting(counted, message.size, ({ parts }) => sizeOf(parts));
  const placed = new Set(main.map(({ block }) => block));
  const left = details.parts === 0 ? [] : filled.filter((block) => !placed.has(block));
  const rest = left.flatMap((block) => write(block, false)).slice(0, details.parts);
  return { main: main.flatMap(({ parts }) => parts), details: takeFitting(rest, details.size, sizeOf) };
}

/** A bar as lines of fixed-width text: label, cells, size in GiB, hint. */
export function barLines({ segments, capacityBytes }: Extract<Block, { kind: 'bar' }>): readonly string[] {
  const total = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const scale = Math.max(total, capacityBytes ?? 0, 1);
  const width = Math.max(...segments.map(({ label }) => displayWidth(label)), 0);
  return segments.map(({ label, bytes, hint }) => {
    const cells = bytes > 0 ? Math.max(1, Math.round((bytes / scale) * barCells)) : 0;
    const size = `${(bytes / gib).toFixed(bytes < gib / 10 ? 2 : 1)} GiB`.padStart(9);
    const said = hint === undefined ? '' : `  ${hint}`;
    return `${padColumns(label, width)} ${'█'.repeat(cells).padEnd(barCells, '░')} ${size}${said}`;
  });
}
