import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';
import { recommend } from '../../src/advice/recommend.ts';
import { answersAlike, question } from './choice-property.ts';
import { toyEstimate, toySeconds } from './toy-estimator.ts';

/** A mutant needs few cases to be found. */
const numRuns = Number(process.env['PROPERTY_RUNS'] ?? 2_000);

test('tiers and recommended choice equal an exhaustive search', () => {
  fc.assert(fc.property(question, answersAlike), { numRuns });
});

test('no slice of a card, no bare metal and no retired family is ever proposed', () => {
  const catalog = loadCatalog();
  const ports = {
    catalog,
    prices: createPriceBook(catalog.prices),
    usdCny: 7.1,
    estimate: toyEstimate,
    secondsPerIteration: toySeconds,
  };
  const check = fc.property(question, ({ totalBatch, iterations: _, ...asked }) => {
    const request = { ...asked, freeTotalBatch: totalBatch, only: null, own: null, run: {}, assumeUsualRun: false };
    const answer = recommend({ ...request, deadlineHours: null }, ports);
    for (const fit of [
      ...answer.tiers,
      ...answer.bests,
      ...(answer.recommended === null ? [] : [answer.recommended]),
    ]) {
      if (fit.instanceType === null) continue;
      const row = catalog.instance(fit.instanceType);
      expect(row?.mode).toBe('passthrough');
      expect(row?.docStatus).toMatch(/^listed(?!; invitational)/);
      expect(row?.gpuCount).toBe(fit.gpus);
    }
  });
  fc.assert(check, { numRuns: Math.min(numRuns, 300) });
});
