import fc from 'fast-check';
import { test } from 'vitest';
import { answersAlike, question } from './choice-property.ts';

test('tiers and recommended choice equal an exhaustive search on 10,000 cases', () => {
  fc.assert(fc.property(question, answersAlike), { numRuns: 10_000 });
}, 3_600_000);
