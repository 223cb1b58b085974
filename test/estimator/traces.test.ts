import { describe, expect, test } from 'vitest';

import { macroMean, quantile, type Scored, scoreRows, truthRows } from './truth.ts';

const FILES = ['traces-mmseg', 'traces-smp', 'traces-torchvision', 'traces-transformers', 'traces-unet'];
const EXACT = ['parameters', 'trainableParameters', 'buffers', 'base'];

/** Families with loops over objects or sampled points: bounded, not exact. */
const SAMPLED = /Mask2Former|MaskFormer|Eomt|maskrcnn|PointRend|Sam/;

describe.each(FILES)('official code, %s', (file) => {
  const scored = scoreRows(truthRows(file));
  const of = (figure: string): Scored[] => scored.filter((one) => one.figure === figure);

  test.each(EXACT)('%s is exact on every row', (figure) => {
    expect(
      of(figure)
        .filter(({ error }) => error > 0)
        .map(({ row, signed }) => [row.id, signed]),
    ).toEqual([]);
  });

  test.each(['saved', 'peakForward', 'peakBackward', 'allocatedPeak'])('%s agrees with the trace', (figure) => {
    const rows = of(figure);
    expect(macroMean(rows)).toBeLessThanOrEqual(0.0005);
    const far = rows.filter(({ row, error }) => error > (SAMPLED.test(row.family) ? 0.04 : 0.005));
    expect(far.map(({ row, signed }) => [row.id, signed])).toEqual([]);
    expect(
      quantile(
        rows.map(({ error }) => error),
        0.9,
      ),
    ).toBeLessThanOrEqual(0.003);
  });

  test('multiply-accumulates and validation are within 1 %', () => {
    const rows = [...of('forwardMacs'), ...of('validationPeak')];
    expect(rows.filter(({ error }) => error > 0.01).map(({ row, signed }) => [row.id, signed])).toEqual([]);
  });
});
