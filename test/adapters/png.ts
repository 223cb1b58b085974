import { crc32, inflateSync } from 'node:zlib';

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Types of the chunks, in order. */
  readonly chunks: readonly string[];
  /** `#rrggbb`. */
  pixel(x: number, y: number): string;
}

const signature = '89504e470d0a1a0a';

/** Reads a PNG of 8-bit palette indices without filters; throws at the first thing that is wrong. */
export function readPng(bytes: Uint8Array): Picture {
  const file = Buffer.from(bytes);
  if (file.subarray(0, 8).toString('hex') !== signature) throw new Error('not a PNG');
  const chunks = new Map<string, Buffer>();
  let at = 8;
  while (at < file.length) {
    const length = file.readUInt32BE(at);
    const typed = file.subarray(at + 4, at + 8 + length);
    if (crc32(typed) !== file.readUInt32BE(at + 8 + length)) throw new Error('a wrong checksum');
    chunks.set(typed.subarray(0, 4).toString('latin1'), typed.subarray(4));
    at += 12 + length;
  }
  const part = (name: string): Buffer => chunks.get(name) ?? Buffer.alloc(0);
  const header = part('IHDR');
  if (header.subarray(8).toString('hex') !== '0803000000') throw new Error('not 8-bit indices');
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const lines = inflateSync(part('IDAT'));
  if (lines.length !== height * (width + 1)) throw new Error('lines are missing');
  return {
    width,
    height,
    chunks: [...chunks.keys()],
    pixel(x, y) {
      const line = lines.subarray(y * (width + 1), (y + 1) * (width + 1));
      if (line[0] !== 0) throw new Error('a filter');
      const index = line[x + 1] ?? 0;
      return `#${part('PLTE')
        .subarray(index * 3, index * 3 + 3)
        .toString('hex')}`;
    },
  };
}
