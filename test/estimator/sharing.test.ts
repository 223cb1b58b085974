import { describe, expect, test } from 'vitest';

import { estimate } from '../../src/estimator/estimate.ts';
import { LeastRecent } from '../../src/estimator/least-recent.ts';
import { replay } from '../../src/estimator/replay.ts';
import { trace } from '../../src/estimator/trace.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { workloadOf } from './truth.ts';

const MODELS = [
  "smp.Unet('resnet18', classes=2)",
  'segformer_mit-b0_8xb2-160k_ade20k-512x512',
  'fcn_r50-d8_4xb2-40k_cityscapes-512x1024',
];
const of = (model: string): Workload => workloadOf({ model, imageHeight: 128, imageWidth: 128, batchSize: 2 });

/** What may share a tape with the plain workload, and what may not. */
const CHANGES: readonly Partial<Workload>[] = [
  {},
  { gpus: 4 },
  { optimizer: 'adam', optimizerStep: 'for-loop' },
  { gradientAccumulation: 2 },
  { residentGradients: true },
  { expandableSegments: true },
  { convWorkspace: true },
  { validationHeight: 256, validationMode: 'slide' },
  { precision: 'fp16' },
  { precision: 'bf16' },
  { gradientCheckpointing: true },
  { multiScale: [0.5, 2] },
  { batchSize: 3 },
];

/** Of other networks, so that nothing of the workload before is kept. */
function forgetTapes(): void {
  for (let numClasses = 50; numClasses < 170; numClasses += 1) {
    estimate({ ...of("smp.Unet('resnet18', classes=2)"), imageHeight: 32, imageWidth: 32, numClasses });
  }
}

describe('workloads that share a tape', () => {
  test.each(MODELS)(
    'are estimated as if each were alone: %s',
    (model) => {
      const alone = CHANGES.map((change) => {
        forgetTapes();
        return JSON.stringify(estimate({ ...of(model), ...change }));
      });
      forgetTapes();
      const together = CHANGES.map((change) => JSON.stringify(estimate({ ...of(model), ...change })));
      const backwards = [...CHANGES].reverse().map((change) => JSON.stringify(estimate({ ...of(model), ...change })));
      expect(together).toEqual(alone);
      expect(backwards.reverse()).toEqual(alone);
    },
    120_000,
  );

  test.each(MODELS)('a tape may be replayed again, with other options: %s', (model) => {
    const options = [false, true].flatMap((residentGradients) =>
      [false, true].map((convWorkspace) => ({ fanInCopies: false, residentGradients, convWorkspace })),
    );
    const fresh = options.map((one) => {
      const { t, loss } = trace(of(model));
      return replay(t, loss, one);
    });
    const { t, loss } = trace(of(model));
    expect([...options, ...options].map((one) => replay(t, loss, one))).toEqual([...fresh, ...fresh]);
  });
});

test('the entry that was asked for longest ago goes first', () => {
  const known = new LeastRecent<string, number>(2);
  known.set('a', 1);
  known.set('b', 2);
  expect(known.get('a')).toBe(1);
  known.set('c', 3);
  expect([known.get('a'), known.get('b'), known.get('c')]).toEqual([1, undefined, 3]);
});
