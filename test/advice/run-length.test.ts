import { describe, expect, test } from 'vitest';
import { runLengthOf } from '../../src/advice/run/run-length.ts';
import { catalog } from './ask.ts';
import { toyWorkload } from './toy-estimator.ts';

const { model } = toyWorkload;
const length = (said: Parameters<typeof runLengthOf>[0], spec = model) => runLengthOf(said, catalog, spec);

describe('length of the run', () => {
  test('iterations as said, whatever the batch', () => {
    const run = length({ iterations: 40_000, epochs: 3, dataset: 'cityscapes' });
    expect(run?.basis).toBe('stated');
    expect([run?.iterations(8), run?.iterations(16)]).toEqual([40_000, 40_000]);
  });

  test('epochs of a known or a stated number of images', () => {
    expect(length({ epochs: 2, dataset: 'cityscapes' })?.iterations(8)).toBe(Math.ceil((2 * 2975) / 8));
    expect(length({ epochs: 10, trainImages: 1234, dataset: 'cityscapes' })?.iterations(16)).toBe(772);
    expect(length({ epochs: 10 })).toBeNull();
  });

  test('the usual run keeps the number of images seen', () => {
    const run = length({ dataset: 'ade20k' });
    expect(run).toMatchObject({ basis: 'usual', recipe: 'mmseg/cnn/ade20k/160k' });
    expect([run?.iterations(16), run?.iterations(32)]).toEqual([160_000, 80_000]);
  });

  test('of another library when the own one has no recipe', () => {
    const smp = { implementation: 'smp', architecture: 'deeplabv3plus', backbone: 'resnet50', options: {} } as const;
    expect(length({ dataset: 'cityscapes' }, smp)?.basis).toBe('usual');
  });

  test('nothing said, nothing known', () => {
    expect(length({})).toBeNull();
    expect(length({ dataset: 'mvtec-ad' })).toBeNull();
  });

  test('a recipe that does not say how long it trains tells no length', () => {
    const torchvision = { implementation: 'torchvision', architecture: 'deeplabv3', backbone: 'resnet50' } as const;
    const dataset = 'coco-voc-labels';
    const recipes = catalog.recipesFor({ library: 'torchvision', architecture: 'deeplabv3', dataset });
    const steps = recipes.map(({ iterations, iterationsDerived }) => iterations ?? iterationsDerived);
    expect(new Set(steps)).toEqual(new Set([null]));
    expect(length({ dataset }, { ...torchvision, options: {} })).toBeNull();
  });
});
