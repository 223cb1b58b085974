import type { Estimate, EstimateBytes, PeakHolder, Phase } from './estimate-result.ts';
import { aliveAt, kernelBytesAt, type Replay, type ReplayOptions, settle, walkTo } from './replay.ts';
import type { Storage, Tensor } from './tape/storage.ts';
import type { Tape } from './tape/tape.ts';

type Peaks = Pick<Replay, 'forward' | 'backward'>;

/** Paths of the modules in which the peaks of the two passes lie. */
export interface PeakModules {
  readonly forward: string;
  readonly backward: string;
}

/** Which phase makes the allocated peak, and the operation in it. */
export function peakOf(replayed: Peaks, modules: PeakModules, bytes: EstimateBytes): Estimate['peak'] {
  const phase = peakPhase(replayed, bytes);
  if (phase === 'step') return { phase, operation: 'optimizer step', module: '' };
  const peak = replayed[phase];
  const operation = phase === 'backward' ? `${peak.operation} backward` : peak.operation;
  return { phase, operation, module: modules[phase] };
}

function peakPhase(replayed: Peaks, bytes: EstimateBytes): Phase {
  if (bytes.allocatedPeak === bytes.base + bytes.ddpBuckets + bytes.peakStep) return 'step';
  return replayed.forward.withKernels > replayed.backward.withKernels ? 'forward' : 'backward';
}

/** A tape, with the peaks, the bytes and the options of its replay. */
export interface PeakContext {
  readonly t: Tape;
  readonly loss: Tensor;
  readonly replayed: Peaks;
  readonly bytes: EstimateBytes;
  readonly options: ReplayOptions;
}

/**
 * What holds memory at the allocated peak: every byte of it once, largest first. The entries sum to `bytes.allocatedPeak`.
 * Walks the tape once more, so call it only where the explanation is read.
 */
export function holdersAtPeak(context: PeakContext): readonly PeakHolder[] {
  const { bytes, replayed, options } = context;
  const phase = peakPhase(replayed, bytes);
  const holders = residentHolders(bytes, phase, options.residentGradients);
  if (phase === 'forward') holders.push(...forwardHolders(context));
  if (phase === 'backward') holders.push(...backwardHolders(context));
  return holders.filter((holder) => holder.bytes > 0).sort((a, b) => b.bytes - a.bytes);
}

function residentHolders(bytes: EstimateBytes, phase: Phase, residentGradients: boolean): PeakHolder[] {
  const whole = (kind: PeakHolder['kind'], amount: number): PeakHolder => ({ kind, module: '', bytes: amount });
  const step = phase === 'step';
  return [
    whole('parameters', bytes.parameters),
    whole('buffers', bytes.buffers),
    whole('input', bytes.input),
    whole('target', bytes.target),
    whole('optimizer-state', bytes.optimizerState),
    whole('ddp-buckets', bytes.ddpBuckets),
    whole('gradients', step || residentGradients ? bytes.gradients : 0),
    whole('transient', step ? bytes.peakStep - bytes.gradients - bytes.optimizerState : 0),
  ];
}

function forwardHolders({ t, loss, replayed, options }: PeakContext): PeakHolder[] {
  settle(t, loss);
  const groups = new Groups(t);
  const operation = replayed.forward.mark;
  for (const storage of aliveAt(t, operation)) groups.add(storage.holders > 0 ? 'activations' : 'transient', storage);
  groups.addWorkspace(kernelBytesAt(t, operation, options.convWorkspace === true));
  return groups.list();
}

function backwardHolders({ t, loss, replayed, options }: PeakContext): PeakHolder[] {
  const walk = walkTo(t, loss, { ...options, stopAt: replayed.backward.mark });
  const groups = new Groups(t);
  let listed = 0;
  for (const storage of t.storages) {
    if (storage.holders === 0) continue;
    groups.add('activations', storage);
    listed += storage.bytes;
  }
  for (const buffer of walk.buffers) {
    groups.add(buffer.parameter ? 'gradients' : 'transient', buffer);
    listed += buffer.bytes;
  }
  // Memory inside a replayed region has no holder of its own: what is left belongs to the operation at the peak.
  groups.add('transient', { bytes: walk.liveBytes - listed, scope: replayed.backward.scope });
  groups.addWorkspace(replayed.backward.withKernels - walk.liveBytes);
  return groups.list();
}

/** Sums by kind and module. */
class Groups {
  private readonly sums = new Map<string, { kind: PeakHolder['kind']; module: string; bytes: number }>();
  private readonly t: Tape;

  constructor(t: Tape) {
    this.t = t;
  }

  add(kind: PeakHolder['kind'], part: Pick<Storage, 'bytes' | 'scope'>): void {
    const module = this.t.scopes[part.scope]?.path ?? '';
    const actual = kind !== 'gradients' && isLoss(module) ? 'loss' : kind;
    const key = `${actual}/${module}`;
    const sum = this.sums.get(key);
    if (sum === undefined) this.sums.set(key, { kind: actual, module, bytes: part.bytes });
    else sum.bytes += part.bytes;
  }

  addWorkspace(bytes: number): void {
    if (bytes > 0) this.sums.set('workspace', { kind: 'workspace', module: '', bytes });
  }

  list(): PeakHolder[] {
    return [...this.sums.values()];
  }
}

function isLoss(module: string): boolean {
  return module === 'loss' || module.endsWith('.loss');
}
