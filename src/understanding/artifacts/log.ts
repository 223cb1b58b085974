import { type Reading, take } from '../reading.ts';
import type { Understanding } from '../understanding.ts';
import { SIZE, toGiB } from './sizes.ts';

type Measured = NonNullable<Understanding['measured']>;

/** Peaks of the allocator as training loops log them: mmengine `memory: 11225`, torchvision `max mem: 4723`, detectron2 `max_mem: 8300M`. */
const LOGGED: readonly RegExp[] = [
  /(?<![a-z_])memory:\s?(\d{3,6})(?![\d.]|\s?gi?b)/g,
  /\bmax[ _]mem(?:ory)?:\s?(\d{2,6})\s?m?(?![\d.])/g,
  /\bmax_mem_allocated:\s?(\d{2,6}) ?mb/g,
];
const ALLOCATED = new RegExp(`max_memory_allocated\\D{0,12}${SIZE}`, 'g');
/** Ultralytics: `1/100  9.31G  1.021 …` under `GPU_mem`, in units of 1e9 bytes. */
const RESERVED = /(?:^|\n)\s*\d{1,5}\/\d{1,5}\s+(\d{1,3}(?:\.\d{1,3})?)g(?:\s+\d[\d.]*){2,}/g;
/** What the card shows on top of what an allocator reserved (physics.md §3.6). */
const CONTEXT_GIB = 0.5;
const STEP_TIME: readonly { readonly pattern: RegExp; readonly seconds: (value: number) => number }[] = [
  {
    pattern: /(?<![\d.])(\d{1,4}(?:\.\d{1,4})?)\s?(?:s|sec|seconds?|秒)\s?\/\s?(?:it(?:er)?|step|步|个?iter)(?![a-z])/g,
    seconds: (value) => value,
  },
  {
    pattern: /(?<![\d.])(\d{1,4}(?:\.\d{1,4})?)\s?(?:it(?:er)?s?|steps?|步)\s?\/\s?(?:s|sec|秒)(?![a-z])/g,
    seconds: (value) => 1 / value,
  },
  {
    pattern: /\bbatch_cost: ?(\d{1,4}\.\d{1,5})/g,
    seconds: (value) => value,
  },
  {
    pattern: /(?<![a-z_])time:\s?(\d{1,3}\.\d{2,5})(?=[\s,]+(?:data_time|max|memory|eta|lr|loss))/g,
    seconds: (value) => value,
  },
  {
    pattern:
      /(?:每步|一步|每(?:个)?iter|per (?:step|iteration))\s?(?:要|是|大概|约|takes?|about)?\s?(\d{1,4}(?:\.\d{1,4})?)\s?(?:s|秒|seconds?)(?![a-z])/g,
    seconds: (value) => value,
  },
];

/** A sign of every wording of a speed. */
const NEEDS_STEP = /\/|cost|time|步|iter|step/;

/** Lines of a log beside the figures that are read: `Epoch [1][50/1000] lr: 1.000e-02, eta: 1:02:03`. */
const LOG_NOISE =
  /\d{4}[-/]\d\d[-/]\d\d \d\d:\d\d:\d\d(?:[,.]\d{1,6})?|- (?:mmseg|mmengine|mmdet|root|d2\.[a-z.]+) - (?:info|warning) -|(?:epoch|iter)(?:\(train\))? ?[([]? {0,6}\d*[\])]? ?[[(]? {0,6}\d+ ?\/ ?\d+[\])]?|\b(?:lr|base_lr|loss|eta|data_time|time|batch_cost|reader_cost|ips|grad_norm|acc_seg|(?:decode|aux\w{0,4})\.\w{1,16})\s?: ?[\d.:e+-]{1,24}(?: days?, [\d:]+)?/g;

export interface LogReading {
  readonly deviceGiB?: number;
  readonly allocatedGiB?: number;
  readonly secondsPerIteration?: number;
  /** A line of a log was pasted, were it only its memory, and not only a speed told. */
  readonly pasted: boolean;
}

/** Peak memory and speed of a pasted training log. */
export function readLog(reading: Reading): LogReading {
  const tellsMemory = reading.rest.includes('mem');
  const logged = tellsMemory ? LOGGED.flatMap((pattern) => take(reading, pattern)).at(-1) : undefined;
  const allocated = tellsMemory ? take(reading, ALLOCATED).at(-1) : undefined;
  const rules = NEEDS_STEP.test(reading.rest) ? STEP_TIME : [];
  const seconds = rules
    .flatMap(({ pattern, seconds }) => take(reading, pattern).map(({ groups }) => seconds(Number(groups[0]))))
    .at(-1);
  const reserved = take(reading, RESERVED).at(-1);
  const noise = take(reading, LOG_NOISE);
  const allocatedGiB =
    logged !== undefined
      ? Number(logged.groups[0]) / 1024
      : allocated === undefined
        ? undefined
        : toGiB(allocated.groups[0] ?? '', allocated.groups[1] ?? '');
  return {
    pasted: logged !== undefined || reserved !== undefined || noise.length > 2,
    ...(reserved === undefined ? {} : { deviceGiB: (Number(reserved.groups[0]) * 1e9) / 2 ** 30 + CONTEXT_GIB }),
    ...(allocatedGiB === undefined ? {} : { allocatedGiB }),
    ...(seconds === undefined || !Number.isFinite(seconds) ? {} : { secondsPerIteration: seconds }),
  };
}

const SHOWN =
  /(?:nvidia-smi|smi|实测|实际|显示|measured|peaked at|actual(?:ly)?|in practice|观察到|占用|显存占了?|占了显存|用了|shows?|showed|see|峰值)[^\d,;\n]{0,16}(\d{1,3}(?:\.\d{1,3})?)\s?(g(?:i?b)?|m(?:i?b)?)(?![a-z])|(?:nvidia-smi|smi|显示|实测)[^\d\n]{0,10}(\d{4,6})\s?(m)(?:i?b)?(?![a-z])/g;
const ALLOCATOR_CUE = /max_memory_allocated|memory_allocated|日志|\blog\b|allocated|分配/;

/** Memory that a person saw and tells in words: "nvidia-smi 显示 13.2G". */
export function readTold(reading: Reading): Measured | null {
  const found = take(reading, SHOWN).at(-1);
  if (found === undefined) return null;
  const [number, unit, mib] = found.groups;
  const size = number === undefined || number === '' ? Number(mib) / 1024 : toGiB(number, unit ?? 'g');
  return ALLOCATOR_CUE.test(found.all) ? { allocatedGiB: size } : { deviceGiB: size };
}
