import type { Estimate, PeakHolder } from '../../estimator/estimate-result.ts';
import { gibNumber } from '../format.ts';
import type { Words } from '../messages/index.ts';
import type { BarSegment, Block } from '../reply.ts';

type Kind = keyof Words['answer']['memory']['kinds'];

/** Parts below this share of the total are not worth a line. */
const WORTH_SHOWING = 0.002;
const MODULES_SHOWN = 3;

const PART_OF: Readonly<Record<PeakHolder['kind'], Kind>> = {
  activations: 'activations',
  transient: 'activations',
  loss: 'loss',
  parameters: 'parameters',
  gradients: 'gradients',
  'optimizer-state': 'optimizer-state',
  'ddp-buckets': 'ddp-buckets',
  workspace: 'workspace',
  buffers: 'data',
  input: 'data',
  target: 'data',
};

/** What nvidia-smi would show, by what holds it; the parts sum to the device figure. */
export function memoryBar(estimate: Estimate, capacityBytes: number | undefined, words: Words): Block {
  const { bytes, holders, peak } = estimate;
  const text = words.answer.memory;
  const parts = new Map<Kind, number>();
  for (const { kind, bytes: size } of holders) parts.set(PART_OF[kind], (parts.get(PART_OF[kind]) ?? 0) + size);
  const tensors = [...parts].sort(([, left], [, right]) => right - left);
  const outside: [Kind, number][] = [
    ['cache', bytes.reserved - bytes.allocatedPeak],
    [estimate.workload.gpus > 1 ? 'contextWithNccl' : 'context', bytes.device - bytes.reserved],
  ];
  const segments = [...tensors, ...outside]
    .filter(([, size]) => size > bytes.device * WORTH_SHOWING)
    .map(([kind, size]): BarSegment => segment(kind, size, { estimate, words }));
  const note = text.peak(peak.operation, text.phases[peak.phase]);
  const capacity = capacityBytes === undefined ? {} : { capacityBytes };
  return { kind: 'bar', level: 'main', title: text.title, segments, note, ...capacity };
}

function segment(kind: Kind, bytes: number, context: { estimate: Estimate; words: Words }): BarSegment {
  const label = context.words.answer.memory.kinds[kind];
  const hint = kind === 'activations' ? largestModules(context.estimate, context.words) : '';
  return hint === '' ? { label, bytes } : { label, bytes, hint };
}

function largestModules(estimate: Estimate, words: Words): string {
  const modules = new Map<string, number>();
  for (const { kind, module, bytes } of estimate.holders) {
    if (PART_OF[kind] !== 'activations') continue;
    const name = module.split('.').slice(0, 2).join('.');
    modules.set(name, (modules.get(name) ?? 0) + bytes);
  }
  return [...modules]
    .sort(([, left], [, right]) => right - left)
    .slice(0, MODULES_SHOWN)
    .map(([name, bytes]) => `${name === '' ? words.answer.memory.wholeNetwork : name} ${gibNumber(bytes / 1024 ** 3)}`)
    .join(' · ');
}
