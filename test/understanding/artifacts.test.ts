import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { understand } from '../../src/understanding/understand.ts';
import type { Understanding, UnderstandingContext } from '../../src/understanding/understanding.ts';
import { testCatalog } from '../conversations/replay.ts';
import { readJsonl } from '../conversations/transcript.ts';

const FRESH: UnderstandingContext = { held: {}, asked: null, answered: false, lastIntent: null, locale: 'zh' };
const hear = (text: string): Understanding => understand(text, FRESH, testCatalog());

const pasted = z.object({ id: z.string(), text: z.string(), expect: z.record(z.string(), z.unknown()) });
const reported = readJsonl(new URL('../fixtures/cases/artifacts.jsonl', import.meta.url), pasted);
const own = readJsonl(new URL('../conversations/artifacts.jsonl', import.meta.url), pasted);

/** Notes for people, and figures that the output has no field for. */
const IGNORED = new Set([
  'note',
  'cardGuess',
  'pytorchEra',
  'framework',
  'style',
  'iters',
  'gpuCount',
  'tensorShape',
  'tensorGiB',
]);
const squash = (value: unknown): string =>
  String(value)
    .toLowerCase()
    .replace(/[\s_-]/g, '')
    .replace('plus', '+');

function agrees(got: unknown, want: unknown): boolean {
  if (typeof want === 'number')
    return typeof got === 'number' && Math.abs(got - want) <= Math.max(0.02 * Math.abs(want), 0.02);
  if (Array.isArray(want)) return Array.isArray(got) && want.every((one, index) => agrees(got[index], one));
  if (typeof want === 'object' && want !== null) {
    const fields: Readonly<Record<string, unknown>> = Object(got);
    return Object.entries(want).every(([name, value]) => agrees(fields[name], value));
  }
  return typeof want === 'string' ? squash(got) === squash(want) : got === want;
}

describe('pasted artifacts', () => {
  it.each(['constructor', 'valueof'])('a class called %s is no network of the table', (type) => {
    const { model, backbone } = hear(`model = dict(type='${type}', decode_head=dict(type='${type}'))`).slots;
    expect([typeof model, typeof backbone]).not.toContain('function');
  });

  it.each([...reported, ...own])('$id', ({ text, expect: wanted }) => {
    const heard = hear(text);
    const got: Readonly<Record<string, unknown>> = { ...heard.slots, ...heard.artifact, intent: heard.intent };
    const wrong = Object.entries(wanted)
      .filter(([name]) => !IGNORED.has(name))
      .filter(([name, want]) =>
        name === 'diagnosis' && Array.isArray(want) ? !want.includes(got[name]) : !agrees(got[name], want),
      )
      .map(([name, want]) => `${name}: ${JSON.stringify(got[name])} instead of ${JSON.stringify(want)}`);
    expect(wrong).toEqual([]);
  });
});

/** Figures of one message, each wording of PyTorch. */
const OLD = (tried: string, total: string, allocated: string, free: string, cached: string): string =>
  `RuntimeError: CUDA out of memory. Tried to allocate ${tried} (GPU 0; ${total} total capacity; ${allocated} already allocated; ${free} free; ${cached} cached)`;
const MIDDLE = (tried: string, total: string, allocated: string, free: string, reserved: string): string =>
  `RuntimeError: CUDA out of memory. Tried to allocate ${tried} (GPU 0; ${total} total capacity; ${allocated} already allocated; ${free} free; ${reserved} reserved in total by PyTorch)`;
const NEW = (tried: string, total: string, free: string, used: string, allocated: string, unused: string): string =>
  `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${tried}. GPU 1 has a total capacity of ${total} of which ${free} is free. Including non-PyTorch memory, this process has ${used} memory in use. Of the allocated memory ${allocated} is allocated by PyTorch, and ${unused} is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.`;

