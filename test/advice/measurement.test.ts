import { describe, expect, test } from 'vitest';
import { compareMeasured, type MeasurementRecord, summariseMeasurements } from '../../src/advice/measurement.ts';
import { toyEstimate, toyWorkload } from './toy-estimator.ts';

const estimate = toyEstimate(toyWorkload);
const GIB = 2 ** 30;
const figures = { estimate, secondsPerIteration: [0.4, 0.6] as const };
const device = estimate.bytes.device / GIB;
const allocated = estimate.bytes.allocatedPeak / GIB;

describe('a measurement beside the estimate', () => {
  test('nvidia-smi: what the allocator caches belongs to the estimate', () => {
    const [near] = compareMeasured({ deviceGiB: device * 1.03 }, figures);
    expect(near).toMatchObject({ kind: 'device', verdict: 'as-estimated', reasons: [] });
    expect(near?.ratio).toBeCloseTo(1.03, 6);
  });

  test('much higher: the likely reasons, most likely first', () => {
    const [high] = compareMeasured({ deviceGiB: device * 1.8 }, figures);
    expect(high).toMatchObject({
      verdict: 'higher',
      reasons: ['varying-sizes', 'first-iterations', 'cached-memory', 'other-process'],
    });
    const old = toyEstimate({ ...toyWorkload, torch: 1.08 });
    const [withOldTorch] = compareMeasured({ deviceGiB: device * 1.8 }, { ...figures, estimate: old });
    expect(withOldTorch?.reasons).toContain('context-of-old-torch');
  });

  test('varying sizes may show up to 1.7 ×', () => {
    const varying = toyEstimate({ ...toyWorkload, multiScale: [0.5, 2] });
    expect(compareMeasured({ deviceGiB: device * 1.5 }, { ...figures, estimate: varying })[0]?.verdict).toBe(
      'as-estimated',
    );
    expect(compareMeasured({ deviceGiB: device * 2.5 }, { ...figures, estimate: varying })[0]?.verdict).toBe('higher');
  });

  test('the framework’s own peak is compared more narrowly', () => {
    expect(compareMeasured({ allocatedGiB: allocated * 1.02 }, figures)[0]?.verdict).toBe('as-estimated');
    expect(compareMeasured({ allocatedGiB: allocated * 1.1 }, figures)[0]).toMatchObject({ verdict: 'higher' });
    expect(compareMeasured({ allocatedGiB: allocated * 0.5 }, figures)[0]?.reasons).toContain('smaller-input');
  });

  test('seconds per iteration against the range', () => {
    expect(compareMeasured({ secondsPerIteration: 0.5 }, figures)[0]).toMatchObject({
      kind: 'time',
      verdict: 'as-estimated',
    });
    expect(compareMeasured({ secondsPerIteration: 1.2 }, figures)[0]).toMatchObject({
      verdict: 'higher',
      reasons: ['data-loading'],
    });
    expect(compareMeasured({ secondsPerIteration: 0.1 }, figures)[0]?.reasons).toEqual(['faster-kernels']);
    expect(compareMeasured({ secondsPerIteration: 0.1 }, { ...figures, secondsPerIteration: null })).toEqual([]);
  });

  test('several figures at once, none at all', () => {
    const kinds = compareMeasured({ deviceGiB: 1, allocatedGiB: 1, secondsPerIteration: 1 }, figures).map(
      (one) => one.kind,
    );
    expect(kinds).toEqual(['allocated', 'device', 'time']);
    expect(compareMeasured({}, figures)).toEqual([]);
  });
});

