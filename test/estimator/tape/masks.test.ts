import { describe, expect, test } from 'vitest';

import { unary } from '../../../src/estimator/tape/ops-core.ts';
import { diceLoss } from '../../../src/estimator/tape/ops-dice.ts';
import { indexed } from '../../../src/estimator/tape/ops-index.ts';
import { accuracy, nllLoss } from '../../../src/estimator/tape/ops-loss.ts';
import {
  classWeights,
  deformableSampling,
  derived,
  dividedBy,
  focalLossKernel,
  maskedFill,
  maskedProduct,
} from '../../../src/estimator/tape/ops-masks.ts';
import { addIntoView, maxOverLast } from '../../../src/estimator/tape/ops-reduce.ts';
import { permute } from '../../../src/estimator/tape/ops-shape.ts';
import { activation, KIB, measure, newTape } from './harness.ts';

describe('data beside the graph', () => {
  test('has no node, lives from its operation on, and keeps what it reads alive until then', () => {
    const t = newTape();
    const x = activation(t, [4, 256]);
    const points = derived(t, 'sort', [x], { shape: [4, 256], dtype: 'long' });
    expect(points.node).toBeNull();
    expect(points.storage).toMatchObject({ bytes: 8 * KIB, birth: t.now });
    expect(x.storage.death).toBe(t.now);
  });

  test('class weights are widened where the logits are 16 bit', () => {
    const t = newTape();
    expect(classWeights(t, 10, 'float').dtype).toBe('float');
    expect(t.operationNames).toEqual(['new_tensor']);
    expect(classWeights(t, 10, 'half').dtype).toBe('float');
    expect(t.operationNames).toEqual(['new_tensor', 'new_tensor', 'to']);
  });
});

describe('masked operations', () => {
  test('scores with an additive mask keep both factors, not the mask', () => {
    const t = newTape();
    const q = activation(t, [8, 64, 32]);
    const k = activation(t, [8, 32, 64]);
    const mask = derived(t, 'mask', [], { shape: [8, 64, 64], dtype: 'float' });
    const measured = measure(t, q, () => maskedProduct(t, mask, q, k));
    expect(measured).toMatchObject({ saved: [64 * KIB, 'input'], output: 128 * KIB, backward: 128 * KIB });
    expect(t.works.totalMacs).toBe(8 * 64 * 64 * 32);
    expect(t.works.products.at(-1)).toBe(2);
  });

  test('and only what a trained side needs', () => {
    const t = newTape();
    const q = activation(t, [8, 64, 32]);
    const fixed = t.input([8, 32, 64]);
    expect(measure(t, q, () => maskedProduct(t, t.input([8, 64, 64]), q, fixed)).saved).toEqual(['weight']);
  });

  test('masked fill and division keep their data', () => {
    const t = newTape();
    const x = activation(t, [4, 256]);
    const mask = derived(t, 'mask', [], { shape: [4, 256], dtype: 'byte' });
    expect(measure(t, x, () => maskedFill(t, x, mask))).toMatchObject({ saved: [KIB], backward: 4 * KIB });
    const count = derived(t, 'count', [], { shape: [4, 1], dtype: 'float' });
    expect(measure(t, x, () => dividedBy(t, x, count))).toMatchObject({ saved: [512], backward: 4 * KIB });
  });

  test('indexing keeps its indices', () => {
    const t = newTape();
    const x = activation(t, [4, 256]);
    const indices = derived(t, 'indices', [], { shape: [128], dtype: 'long' });
    expect(measure(t, x, () => indexed(t, x, [128], indices))).toMatchObject({ saved: [KIB], output: 512 });
    expect(indices.storage.death).toBe(t.now);
  });

  test('the focal loss keeps logits and labels', () => {
    const t = newTape({ autocast: 'fp16' });
    const x = activation(t, [64, 64], 'half');
    const measured = measure(t, x, () => focalLossKernel(t, x, t.target([64], 'long')));
    expect(measured).toMatchObject({ saved: [16 * KIB, 'weight'], dtype: 'float', output: 16 * KIB });
  });
});

describe('deformable sampling', () => {
  const run = (autocast: 'fp16' | null) => {
    const t = newTape({ autocast });
    const value = activation(t, [2, 100, 8, 32], autocast === null ? 'float' : 'half');
    const locations = activation(t, [2, 64, 8, 3, 4, 2]);
    const weights = activation(t, [2, 64, 8, 3, 4]);
    const geometry = [t.input([3, 2], 'long')];
    return measure(t, value, () => deformableSampling(t, { value, locations, weights, geometry }));
  };
  const places = 2 * 64 * 8 * 3 * 4 * 2 * 4;

  test('keeps its five inputs and makes three gradients', () => {
    expect(run(null)).toMatchObject({
      saved: [places / 2, places, 'input', 'weight'],
      shape: [2, 64, 256],
      backward: 4 * 2 * 100 * 256 + places * 1.5,
    });
  });

  test('in 16 bit places and weights are narrowed inside, their gradients widened one by one', () => {
    const value = 2 * 2 * 100 * 256;
    expect(run('fp16')).toMatchObject({
      saved: [places / 4, places / 2, 'input', 'weight'],
      // All three narrow ones; the wide one of the weights meets that of the places, whose narrow one is gone.
      backward: value + 0.75 * places + places,
    });
  });
});

