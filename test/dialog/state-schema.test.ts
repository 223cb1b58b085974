import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { takeTurn } from '../../src/dialog/policy.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import { parseDialogState, slotNames } from '../../src/dialog/state-schema.ts';
import type { Intent, Slots } from '../../src/understanding/understanding.ts';
import { heard } from './heard.ts';

test('a state survives being stored as JSON', () => {
  const slots = {
    model: 'unet',
    gpu: [{ name: 'A10' }, { memoryGiB: 24 }],
    budget: { amount: 1.5, currency: 'USD' },
    outputStride: 16,
    precision: 'amp',
  } as const;
  const { state } = takeTurn(initialState('zh'), heard({ slots }));
  expect(parseDialogState(JSON.parse(JSON.stringify(state)))).toEqual(state);
});

const text = fc.string();
const amount = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const optional = { requiredKeys: [] };
const gpu = fc.record({ name: text, memoryGiB: amount, instance: text, family: text, count: amount }, optional);
const budget = fc.record(
  {
    amount,
    currency: fc.constantFrom('CNY', 'USD'),
    period: fc.constantFrom('hour', 'day', 'month', 'total'),
  },
  { requiredKeys: ['amount', 'currency'] },
);

const slots: fc.Arbitrary<Slots> = fc.record(
  {
    model: text,
    batchSize: amount,
    batchScope: fc.constantFrom('per_gpu', 'total'),
    gpu: fc.oneof(gpu, fc.array(gpu)),
    owned: fc.boolean(),
    avoid: fc.array(text),
    budget,
    precision: fc.constantFrom('fp32', 'fp16', 'bf16', 'amp'),
    optimizer: fc.constantFrom('sgd', 'adam', 'adamw'),
    chargeType: fc.constantFrom('PostPaid', 'Spot', 'PrePaid'),
    outputStride: fc.constantFrom(8, 16, 32),
    loss: fc.constantFrom('cross-entropy', 'dice', 'bce', 'cross-entropy+dice', 'dice+bce'),
    norm: fc.constantFrom('batch', 'frozen'),
    attention: fc.constantFrom('eager', 'sdpa'),
  },
  optional,
);

const intents = [
  'size',
  'fits',
  'max_batch',
  'max_size',
  'compare',
  'price',
  'oom_report',
  'what_if',
  'translate',
  'measurement',
  'undo',
  'help',
  'reset',
  'greeting',
  'unknown',
] as const satisfies readonly Intent[];

const failure = fc.record(
  {
    kind: fc.constantFrom(
      'cuda_oom',
      'paddle_oom',
      'tensorflow_oom',
      'cudnn_error',
      'nvidia_smi',
      'training_log',
      'host_oom',
      'config',
      'code',
    ),
    diagnosis: fc.constantFrom(
      null,
      'too_big',
      'fragmentation',
      'other_process',
      'single_allocation',
      'first_iteration',
      'validation',
      'host_memory',
      'leak',
    ),
    gpuIndex: amount,
    triedGiB: amount,
    reservedUnallocatedGiB: amount,
  },
  { requiredKeys: ['kind', 'diagnosis'] },
);

const step = fc.record(
  { slots, intent: fc.constantFrom(null, ...intents), compared: fc.array(text) },
  { requiredKeys: ['slots', 'intent'] },
);

const state: fc.Arbitrary<DialogState> = fc.record(
  {
    schema: fc.constant(1),
    locale: fc.constantFrom('zh', 'en'),
    slots,
    asked: fc.constantFrom(null, ...slotNames),
    attempts: fc.nat(),
    waived: fc.subarray([...slotNames]),
    intent: fc.constantFrom(null, ...intents),
    answered: fc.boolean(),
    history: fc.array(step, { maxLength: 3 }),
    estimateCode: fc.option(text),
    failure,
    choice: fc.record({
      slot: fc.constantFrom(...slotNames),
      typed: text,
      candidates: fc.array(fc.record({ label: text, say: text })),
    }),
    compared: fc.array(text),
  },
  {
    requiredKeys: [
      'schema',
      'locale',
      'slots',
      'asked',
      'attempts',
      'waived',
      'intent',
      'answered',
      'history',
      'estimateCode',
    ],
  },
);

test('whatever the contract allows survives being stored', () => {
  const survives = (one: DialogState): void => {
    expect(parseDialogState(JSON.parse(JSON.stringify(one)))).toEqual(one);
  };
  fc.assert(fc.property(state, survives), { numRuns: 500 });
});

test('a history of slots alone, as older states hold it, is read', () => {
  const older = { ...initialState('en'), history: [{ batchSize: 8 }, {}] };
  expect(parseDialogState(older)?.history).toEqual([
    { slots: { batchSize: 8 }, intent: null },
    { slots: {}, intent: null },
  ]);
});

test('a slot of a wrong kind makes the state worthless', () => {
  for (const name of slotNames) {
    expect(parseDialogState({ ...initialState('en'), slots: { [name]: null } })).toBeUndefined();
  }
});

test('networks that wait to be compared survive it too', () => {
  const asked = heard({
    intent: 'compare',
    intents: ['compare'],
    compare: ['unet', 'segformer b2'],
    slots: { model: 'unet' },
  });
  const { state } = takeTurn(initialState('zh'), asked);
  expect(state.compared).toEqual(['unet', 'segformer b2']);
  expect(parseDialogState(JSON.parse(JSON.stringify(state)))).toEqual(state);
});

test('a state of another version, and anything else, is no state', () => {
  expect(parseDialogState({ ...initialState('zh'), schema: 2 })).toBeUndefined();
  expect(parseDialogState({ ...initialState('zh'), slots: { batchSize: '8' } })).toBeUndefined();
  expect(parseDialogState(undefined)).toBeUndefined();
  expect(parseDialogState('')).toBeUndefined();
});

test('slot names are those of the schema', () => {
  expect(slotNames).toContain('batchSize');
  expect(slotNames).toContain('hoursPerMonth');
});
