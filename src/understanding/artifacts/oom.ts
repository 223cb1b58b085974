import { find, type Reading, take } from '../reading.ts';
import type { Artifact } from '../understanding.ts';
import { SIZE, toGiB } from './sizes.ts';

type Figures = Omit<Artifact, 'kind' | 'diagnosis' | 'gpus'>;
type FigureName = keyof Figures;

interface Rule {
  readonly name: FigureName;
  readonly pattern: RegExp;
}

/**
 * PyTorch's wordings: up to 1.4 "… cached", 1.5 to 2.0 "… reserved in total by PyTorch", since 2.1 "GPU n has a total
 * capacity of … of which … is free" (c10/cuda/CUDACachingAllocator.cpp of those releases).
 */
const TORCH: readonly Rule[] = [
  { name: 'triedGiB', pattern: new RegExp(`tried to allocate ${SIZE}`, 'g') },
  { name: 'totalGiB', pattern: new RegExp(`${SIZE} total capacity`, 'g') },
  { name: 'totalGiB', pattern: new RegExp(`total capac[a-z]{2,4} of ${SIZE}`, 'g') },
  { name: 'allocatedGiB', pattern: new RegExp(`${SIZE} already allocated`, 'g') },
  { name: 'allocatedGiB', pattern: new RegExp(`of the allocated memory,? ${SIZE} is allocated by pytorch`, 'g') },
  { name: 'freeGiB', pattern: new RegExp(`of which ${SIZE} is free`, 'g') },
  { name: 'freeGiB', pattern: new RegExp(`${SIZE} free(?![a-z])`, 'g') },
  { name: 'reservedUnallocatedGiB', pattern: new RegExp(`${SIZE} is reserved by pytorch but unallocated`, 'g') },
  { name: 'reservedGiB', pattern: new RegExp(`${SIZE} reserved in total`, 'g') },
  { name: 'cachedGiB', pattern: new RegExp(`${SIZE} cached`, 'g') },
  { name: 'processGiB', pattern: new RegExp(`this process has ${SIZE} memory in use`, 'g') },
  // Apple's chips
  { name: 'totalGiB', pattern: new RegExp(`max allowed: ${SIZE}`, 'g') },
  { name: 'allocatedGiB', pattern: new RegExp(`mps allocated: ${SIZE}`, 'g') },
];

const PADDLE: readonly Rule[] = [
  { name: 'triedGiB', pattern: new RegExp(`cannot allocate ${SIZE} memory on gpu`, 'g') },
  { name: 'allocatedGiB', pattern: new RegExp(`${SIZE} memory has been allocated`, 'g') },
  { name: 'freeGiB', pattern: new RegExp(`available memory is only ${SIZE}`, 'g') },
];

const TORCH_INDEX = /\(gpu (\d{1,3})[;)]|gpu (\d{1,3}) has a total capac/g;
const PROCESS = new RegExp(`process (\\d{1,9}) has ${SIZE} memory in use`, 'g');
const BOILERPLATE =
  /(?:torch\.)?(?:cuda\.)?outofmemoryerror:?|runtimeerror:?|(?:cuda|hip|mps backend) out of memory\.?|other allocations: [\d.]+ [kmg]b|including non-pytorch memory,?|if reserved (?:memory is >> allocated|but unallocated) memory (?:is large )?try setting [a-z_:]+(?: to avoid fragmentation)?\.?|see documentation for memory management(?: and pytorch_(?:cuda_|hip_)?alloc_conf)?|file "[^"\n]{1,300}", line \d+(?:, in [^\n]{1,120})?|\(at [^\n)]{1,200}:\d+\)/g;

function readRules(reading: Reading, rules: readonly Rule[]): Figures {
  const figures: { -readonly [Name in FigureName]?: number } = {};
  for (const { name, pattern } of rules) {
    const found = take(reading, pattern).at(-1);
    if (found !== undefined) figures[name] ??= toGiB(found.groups[0] ?? '', found.groups[1] ?? '');
  }
  return figures;
}

function indexOf(reading: Reading, pattern: RegExp): Figures {
  const groups = find(reading, pattern).at(-1)?.groups ?? [];
  const index = groups.find((group) => group !== '');
  return index === undefined ? {} : { gpuIndex: Number(index) };
}

/** Processes on the card, largest first: torch 2.1 and later print every one that they see. */
function readProcesses(reading: Reading): readonly number[] {
  return take(reading, PROCESS)
    .map(({ groups }) => toGiB(groups[1] ?? '', groups[2] ?? ''))
    .sort((a, b) => b - a);
}

export interface OomReading {
  readonly kind: 'cuda_oom' | 'paddle_oom' | 'tensorflow_oom' | 'cudnn_error';
  readonly figures: Figures;
  /** Memory of processes beside the largest one. */
  readonly othersGiB: number;
  /** Dimensions of the tensor that did not fit (TensorFlow prints them). */
  readonly tensor: readonly number[] | null;
  /** As the message calls the card. */
  readonly cardName?: string;
}

const TORCH_SIGN =
  /(?:cuda|hip|mps backend) out of memory|outofmemoryerror|tried to allocate|cuda error: out of memory|cuda runtime error ?\(2\)|thcudacheck fail[^\n]{0,200}out of memory|cublas_status_alloc_failed/;

