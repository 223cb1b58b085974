import { type Reading, take } from '../reading.ts';
import type { Artifact, Diagnosis, Slots, Understanding } from '../understanding.ts';
import { type ConfigReading, codeKind, readConfig } from './config.ts';
import { diagnose, diagnoseWords } from './diagnose.ts';
import { HOST_LINES, isHostOom, tellsHostOom } from './host.ts';
import { readLog, readTold } from './log.ts';
import { readNvidiaSmi } from './nvidia-smi.ts';
import { type OomReading, readOom } from './oom.ts';

export interface ArtifactReading {
  readonly artifact: Artifact | null;
  /** Reason of a failure that was told in words, without a pasted message. */
  readonly told: Diagnosis | null;
  readonly slots: Slots;
  /** Memory of the card as the message prints it. */
  readonly cardGiB: number | null;
  readonly cardName: string | null;
  readonly measured: Understanding['measured'];
  readonly config: ConfigReading | null;
}

const NOTHING: ArtifactReading = {
  artifact: null,
  told: null,
  slots: {},
  cardGiB: null,
  cardName: null,
  measured: null,
  config: null,
};

/** Smallest side that a full-resolution activation of a training crop has. */
const FULL_RESOLUTION = 128;

/** Batch and, where the tensor is at full resolution, the size; channels first if that makes the sides alike. */
function tensorSlots(tensor: readonly number[] | null): Slots {
  const [batch, a, b, c] = tensor ?? [];
  if (batch === undefined || a === undefined || b === undefined || c === undefined) return {};
  const spread = (left: number, right: number) => Math.abs(Math.log(left / right));
  const [height, width, channels] = spread(b, c) <= spread(a, b) ? [b, c, a] : [a, b, c];
  const full = Math.min(height, width) >= FULL_RESOLUTION && channels <= 64;
  return { batchSize: batch, ...(full ? { imageHeight: height, imageWidth: width } : {}) };
}

function fromOom(oom: OomReading, reading: Reading): ArtifactReading {
  const { figures, tensor } = oom;
  return {
    ...NOTHING,
    artifact: { kind: oom.kind, diagnosis: diagnose(oom, reading.rest), ...figures },
    slots: tensorSlots(tensor),
    cardGiB: figures.totalGiB ?? null,
    cardName: oom.cardName ?? null,
  };
}

function fromTable(reading: Reading): ArtifactReading | null {
  const gpus = readNvidiaSmi(reading);
  const [first] = gpus;
  if (first === undefined) return null;
  const busiest = [...gpus].sort((a, b) => (b.usedMiB ?? 0) - (a.usedMiB ?? 0))[0] ?? first;
  const deviceGiB = (busiest.usedMiB ?? 0) / 1024;
  return {
    ...NOTHING,
    artifact: { kind: 'nvidia_smi', diagnosis: null, gpus },
    cardGiB: busiest.totalMiB === undefined ? null : busiest.totalMiB / 1024,
    cardName: busiest.name ?? null,
    measured: { deviceGiB },
  };
}

function fromLog(reading: Reading): ArtifactReading | null {
  const { pasted, allocatedGiB, deviceGiB, secondsPerIteration } = readLog(reading);
  const told = readTold(reading);
  const measured = {
    ...told,
    ...(deviceGiB === undefined ? {} : { deviceGiB }),
    ...(allocatedGiB === undefined ? {} : { allocatedGiB }),
    ...(secondsPerIteration === undefined ? {} : { secondsPerIteration }),
  };
  if (Object.keys(measured).length === 0) return null;
  const artifact: Artifact | null = pasted
    ? { kind: 'training_log', diagnosis: null, ...(allocatedGiB === undefined ? {} : { allocatedGiB }) }
    : null;
  return { ...NOTHING, artifact, measured };
}

function fromConfig(reading: Reading): ArtifactReading | null {
  const kind = codeKind(reading.text);
  if (kind === null) return null;
  const config = readConfig(reading.text);
  return { ...NOTHING, artifact: { kind, diagnosis: null }, slots: config.slots, config };
}

function fromHost(reading: Reading): ArtifactReading | null {
  if (isHostOom(reading.text)) {
    take(reading, HOST_LINES);
    return { ...NOTHING, artifact: { kind: 'host_oom', diagnosis: 'host_memory' }, told: 'host_memory' };
  }
  return tellsHostOom(reading.text) ? { ...NOTHING, told: 'host_memory' } : null;
}

/** The most telling thing that was pasted, taken out of the message. */
export function readArtifacts(reading: Reading): ArtifactReading {
  const host = fromHost(reading);
  const oom = host === null ? readOom(reading) : null;
  if (oom !== null) {
    const table = fromTable(reading);
    const config = fromConfig(reading);
    const found = fromOom(oom, reading);
    return {
      ...found,
      told: found.artifact?.diagnosis ?? null,
      cardGiB: found.cardGiB ?? table?.cardGiB ?? null,
      config: config?.config ?? null,
      slots: { ...config?.slots, ...found.slots },
    };
  }
  const found = host ?? fromTable(reading) ?? fromLog(reading) ?? fromConfig(reading);
  return found === null
    ? { ...NOTHING, told: diagnoseWords(reading.text) }
    : { ...found, told: found.told ?? diagnoseWords(reading.rest) };
}
