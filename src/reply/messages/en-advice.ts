import type { FitNote } from '../../advice/recommendation.ts';
import type { Diagnosis } from '../../understanding/understanding.ts';

const table = {
  late: (hours: string) => `too slow: the run takes about ${hours}`,
  nothingIn: (region: string, offer: string, where: string) =>
    `no type that holds it has a price in ${region}; ${offer} is sold in ${where}: name one of these regions`,
} as const;

const notes: Readonly<Record<FitNote, string>> = {
  'host-memory-below-rule': 'Host memory is below 1.5 × the GPU memory: fewer workers, smaller prefetch.',
  'host-cpu-below-rule': 'Fewer than 8 vCPU per GPU: decoding and augmentation will bound the speed.',
  'subscription-unverified': 'The subscription price of this type is computed (480 × the hourly price), not checked.',
  'spot-price-unknown': 'No spot price known: judged at the pay-as-you-go price.',
  'observed-price': 'The price is a single observed quotation, not a row of the price list.',
  'old-gpu-wheels': 'Volta and Pascal cards need the CUDA 12.6 wheels of PyTorch: pin that index when installing.',
  'no-bf16': 'This card has no bf16: use fp16 with loss scaling.',
  'no-p2p': 'These cards talk over PCIe through the host (no P2P): expect less than linear scaling.',
  'misses-deadline': 'The run would take longer than you have.',
};

const diagnoses: Readonly<Record<Diagnosis, { readonly verdict: string; readonly next: readonly string[] }>> = {
  too_big: {
    verdict: 'It is truly too big for this card',
    next: ['smaller batch, AMP or gradient checkpointing, in that order', 'or a card with more memory'],
  },
  fragmentation: {
    verdict: 'Fragmentation: PyTorch holds memory in pieces that are too small',
    next: ['set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True', 'keep the input size fixed, or pad to a few sizes'],
  },
  other_process: {
    verdict: 'Another process sits on the card',
    next: [
      'look at nvidia-smi and end what is left over (a crashed run, a notebook, a desktop)',
      'or pick another card with CUDA_VISIBLE_DEVICES',
    ],
  },
  single_allocation: {
    verdict: 'One single allocation is absurdly large',
    next: [
      'validation on whole images, or unfused attention on a large one: use sliding windows or fused attention',
      'check that labels and logits have the size you think',
    ],
  },
  first_iteration: {
    verdict: 'It fails in the first steps only: cudnn.benchmark tries large workspaces there',
    next: ['set torch.backends.cudnn.benchmark = False', 'or leave 1–2 GiB of room'],
  },
  validation: {
    verdict: 'Validation is what fails: whole images with logits for every class',
    next: [
      'validate with sliding windows or at reduced size, batch 1, under torch.no_grad()',
      'move predictions to the CPU per image',
    ],
  },
  host_memory: {
    verdict: 'The machine ran out of host memory (RAM or /dev/shm), not the GPU',
    next: ['fewer workers, smaller prefetch_factor', 'in a container raise --shm-size', 'or an instance with more RAM'],
  },
  leak: {
    verdict: 'Memory grows over time: something keeps the graph alive',
    next: ['store loss.item() instead of loss', 'no list of outputs with gradients; detach() before keeping them'],
  },
};

export const enAdvice = {
  table,
  hostShort: (vcpu: number, memory: number) => `host only ${vcpu} vCPU, ${memory} GiB`,
  notes,
  oom: {
    diagnoses,
    unknown: 'Out of GPU memory, but the text does not say why',
    unknownNext: [
      'paste the whole message, it has the figures',
      'tell me model, image size and batch, and I compute what it needs',
    ],
    figures: {
      triedGiB: 'tried to allocate',
      totalGiB: 'card has',
      allocatedGiB: 'allocated by tensors',
      freeGiB: 'free',
      reservedGiB: 'reserved by PyTorch',
      cachedGiB: 'cached',
      processGiB: 'this process in all',
      reservedUnallocatedGiB: 'reserved but unallocated',
      otherGiB: 'the rest (CUDA context, other processes)',
      estimate: 'estimate: allocated',
      device: 'estimate: nvidia-smi',
      validation: 'estimate: validation',
    },
    fitsByEstimate: 'By the estimate it should fit on this card',
    ask: (question: string) =>
      `Paste the whole error message and I read the cause from it. To compute what it needs: ${question}`,
    withEstimate: (needed: string, total: string) => `This run needs ${needed}, the card has ${total}.`,
    fitsAlone: (needed: string, total: string) =>
      `The run itself needs ${needed} of ${total}: it fits when nothing else is in the way.`,
    disagrees: (pasted: string, estimated: string) =>
      `It needed ${pasted} when it failed, but what you describe should need ${estimated}: the real run is heavier`,
    causes: {
      larger: (pasted: string, batch: string, scale: string) =>
        `batch or image is larger than said: ${pasted} would be ${batch} images per GPU, or sides ${scale} times as long`,
      library: 'another library: the same name differs up to fivefold, the others stand among the assumptions',
      besides:
        'more in the same process: EMA or a second model, losses and outputs kept undetached, validation with gradients',
    },
    disagreeTitle: 'What could make the difference',
    disagreeNext: [
      'print torch.cuda.max_memory_allocated() after the first step and tell me, with the real batch and image size',
      'to get it running now: smaller batch, AMP, gradient checkpointing, in that order',
    ],
    onTheEdge: (needed: string, total: string) =>
      `On the edge: the estimate is ${needed} of ${total}, the smallest error is too much`,
    otherMachine: (take: string) => `On another machine: ${take}`,
    gpuLine: (index: number, name: string, used: string, total: string) =>
      `GPU ${index} ${name}: ${used} of ${total} MiB used`,
    nextTitle: 'What to do',
    smi: 'nvidia-smi as pasted',
    log: 'Read from the log',
  },
};

export type AdviceMessages = typeof enAdvice;
