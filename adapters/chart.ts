import { crc32, deflateSync } from 'node:zlib';

const width = 800;
const height = 96;
const edgeWidth = 6;

/** Each fill with the square that stands for it in a text; values of Twemoji 14's squares. The last one takes all others. */
const fills = [
  ['🟦', 0x55acee],
  ['🟧', 0xf4900c],
  ['🟩', 0x78b159],
  ['🟪', 0xaa8ed6],
  ['🟥', 0xdd2e44],
  ['🟨', 0xfdcb58],
  ['🟫', 0xc1694f],
  ['⬛', 0x31373d],
] as const;
const lastFill = fills.length - 1;
const free = { index: fills.length, colour: 0xe6e7e8 };
const edge = { index: fills.length + 1, colour: 0x000000 };
const rim = { index: fills.length + 2, colour: 0xffffff };
const palette = [...fills.map(([, colour]) => colour), free.colour, edge.colour, rim.colour];

/** The square before a segment's name in the text next to the picture. */
export const squareOf = (segment: number): string => fills[Math.min(segment, lastFill)]?.[0] ?? '';

/**
 * A stacked bar as PNG: one colour for each size, light grey for what is free, a black line with a white rim where the
 * capacity ends. Holds no text.
 */
export function barChart(sizes: readonly number[], capacity?: number): Uint8Array<ArrayBuffer> {
  const amounts = [...sizes, capacity ?? 0].map((size) => (size > 0 ? Math.min(size, Number.MAX_SAFE_INTEGER) : 0));
  const room = amounts.pop() ?? 0;
  const total = amounts.reduce((sum, amount) => sum + amount, 0);
  const scale = width / Math.max(total, room, 1);
  const columns = Buffer.alloc(width, free.index);
  let from = 0;
  for (const [index, amount] of amounts.entries()) {
    columns.fill(Math.min(index, lastFill), Math.round(from * scale), Math.round((from + amount) * scale));
    from += amount;
  }
  if (room > 0) {
    const start = Math.max(0, Math.min(width - edgeWidth, Math.round(room * scale - edgeWidth / 2)));
    columns.fill(rim.index, start, start + edgeWidth).fill(edge.index, start + 2, start + edgeWidth - 2);
  }
  return png(columns);
}

/** Every line is the same one. https://www.w3.org/TR/png-3/: palette of 8-bit indices, no filter, not interlaced. */
function png(columns: Buffer): Uint8Array<ArrayBuffer> {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 3, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const line = Buffer.concat([Buffer.from([0]), columns]);
  const lines = deflateSync(Buffer.concat(Array.from({ length: height }, () => line)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const chunks = [chunk('IHDR', header), chunk('PLTE', colours), chunk('IDAT', lines), chunk('IEND', Buffer.alloc(0))];
  return Uint8Array.from(Buffer.concat([signature, ...chunks]));
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(typed), 4);
  return Buffer.concat([ends.subarray(0, 4), typed, ends.subarray(4)]);
}
