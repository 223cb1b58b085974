import { describe, expect, test } from 'vitest';
import { normalize } from '../../src/understanding/normalize.ts';
import { startReading } from '../../src/understanding/reading.ts';
import { readBatch } from '../../src/understanding/slots/batch.ts';

const read = (text: string) => readBatch(startReading(normalize(text)));
const perGpu = (batchSize: number) => ({ batchSize, batchScope: 'per_gpu' });
const total = (batchSize: number) => ({ batchSize, batchScope: 'total' });

describe('the smallest and largest batch', () => {
  test.each([
    ['bs 0', { batchSize: 0 }],
    ['bs -1', { batchSize: -1 }],
    ['bs -1.5', {}],
    ['bs 65536', { batchSize: 65_536 }],
    // impossible numbers are kept: the answer says what is possible
    ['bs 65537', { batchSize: 65_537 }],
    ['bs 100000', { batchSize: 100_000 }],
    ['bs 1e999', { batchSize: 1e15 }],
    ['128 bs', { batchSize: 128 }],
  ])('%s', (text, want) => expect(read(text)).toEqual(want));
});

describe('whose images are counted', () => {
  test.each([
    '每卡 8',
    '每张卡放 8 张图',
    '单卡跑8张',
    '每张 8 张图',
    'bs 8 per gpu',
    'bs 8 each',
    'bs=8 on each gpu',
    'set 8 on each',
    'per_gpu_batch_size: 8',
    'per_device_train_batch_size=8',
    'train_micro_batch_size_per_gpu 8',
    'samples_per_gpu=8',
    'imgs_per_gpu: 8',
  ])('one card’s: %s', (text) => expect(read(text)).toEqual(perGpu(8)));

  test.each([
    '总batch 16',
    'global batch size 16',
    'batch total 16',
    'batch size (total) 16',
    'bs 16 total',
    'bs 16 in total',
    'batch 16 over 4 gpus',
    'total 16 on those 2',
    '总共 16 张',
    '共 16 张图',
    '16 images total',
    'ims_per_batch 16',
    'effective_batch_size=16',
  ])('all cards’: %s', (text) => expect(read(text)).toEqual(total(16)));

  test.each([
    'bs 8',
    'bs=8',
    'b=8',
    '-b 8',
    '--batch-size 8',
    'minibatch 8',
    '批次大小为 8',
    '8 images per batch',
    '8 imgs at a time',
    'use 8 at a time',
    '1个 batch 8 张',
    '8 张一个 batch',
    '8 的 bs',
    '8 batch',
    'bs 8, 每卡',
  ])('not said: %s', (text) => expect(read(text)).toEqual({ batchSize: 8 }));
});

describe('cards times images', () => {
  test.each(['8 gpus x 2', '8卡x2', '8 GPU × 每卡2', '8 卡每卡 2', '8卡，每卡2', 'bs 2x8 卡', '2 img/gpu x 8'])(
    '%s',
    (text) => expect(read(text)).toEqual({ ...perGpu(2), gpus: 8 }),
  );

  test('单卡 8 is one card', () => expect(read('单卡 8')).toEqual({ ...perGpu(8), gpus: 1 }));
});

describe('numbers that count something else', () => {
  test.each([
    '每卡8G',
    '8 gpus x 24 GB',
    '8卡x24元',
    '共 8 张卡',
    '一共 8 张显卡',
    '16 total epochs',
    '16 total budget',
    'eval batch size 16',
    'bs 8k',
    'bs 8x512',
    'bs 512x512',
    'bs 8%',
    'bs 8 gb',
    'bs 8.5',
    'batch 8 张卡',
    'batch 8 gpus',
  ])('%s', (text) => expect(read(text)).toEqual({}));

  test('the loader that validates has a batch of its own', () => {
    expect(read('val_dataloader batch_size=1 train_dataloader batch_size=4')).toEqual({ batchSize: 4 });
    expect(read('train_dataloader batch_size=4 test_dataloader batch_size=1')).toEqual({ batchSize: 4 });
    expect(read('val_dataloader batch_size=1')).toEqual({ batchSize: 1 });
  });

  test('what is left behind', () => {
    expect(read('batch 从 8 降到 4')).toEqual({ batchSize: 4 });
    expect(read('batch from 8 to 4')).toEqual({ batchSize: 4 });
  });
});
