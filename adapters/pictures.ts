import { asAppError } from '../src/errors.ts';
import type { Block } from '../src/reply/reply.ts';
import type { Logger } from './adapter.ts';
import { barChart } from './chart.ts';

export type Bar = Extract<Block, { kind: 'bar' }>;

/** An uploaded picture of one bar, by the platform's id. */
export interface Picture {
  readonly bar: Bar;
  readonly mediaId: string;
}

export interface PictureOptions {
  readonly upload: (png: Uint8Array<ArrayBuffer>) => Promise<string>;
  readonly logger: Logger;
}

/** Messages between two attempts that are remembered. */
const remembered = 200;

/** Uploads the picture of an answer once for all attempts at it; an answer without its picture is still an answer. */
export function createPictures({ upload, logger }: PictureOptions) {
  const uploaded = new Map<string, string>();
  return async (bar: Bar, key: string | undefined): Promise<Picture | undefined> => {
    const known = uploaded.get(key ?? '');
    if (known !== undefined) return { bar, mediaId: known };
    try {
      const sizes = bar.segments.map(({ bytes }) => bytes);
      const mediaId = await upload(barChart(sizes, bar.capacityBytes));
      if (key !== undefined) uploaded.set(key, mediaId);
      for (const oldest of [...uploaded.keys()].slice(0, -remembered)) uploaded.delete(oldest);
      return { bar, mediaId };
    } catch (error) {
      const { code, message } = asAppError(error);
      logger.warn({ code, reason: message }, 'an answer goes without its picture');
      return undefined;
    }
  };
}
