import { describe, expect, test } from 'vitest';

import { estimate } from '../../src/estimator/estimate.ts';
import { FAMILIES } from './families.ts';
import { lawsOfMemory } from './laws.ts';

lawsOfMemory(60);

describe('what the figures say about each other', () => {
  test.each(FAMILIES.map((w) => [`${w.model.implementation} ${w.model.architecture}`, w] as const))(
    '%s',
    (_name, w) => {
      const { bytes, parameters, trainableParameters } = estimate(w);
      expect(bytes.base).toBe(bytes.parameters + bytes.buffers + bytes.input + bytes.target);
      expect(bytes.parameters).toBeGreaterThanOrEqual(4 * parameters);
      expect(trainableParameters).toBeLessThanOrEqual(parameters);
      expect(bytes.peakForward).toBeGreaterThanOrEqual(bytes.saved);
      expect(bytes.reserved).toBeGreaterThanOrEqual(bytes.allocatedPeak);
      expect(bytes.device).toBeGreaterThan(bytes.reserved);
      expect(bytes.validationPeak).toBeGreaterThan(bytes.parameters);
      for (const value of Object.values(JSON.parse(JSON.stringify(bytes)))) expect(Number.isInteger(value)).toBe(true);
    },
  );
});