describe('diagnosis from the figures', () => {
  it.each([
    ['too_big', MIDDLE('512.00 MiB', '15.78 GiB', '14.01 GiB', '200.75 MiB', '14.60 GiB')],
    ['fragmentation', MIDDLE('512.00 MiB', '15.78 GiB', '9.01 GiB', '200.75 MiB', '14.60 GiB')],
    ['fragmentation', MIDDLE('100.00 MiB', '10.91 GiB', '8.69 GiB', '863.44 MiB', '8.98 GiB')],
    ['other_process', MIDDLE('512.00 MiB', '23.69 GiB', '9.01 GiB', '100.00 MiB', '9.40 GiB')],
    ['other_process', OLD('100.00 MiB', '8.00 GiB', '4.10 GiB', '60.00 MiB', '100.00 MiB')],
    // 0.7 GiB belong to somebody, but without them 0.1 GiB would still be missing.
    ['too_big', MIDDLE('2.00 GiB', '23.69 GiB', '20.13 GiB', '1.20 GiB', '21.00 GiB')],
    ['single_allocation', MIDDLE('7.71 GiB', '10.76 GiB', '3.00 GiB', '6.80 GiB', '3.10 GiB')],
    ['too_big', NEW('512.00 MiB', '23.69 GiB', '100.00 MiB', '23.58 GiB', '22.60 GiB', '300.00 MiB')],
    ['fragmentation', NEW('1.00 GiB', '23.69 GiB', '300.00 MiB', '23.38 GiB', '16.00 GiB', '6.80 GiB')],
    ['other_process', NEW('512.00 MiB', '23.69 GiB', '100.00 MiB', '11.00 GiB', '10.20 GiB', '300.00 MiB')],
    ['single_allocation', NEW('30.00 GiB', '79.20 GiB', '20.00 GiB', '59.10 GiB', '58.00 GiB', '300.00 MiB')],
  ])('%s', (diagnosis, text) => {
    const { artifact, intent } = hear(text);
    expect(artifact?.kind).toBe('cuda_oom');
    expect(artifact?.diagnosis).toBe(diagnosis);
    expect(intent).toBe('oom_report');
  });

  it.each([
    ['validation', `一到验证就爆\n${MIDDLE('2.00 GiB', '23.69 GiB', '20.00 GiB', '1.00 GiB', '21.00 GiB')}`],
    [
      'leak',
      `grows slowly every epoch, then\n${MIDDLE('20.00 MiB', '23.69 GiB', '22.00 GiB', '10.00 MiB', '22.90 GiB')}`,
    ],
    ['first_iteration', `第一个 iter 就这样\n${MIDDLE('2.00 GiB', '23.69 GiB', '20.00 GiB', '1.00 GiB', '21.00 GiB')}`],
  ])('words around the message decide: %s', (diagnosis, text) =>
    expect(hear(text).artifact?.diagnosis).toBe(diagnosis),
  );

  it('counts the other processes that torch lists', () => {
    const text =
      'CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 12.94 MiB is free. Process 11 has 9.20 GiB memory in use. Process 12 has 14.40 GiB memory in use. Of the allocated memory 13.50 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.';
    expect(hear(text).artifact).toMatchObject({ diagnosis: 'other_process', processGiB: 14.4 });
  });
});

describe('host memory is told apart from the card', () => {
  it.each([
    'RuntimeError: DataLoader worker (pid 3241) is killed by signal: Killed.',
    'ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).',
    'Out of memory: Killed process 4121 (python)',
    'numpy.core._exceptions._ArrayMemoryError: Unable to allocate 12.0 GiB for an array',
    'RuntimeError: [enforce fail at alloc_cpu.cpp:75] DefaultCPUAllocator: not enough memory: you tried to allocate 1073741824 bytes.',
    'epoch 3 ...\nKilled\n',
  ])('%s', (text) => {
    const { artifact, intent } = hear(text);
    expect(artifact).toMatchObject({ kind: 'host_oom', diagnosis: 'host_memory' });
    expect(intent).toBe('oom_report');
  });

  it('hears it in words', () => {
    expect(hear('系统内存爆了，num_workers 16').toldDiagnosis).toBe('host_memory');
    expect(hear('显存爆了').toldDiagnosis).toBeNull();
  });
});