describe('views that are written to', () => {
  test('an addition into a rearranged view relays the gradient and copies it', () => {
    const t = newTape();
    const x = permute(t, activation(t, [2, 64, 128]), [0, 2, 1]);
    const size = 64 * KIB;
    const plain = measure(t, x, () => addIntoView(t, x, t.input([2, 128, 64])));
    expect(plain).toMatchObject({ saved: [], forward: 0 });
    // Relaid, onward and cloned; the incoming one is held by the engine.
    expect(plain.backward).toBe(3 * size);
  });
});

describe('pixels', () => {
  /** 2×4×16×16 logits: 512 pixels. */
  const LOGITS = [2, 4, 16, 16];

  test('the accuracy of MMSegmentation: 12 + 1 + 1 + 1 + 4, later a copy of the labels (physics.md §7 F6)', () => {
    const t = newTape();
    const logits = activation(t, LOGITS);
    const target = t.target([2, 16, 16], 'long');
    const total = accuracy(t, logits, target);
    const block = (bytes: number): number => Math.ceil(bytes / 512) * 512;
    const made = t.storages.slice(1).map(({ bytes }) => bytes);
    expect(made).toEqual([4 * 512, 8 * 512, 512, 512, 512, 4 * 512, 4, 4, 512, 8 * 512].map((bytes) => block(bytes)));
    expect(total.storage.death).toBe(t.now);
    expect(logits.storage.death).toBe(t.now);
    const half = newTape();
    accuracy(half, activation(half, LOGITS, 'half'), half.target([2, 16, 16], 'long'));
    expect(half.storages[1]?.bytes).toBe(2 * 512);
  });

  test('log-probabilities of rows and of maps', () => {
    const t = newTape();
    const x = activation(t, [100, 8]);
    expect(nllLoss(t, x, t.target([100], 'long'), { reduced: false }).shape).toEqual([100]);
    expect(nllLoss(t, x, t.target([100], 'long'), { reduced: true }).shape).toEqual([]);
  });

  test('a maximum has one column left', () => {
    const t = newTape();
    expect(maxOverLast(t, activation(t, [8, 100])).shape).toEqual([8, 1]);
  });
});

/** 2×19×64×64 logits: 608 KiB in fp32. */
describe('the Dice loss of segmentation_models_pytorch', () => {
  const LOGITS = [2, 19, 64, 64];
  const MAP = 608 * KIB;
  const large = (saved: readonly (string | number)[]): (string | number)[] =>
    saved.filter((one) => typeof one === 'string' || one >= MAP / 2);

  test('of several classes keeps three maps: log-probabilities, probabilities, differences', () => {
    const t = newTape();
    const x = activation(t, LOGITS);
    const { saved, forward } = measure(t, x, () => diceLoss(t, x, t.target([2, 64, 64], 'long')));
    expect(large(saved)).toEqual([MAP, MAP, MAP]);
    // Probabilities, log-probabilities, a float one-hot and differences; the int64 one-hot is gone by then.
    expect(forward).toBeGreaterThanOrEqual(4 * MAP);
    expect(t.storages.map(({ bytes }) => bytes)).toContain(2 * MAP);
  });

  test('of one class works on sigmoids and a float target', () => {
    const t = newTape();
    const x = activation(t, [2, 1, 64, 64]);
    const { saved } = measure(t, x, () => diceLoss(t, x, t.target([2, 1, 64, 64], 'float')));
    expect(saved.filter((one) => one === 32 * KIB)).toHaveLength(2);
    expect(saved).toContain('input');
    expect(t.operationNames).toContain('log_sigmoid');
  });

  test('the norm makes the signs first', () => {
    const t = newTape();
    const x = activation(t, LOGITS);
    expect(measure(t, x, () => diceLoss(t, x, t.target([2, 64, 64], 'long'))).backward).toBeGreaterThanOrEqual(MAP);
  });
});

test('an operation that keeps nothing saves nothing', () => {
  const t = newTape();
  const x = activation(t, [4, 256]);
  expect(measure(t, x, () => unary(t, x, 'floor', { keeps: 'nothing' })).saved).toEqual([]);
});
