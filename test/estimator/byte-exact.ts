import { expect, test } from 'vitest';

import type { Scored } from './truth.ts';

const FIGURES = [
  'parameters',
  'trainableParameters',
  'buffers',
  'base',
  'saved',
  'peakForward',
  'peakBackward',
  'peakStep',
  'allocatedPeak',
  'forwardMacs',
] as const;

/** One test for each figure: no row of the traces is off by a byte, and more than `rows` of them have the figure. */
export function exactToTheByte(scored: readonly Scored[], rows: number): void {
  test.each(FIGURES)('%s is exact to the byte on every row', (figure) => {
    const of = scored.filter((one) => one.figure === figure);
    expect(of.length).toBeGreaterThan(rows);
    expect(of.filter(({ error }) => error > 0).map(({ row, signed }) => [row.id, signed])).toEqual([]);
  });
}
