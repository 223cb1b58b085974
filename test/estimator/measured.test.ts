import { describe, expect, test } from 'vitest';

import { estimate } from '../../src/estimator/estimate.ts';
import { macroMean, quantile, scoreRows, truthRows, workloadOf } from './truth.ts';

describe('measured trainings of the MMSegmentation model zoo', () => {
  const rows = truthRows('measured-mmseg');
  const scored = scoreRows(rows);

  test('the allocated peak is as near as replaying the official code', () => {
    expect(macroMean(scored)).toBeLessThanOrEqual(0.016);
    expect(
      quantile(
        scored.map(({ error }) => error),
        0.9,
      ),
    ).toBeLessThanOrEqual(0.025);
    expect(Math.max(...scored.map(({ error }) => error))).toBeLessThanOrEqual(0.15);
  });

  test('the stated uncertainty covers nine rows in ten, and half of them are within 5 %', () => {
    const stated = rows.map((row) => estimate(workloadOf(row.input)).uncertainty.relative);
    const covered = scored.filter(({ error }, index) => error <= (stated[index] ?? 0));
    expect(covered.length / scored.length).toBeGreaterThanOrEqual(0.9);
    expect(quantile(stated, 0.5)).toBeLessThanOrEqual(0.05);
  });

  test('it is wider where nothing was measured', () => {
    const traced = estimate(
      workloadOf({ model: "smp.Unet('resnet50', classes=19)", imageHeight: 512, imageWidth: 512, batchSize: 8 }),
    );
    const published = estimate(workloadOf({ model: 'Mask R-CNN R50-FPN', implementation: 'detectron2' }));
    const measured = estimate(workloadOf({ model: 'pspnet_r50-d8_4xb2-40k_cityscapes-512x1024' }));
    expect(traced.uncertainty.relative).toBeGreaterThan(measured.uncertainty.relative);
    expect(published.uncertainty.relative).toBeGreaterThan(traced.uncertainty.relative);
  });
});