function readTorch(reading: Reading): OomReading | null {
  if (!TORCH_SIGN.test(reading.text)) return null;
  const index = indexOf(reading, TORCH_INDEX);
  const figures = readRules(reading, TORCH);
  const [largest, ...others] = readProcesses(reading);
  take(reading, BOILERPLATE);
  const process = figures.processGiB ?? largest;
  const rest = figures.processGiB === undefined ? others : largest === undefined ? [] : [largest, ...others];
  return {
    kind: 'cuda_oom',
    figures: { ...index, ...figures, ...(process === undefined ? {} : { processGiB: process }) },
    othersGiB: rest.reduce((sum, one) => sum + one, 0),
    tensor: null,
  };
}

const PADDLE_SIGN = /out of memory error on gpu \d|cannot allocate [\d.]+ ?[kmg]i?b memory on gpu/;

function readPaddle(reading: Reading): OomReading | null {
  if (!PADDLE_SIGN.test(reading.text)) return null;
  const index = indexOf(reading, /on gpu (\d{1,3})(?!\d)/g);
  const figures = readRules(reading, PADDLE);
  const { allocatedGiB, freeGiB } = figures;
  const total = allocatedGiB === undefined || freeGiB === undefined ? {} : { totalGiB: allocatedGiB + freeGiB };
  take(
    reading,
    /resourceexhaustederror:?|out of memory error|please check whether there is any other process using gpu[\s\S]{0,200}?batch size of your model\.?/g,
  );
  take(reading, BOILERPLATE);
  return { kind: 'paddle_oom', figures: { ...index, ...figures, ...total }, othersGiB: 0, tensor: null };
}

const TENSOR = /oom when allocating tensor (?:of |with )?shape\s?\[([\d,\s]{1,60})\](?: and type (\w+))?/g;
const BYTES_PER_TYPE: Readonly<Record<string, number>> = {
  half: 2,
  float16: 2,
  bfloat16: 2,
  double: 8,
  float64: 8,
  int64: 8,
};

const POOL = new RegExp(`allocator \\(gpu_(\\d+)_bfc\\) ran out of memory trying to allocate ${SIZE}`, 'g');
const POOL_LINES =
  /\(rounded to \d+\)|\b(?:limit|inuse|maxinuse|numallocs|maxallocsize): +\d+|tensorflow\/core\/[\w./]+:\d+\]/g;

/** What TensorFlow may use of the card, printed when it starts. */
const CREATED =
  /created device [^\n]{1,80} with (\d{3,7}) mb memory: {1,3}-> {1,3}device: \d{1,3}, name: ([^,\n]{1,60})/g;

function createdDevice(reading: Reading): { readonly figures: Figures; readonly cardName?: string } {
  const [megabytes, cardName] = take(reading, CREATED).at(-1)?.groups ?? [];
  return megabytes === undefined || cardName === undefined
    ? { figures: {} }
    : { figures: { totalGiB: Number(megabytes) / 1024 }, cardName };
}

const XLA = /resource_?exhausted:? out of memory (?:while )?trying to allocate (\d{6,15}) bytes/g;

/** What XLA says, under JAX and under TensorFlow. */
function readXla(reading: Reading): OomReading | null {
  const bytes = take(reading, XLA).at(-1)?.groups[0];
  if (bytes === undefined) return null;
  return { kind: 'tensorflow_oom', figures: { triedGiB: Number(bytes) / 2 ** 30 }, othersGiB: 0, tensor: null };
}

/** TensorFlow's pool says what it was asked for, not for which tensor. */
function readPool(reading: Reading): OomReading | null {
  const found = take(reading, POOL).at(-1);
  if (found === undefined) return readXla(reading);
  const [index, number = '', unit = ''] = found.groups;
  take(reading, POOL_LINES);
  const { figures: card, ...named } = createdDevice(reading);
  const figures = { gpuIndex: Number(index), triedGiB: toGiB(number, unit), ...card };
  return { kind: 'tensorflow_oom', figures, othersGiB: 0, tensor: null, ...named };
}

function readTensorflow(reading: Reading): OomReading | null {
  const found = take(reading, TENSOR).at(-1);
  if (found === undefined) return readPool(reading);
  const tensor = (found.groups[0] ?? '').split(',').map((part) => Number(part.trim()));
  const bytes = tensor.reduce((product, side) => product * side, BYTES_PER_TYPE[found.groups[1] ?? ''] ?? 4);
  const index = indexOf(reading, /device:gpu:(\d{1,3})/g);
  const { figures: card, ...named } = createdDevice(reading);
  take(reading, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\n\]]{0,120}\]|gpu_\d+_bfc|job:\w+\/replica:\d+\/task:\d+/gm);
  const figures = { ...index, triedGiB: bytes / 2 ** 30, ...card };
  return { kind: 'tensorflow_oom', figures, othersGiB: 0, tensor, ...named };
}

const CUDNN_SIGN =
  /unable to find a valid cudnn algorithm|failed to get convolution algorithm|cudnn_status_[a-z_]+|cudnn failed to initialize|cublas_status_[a-z_]+|could not create cudnn handle/g;

function readCudnn(reading: Reading): OomReading | null {
  if (find(reading, CUDNN_SIGN).length === 0) return null;
  take(reading, CUDNN_SIGN);
  take(reading, BOILERPLATE);
  return { kind: 'cudnn_error', figures: {}, othersGiB: 0, tensor: null };
}

/** A pasted out-of-memory message of one of the frameworks, with its figures. */
export function readOom(reading: Reading): OomReading | null {
  return readPaddle(reading) ?? readTensorflow(reading) ?? readTorch(reading) ?? readCudnn(reading);
}