describe('tables, logs and other errors', () => {
  it('reads nvidia-smi tables, single cells and CSV', () => {
    expect(hear('12756MiB / 16276MiB').artifact).toMatchObject({
      kind: 'nvidia_smi',
      gpus: [{ usedMiB: 12_756, totalMiB: 16_276 }],
    });
    expect(hear('1, Tesla V100-SXM2-32GB, 20110 MiB, 32510 MiB')).toMatchObject({
      artifact: { gpus: [{ index: 1, usedMiB: 20_110 }] },
      slots: { gpu: { name: 'V100' } },
      measured: { deviceGiB: 20_110 / 1024 },
    });
  });

  it('reads logs of mmengine, torchvision and detectron2', () => {
    expect(hear('Iter(train) [ 50/40000] lr: 1e-2 time: 0.7200 data_time: 0.01 memory: 11225 loss: 1.9')).toMatchObject(
      {
        artifact: { kind: 'training_log', allocatedGiB: 11_225 / 1024 },
        measured: { allocatedGiB: 11_225 / 1024, secondsPerIteration: 0.72 },
        intent: 'measurement',
      },
    );
    expect(
      hear('Epoch: [0] [10/100] eta: 0:01:00 lr: 0.01 loss: 2.0 time: 0.5 max mem: 4723').measured?.allocatedGiB,
    ).toBeCloseTo(4.61, 2);
    expect(hear('eta: 1:00:00 iter: 19 total_loss: 1.0 lr: 0.01 max_mem: 8300M').measured?.allocatedGiB).toBeCloseTo(
      8.11,
      2,
    );
  });

  it('reads what a person saw', () => {
    expect(hear('nvidia-smi 显示 13.2G').measured).toEqual({ deviceGiB: 13.2 });
    expect(hear('max_memory_allocated 说 11.5 GiB').measured).toEqual({ allocatedGiB: 11.5 });
    expect(hear('实测 0.53 s/it').measured).toEqual({ secondsPerIteration: 0.53 });
    expect(hear('2 it/s on my machine').measured).toEqual({ secondsPerIteration: 0.5 });
  });

  it.each([
    'Unable to find a valid cuDNN algorithm to run convolution',
    'cuDNN error: CUDNN_STATUS_NOT_INITIALIZED',
    'Failed to get convolution algorithm',
  ])('takes %s as a failure without figures', (text) =>
    expect(hear(text)).toMatchObject({ intent: 'oom_report', artifact: { kind: 'cudnn_error', diagnosis: null } }),
  );

  it('reads the tensor of TensorFlow, channels first or last', () => {
    expect(hear('OOM when allocating tensor with shape[4,512,1024,16] and type float').slots).toMatchObject({
      batchSize: 4,
      imageHeight: 512,
      imageWidth: 1024,
    });
    expect(hear('OOM when allocating tensor with shape[8,2048,17,17] and type float').slots).toEqual({ batchSize: 8 });
    expect(hear('OOM when allocating tensor with shape[4,32,512,512] and type half').artifact?.triedGiB).toBeCloseTo(
      0.0625,
      4,
    );
  });

  it('reads configurations of MMSegmentation', () => {
    const text =
      "model = dict(type='EncoderDecoder', backbone=dict(type='MixVisionTransformer', embed_dims=64, num_layers=[3, 4, 18, 3]), decode_head=dict(type='SegformerHead', num_classes=150))\ncrop_size = (512, 512)\ntrain_dataloader = dict(batch_size=2)\nval_dataloader = dict(batch_size=1)\noptim_wrapper = dict(type='AmpOptimWrapper', optimizer=dict(type='AdamW'))";
    expect(hear(text).slots).toMatchObject({
      model: 'segformer',
      backbone: 'mit-b3',
      imageHeight: 512,
      batchSize: 2,
      batchScope: 'per_gpu',
      numClasses: 150,
      precision: 'amp',
      optimizer: 'adamw',
    });
  });

  it('takes no figure of an error for a workload', () => {
    const { slots } = hear(MIDDLE('512.00 MiB', '15.78 GiB', '14.01 GiB', '200.75 MiB', '14.60 GiB'));
    expect(slots).toEqual({ gpu: { memoryGiB: 15.78 } });
  });
});
