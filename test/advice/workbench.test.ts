import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { ask, ports } from './ask.ts';
import { toyEstimate } from './toy-estimator.ts';

const small = { batchSize: 4, imageHeight: 512, imageWidth: 512 };
const BUDGETS = [
  { budget: null },
  { budget: { amount: 12, currency: 'CNY', period: 'hour' } },
  { budget: { amount: 2, currency: 'USD', period: 'hour' }, chargeType: 'Spot' },
  { budget: { amount: 9000, currency: 'CNY', period: 'month' }, run: { dataset: 'cityscapes' } },
  { own: { memoryGiB: 8 } },
  { own: { name: '3090', count: 2 } },
] as const;

describe('recommendations of one workload share what knows no price', () => {
  test('the answer is the same whether others were asked before or not', () => {
    const questions = ports.prices
      .regions()
      .flatMap((region) =>
        [null, 8].flatMap((freeTotalBatch) =>
          BUDGETS.map((one) => ({ ...one, region, freeTotalBatch, workload: small })),
        ),
      );
    const shared = questions.map((question) => ask(question, { estimate: toyEstimate }));
    const alone = questions.map((question) => ask(question));
    expect(shared).toEqual(alone);
  });

  test('a second region asks the estimator nothing', () => {
    const asked: Workload[] = [];
    const estimate = (workload: Workload) => {
      asked.push(workload);
      return toyEstimate(workload);
    };
    ask({ workload: small, region: 'cn-hangzhou' }, { estimate });
    const before = asked.length;
    ask({ workload: small, region: 'cn-wulanchabu' }, { estimate });
    expect(asked.length).toBe(before);
  });

  test('tips and the largest batch ask the estimator when they are read, once', () => {
    const asked: Workload[] = [];
    const estimate = (workload: Workload) => {
      asked.push(workload);
      return toyEstimate(workload);
    };
    const answer = ask({ workload: small, own: { name: 'A10' } }, { estimate });
    const isTip = (workload: Workload) => workload.frozenBackbone;
    const isLarger = (workload: Workload) => workload.batchSize > small.batchSize;
    expect(asked.some(isTip) || asked.some(isLarger)).toBe(false);
    const { tips, maxBatch } = answer;
    expect(tips.map(({ id }) => id)).toContain('frozen-backbone');
    expect(maxBatch?.batchPerGpu).toBeGreaterThan(small.batchSize);
    expect(asked.some(isTip) && asked.some(isLarger)).toBe(true);
    const before = asked.length;
    expect([answer.tips, answer.maxBatch]).toEqual([tips, maxBatch]);
    expect(asked.length).toBe(before);
  });

  test('a workload that the library cannot train is refused each time', () => {
    const model = { implementation: 'mmseg', architecture: 'forbidden', backbone: null, options: {} } as const;
    for (const _ of [1, 2]) expect(() => ask({ workload: { model } })).toThrowError(AppError);
  });
});
