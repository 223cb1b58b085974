import { describe, expect, test } from 'vitest';

import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import type { Locale } from '../../src/message.ts';
import { takeConversationTurn } from '../../src/turn/take-turn.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

function talk(locale: Locale, ...texts: readonly string[]) {
  let state: DialogState = initialState(locale);
  let reply = '';
  for (const text of texts) {
    const turn = takeConversationTurn(state, text, answerPorts);
    state = turn.state;
    reply = turn.reply.fallback;
  }
  return { reply, state };
}

const TENSOR =
  'ResourceExhaustedError: OOM when allocating tensor with shape[8,512,512,64] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc';
const created = (megabytes: number, name: string) =>
  `I tensorflow/core/common_runtime/gpu/gpu_device.cc:1613] Created device /job:localhost/replica:0/task:0/device:GPU:0 with ${megabytes} MB memory:  -> device: 0, name: ${name}, pci bus id: 0000:81:00.0, compute capability: 8.6`;

describe("TensorFlow's message", () => {
  test('tells the memory of a card of no table', () => {
    const { reply, state } = talk('en', `${created(7168, 'NVIDIA FX 9000')}\n${TENSOR}`, 'unet');
    expect(state.slots.gpu).toEqual({ memoryGiB: 7 });
    expect(reply).toMatch(/^It is truly too big for this card/);
    expect(reply).toContain('card has: 7.0 GiB');
  });

  test('tells the card, where a table has it', () => {
    const { state } = talk('zh', `${created(8600, 'NVIDIA GeForce RTX 3080')}\n${TENSOR}`);
    expect(state.slots.gpu).toEqual({ name: 'RTX 3080', memoryGiB: 8.4 });
  });

  test.each<[Locale, string, RegExp]>([
    [
      'en',
      'unet 512 batch 8 on an RTX 7777 (24GB)',
      /^By the estimate it should fit on this card\n.*13\.3 GiB of 22\.0/,
    ],
    ['zh', 'unet 512 batch 8，RTX 7777 24G', /^按估算这张卡是放得下的\n.*13\.3 GiB/],
  ])('%s: %s: is no proof that the run is too big', (locale, run, verdict) => {
    expect(talk(locale, `${run}\n${TENSOR}`).reply).toMatch(verdict);
  });

  test('on a card that is nearly full is on the edge', () => {
    expect(talk('en', `unet 512 batch 8 on a card with 16 GB\n${TENSOR}`).reply).toMatch(
      /^On the edge: .*13\.3 GiB of/,
    );
  });
});

describe("PyTorch's old messages", () => {
  const old =
    'CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 7.93 GiB total capacity; 6.50 GiB already allocated; 12.00 MiB free; 300.00 MiB cached)';

  test('name the cache beside the tensors: the rest is what neither holds', () => {
    expect(talk('en', old).reply).toMatch(/the rest \(CUDA context, other processes\): 1\.1 GiB/);
    expect(talk('zh', old).reply).toContain('1.1 GiB');
  });

  test.each([
    'THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCStorage.cu line=58 error=2 : out of memory',
    'RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/generic/THCStorage.cu:58',
  ])('without figures are known for what they are: %s', (text) => {
    const { reply, state } = talk('en', 'what card for unet at 512?', text);
    expect(reply).toMatch(/^Out of GPU memory, but the text does not say why/);
    expect(state.slots.batchSize).toBeUndefined();
  });
});
