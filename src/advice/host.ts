import type { InstanceRow, PriceTable } from '../../catalog/rows.ts';
import type { Workload } from '../estimator/workload.ts';
import { ruleMemoryGiB } from './choice/candidates.ts';
import { geometricMiddle } from './choice/money.ts';
import { BYTES_PER_GIB } from './fit.ts';
import type { HostAdvice } from './recommendation.ts';

/** physics.md §3.5 (planning): a CUDA build of torch with its context takes 2–3 GiB of host memory per process. */
const PROCESS_GIB = 2.5;
/** Forked worker of a loader with its Python heap touched; torch's import alone is 0.22 GiB (physics.md §3.5). */
const WORKER_GIB = 0.4;
/** `prefetch_factor` of torch's DataLoader, default. */
const PREFETCHED_BATCHES = 2;
/** Decoded pictures are a few times larger than crops: scale jitter up to 2 in each direction (mmseg 1.2.2 RandomResize 0.5–2.0). */
const DECODED_PER_CROP = 4;
/** Share of a data set that random access keeps in the page cache before reads from disk matter. */
const COMFORTABLE_DISK_FILL = 1.3;
const SYSTEM_DISK_GIB = 100;
/** guide 2, section 4: above this, mount NAS or OSS. */
const SHARED_STORAGE_FROM_GB = 100;

/** What is read for one picture, and how much of it there is. */
export interface DataFacts {
  /** Bytes on disk for one training picture; null when the data set is unknown. */
  readonly bytesPerImage: number | null;
  readonly diskGB: number | null;
}

export interface HostInput {
  readonly instance: InstanceRow;
  readonly workload: Workload;
  readonly secondsPerIteration: readonly [number, number] | null;
  readonly data: DataFacts;
  readonly disks: PriceTable['disks'];
  readonly peerToPeer: boolean | null;
}

/** Loader, host memory and disk beside a rented card (advice.md, "Host, disk, network"). */
export function hostAdvice(input: HostInput): HostAdvice {
  const { instance, workload } = input;
  const vcpuPerGpu = Math.floor(instance.vcpu / instance.gpuCount);
  const workersPerProcess = Math.max(1, vcpuPerGpu - 1);
  const readMBps = readRate(input);
  return {
    vcpuPerGpu,
    workersPerProcess,
    neededMemoryGiB: neededMemory(workload, workersPerProcess),
    ruleMemoryGiB: ruleMemoryGiB(instance),
    hostMemoryGiB: instance.memoryGiB,
    readMBps,
    disk: chooseDisk(input, readMBps),
    sharedStorage: (input.data.diskGB ?? 0) > SHARED_STORAGE_FROM_GB,
    erdma: instance.erdma,
    nvlink: instance.gpuCount > 1 ? instance.nvlink : null,
    peerToPeer: instance.gpuCount > 1 ? input.peerToPeer : null,
  };
}

function neededMemory(workload: Workload, workers: number): number {
  const cropBytes = workload.imageHeight * workload.imageWidth * workload.inputChannels * 4;
  const batchBytes = cropBytes * workload.batchSize * PREFETCHED_BATCHES;
  const pictureBytes = workload.imageHeight * workload.imageWidth * workload.inputChannels * DECODED_PER_CROP;
  const perWorker = WORKER_GIB + (batchBytes + pictureBytes) / BYTES_PER_GIB;
  return workload.gpus * (PROCESS_GIB + workers * perWorker);
}

/** Megabytes that the training reads from disk in a second. */
function readRate({ workload, secondsPerIteration, data }: HostInput): number | null {
  if (secondsPerIteration === null || data.bytesPerImage === null) return null;
  const images = workload.batchSize * workload.gradientAccumulation * workload.gpus;
  return (images / geometricMiddle(secondsPerIteration)) * (data.bytesPerImage / 1e6);
}

function chooseDisk(input: HostInput, readMBps: number | null): HostAdvice['disk'] {
  const local = input.data.diskGB === null || input.data.diskGB > SHARED_STORAGE_FROM_GB ? 0 : input.data.diskGB;
  const wantedGiB = Math.ceil((SYSTEM_DISK_GIB + local * COMFORTABLE_DISK_FILL) / 10) * 10;
  const usual = input.disks.filter((disk) => disk.level !== 'PL0');
  const fast = usual.find((disk) => disk.maximumMBps >= (readMBps ?? 0));
  const disk = fast ?? usual[usual.length - 1] ?? input.disks[0];
  const sizeGiB = Math.max(wantedGiB, disk?.minimumGiB ?? 0);
  const monthly = disk?.cnyPerGiBMonth ?? null;
  const hourly = disk?.cnyPerGiBHour ?? null;
  return {
    level: disk?.level ?? 'PL1',
    sizeGiB,
    cnyPerMonth: monthly === null ? null : monthly * sizeGiB,
    cnyPerHour: hourly === null ? null : hourly * sizeGiB,
    checkedOn: disk?.checkedOn ?? '',
  };
}