describe('the range of an estimate', () => {
  const { uncertainty } = estimate;

  test('the allocated peak: its own uncertainty to both sides, both ends within', () => {
    const spread = allocated * uncertainty.relative;
    const at = (allocatedGiB: number) => compareMeasured({ allocatedGiB }, figures)[0];
    const { low = 0, high = 0, estimated } = at(allocated) ?? {};
    expect([low, estimated, high]).toEqual([allocated - spread, allocated, allocated + spread]);
    expect([low, high].map((end) => at(end)?.verdict)).toEqual(['as-estimated', 'as-estimated']);
    expect([at(low * 0.999)?.verdict, at(high * 1.001)?.verdict]).toEqual(['lower', 'higher']);
  });

  test.each([
    ['fixed', null, 0.14],
    ['varying', [0.5, 2] as const, 0.7],
  ])('the device with %s sizes: from nothing cached to what the allocator may cache', (_, multiScale, cache) => {
    const made = toyEstimate({ ...toyWorkload, multiScale });
    const outside = (made.bytes.device - made.bytes.reserved) / GIB;
    const peak = made.bytes.allocatedPeak / GIB;
    const spread = peak * made.uncertainty.relative + 0.2;
    const [found] = compareMeasured({ deviceGiB: 1 }, { ...figures, estimate: made });
    expect(found?.low).toBeCloseTo(peak + outside - spread, 9);
    const most = Math.max(made.bytes.device / GIB, peak + outside + peak * cache);
    expect(found?.high).toBeCloseTo(most + spread, 9);
  });
});

describe('likely reasons', () => {
  const reasons = (measured: Parameters<typeof compareMeasured>[0], changed: Partial<typeof estimate> = {}) =>
    compareMeasured(measured, { ...figures, estimate: { ...estimate, ...changed } })[0]?.reasons;
  const workload = (changed: Partial<typeof toyWorkload>) => ({ workload: { ...toyWorkload, ...changed } });

  test('a higher peak', () => {
    const higher = { allocatedGiB: allocated * 9 };
    expect(reasons(higher)).toEqual(['output-kept', 'validation-included', 'other-library-version']);
    expect(reasons(higher, workload({ outputHeld: true }))).toEqual(['validation-included', 'other-library-version']);
  });

  test('a higher use of the device', () => {
    const higher = { deviceGiB: device * 9 };
    expect(reasons(higher, workload({ multiScale: [0.5, 2] }))).toEqual([
      'first-iterations',
      'cached-memory',
      'other-process',
    ]);
    const validating = { bytes: { ...estimate.bytes, validationPeak: estimate.bytes.allocatedPeak + 1 } };
    expect(reasons(higher, validating)?.[0]).toBe('validation-included');
    const even = { bytes: { ...estimate.bytes, validationPeak: estimate.bytes.allocatedPeak } };
    expect(reasons(higher, even)?.[0]).toBe('varying-sizes');
    expect(reasons(higher, workload({ torch: 2 }))).not.toContain('context-of-old-torch');
  });

  test('less than estimated, and a time as estimated', () => {
    expect(reasons({ deviceGiB: 0.1 })).toEqual(['smaller-input', 'other-library-version']);
    expect(reasons({ allocatedGiB: 0.1 })).toEqual(['smaller-input', 'other-library-version']);
    expect(reasons({ secondsPerIteration: 0.5 })).toEqual([]);
  });
});

describe('the report', () => {
  const record = (kind: MeasurementRecord['kind'], ratio: number, backbone: string): MeasurementRecord => ({
    workload: { ...toyWorkload, model: { ...toyWorkload.model, backbone } },
    gpu: 'A10',
    kind,
    measured: 10 * ratio,
    estimated: 10,
    at: 0,
  });

  test('by kind and model, the farthest from the estimate first', () => {
    const rows = [
      record('device', 1.1, 'resnet50'),
      record('device', 1.3, 'resnet50'),
      record('device', 1.0, 'resnet50'),
      record('device', 0.5, 'resnet101'),
      record('time', 1, 'resnet50'),
    ];
    const summary = summariseMeasurements(rows);
    expect(summary.map((one) => [one.kind, one.model, one.count, one.medianRatio, one.worstRatio])).toEqual([
      ['device', 'mmseg/deeplabv3plus/resnet101', 1, 0.5, 0.5],
      ['device', 'mmseg/deeplabv3plus/resnet50', 3, 1.1, 1.3],
      ['time', 'mmseg/deeplabv3plus/resnet50', 1, 1, 1],
    ]);
    expect(summariseMeasurements([])).toEqual([]);
  });
});
