import fc from 'fast-check';
import { expect, test } from 'vitest';
import { estimate } from '../../src/estimator/estimate.ts';
import { secondsPerIteration } from '../../src/estimator/timing.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { ask } from './ask.ts';
import { toyWorkload } from './toy-estimator.ts';

const withBackbone = (workload: Workload, architecture: string, backbone: string): Workload => ({
  ...workload,
  model: { ...workload.model, architecture, backbone },
});

test('a ResNeSt needs at least as much as the ResNets up to its depth', () => {
  const needs = (workload: Workload) => estimate(workload).bytes.allocatedPeak;
  const runs = fc.record({
    architecture: fc.constantFrom('fcn', 'pspnet', 'deeplabv3', 'deeplabv3plus'),
    resnet: fc.constantFrom('resnet18', 'resnet50', 'resnet101'),
    imageHeight: fc.constantFrom(256, 512, 768),
    batchSize: fc.integer({ min: 2, max: 16 }),
    precision: fc.constantFrom('fp32', 'fp16'),
    gradientCheckpointing: fc.boolean(),
    frozenBackbone: fc.boolean(),
  });
  const check = fc.property(runs, ({ architecture, resnet, ...changed }) => {
    const workload = { ...toyWorkload, ...changed };
    expect(needs(withBackbone(workload, architecture, 'resnest101'))).toBeGreaterThanOrEqual(
      needs(withBackbone(workload, architecture, resnet)),
    );
  });
  fc.assert(check, { numRuns: 60 });
});

test('no backbone is tried that is larger by its name', () => {
  const tried = new Set<string | null>();
  const counted = (workload: Workload) => {
    tried.add(workload.model.backbone);
    return estimate(workload);
  };
  const { tips } = ask({ workload: { batchSize: 2 } }, { estimate: counted, secondsPerIteration });
  expect(tips.find(({ id }) => id === 'lighter-variant')?.say).toBe('resnet18');
  expect([...tried].sort()).toEqual(['resnet18', 'resnet50']);
});
