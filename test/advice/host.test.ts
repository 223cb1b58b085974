import { describe, expect, test } from 'vitest';
import { hostAdvice } from '../../src/advice/host.ts';
import { catalog } from './ask.ts';
import { toyWorkload } from './toy-estimator.ts';

function advise(type: string, changed: Partial<Parameters<typeof hostAdvice>[0]> = {}) {
  const instance = catalog.instance(type);
  if (instance === undefined) throw new Error(`no ${type}`);
  return hostAdvice({
    instance,
    workload: { ...toyWorkload, gpus: instance.gpuCount },
    secondsPerIteration: [0.1, 0.1],
    data: { bytesPerImage: 2_500_000, diskGB: 11.2 },
    disks: catalog.prices.disks,
    peerToPeer: null,
    ...changed,
  });
}

describe('disk', () => {
  test('PL1 below 350 MB/s, by pictures a second × bytes of a picture', () => {
    const host = advise('ecs.gn7i-c16g1.4xlarge');
    expect(host.readMBps).toBeCloseTo(40 * 2.5, 6);
    expect(host.disk).toMatchObject({ level: 'PL1', sizeGiB: 120, cnyPerMonth: 120 });
    expect(host.disk.cnyPerHour).toBeCloseTo(120 * 0.0021, 9);
  });

  test('faster reading asks for a higher level, which has a minimum size and no stated price', () => {
    const fast = advise('ecs.gn7i-c16g1.4xlarge', { secondsPerIteration: [0.02, 0.02] });
    expect(fast.disk).toMatchObject({ level: 'PL2', sizeGiB: 461, cnyPerMonth: null });
    const fastest = advise('ecs.gn7i-c16g1.4xlarge', { secondsPerIteration: [0.005, 0.005] });
    expect(fastest.disk).toMatchObject({ level: 'PL3', sizeGiB: 1261 });
  });

  test('unknown data: the usual level', () => {
    const host = advise('ecs.gn7i-c16g1.4xlarge', { data: { bytesPerImage: null, diskGB: null } });
    expect(host).toMatchObject({ readMBps: null, sharedStorage: false });
    expect(host.disk).toMatchObject({ level: 'PL1', sizeGiB: 100 });
  });

  test('above 100 GB the data goes to shared storage, not onto the system disk', () => {
    const host = advise('ecs.gn7i-c16g1.4xlarge', { data: { bytesPerImage: 2_000_000, diskGB: 300 } });
    expect(host.sharedStorage).toBe(true);
    expect(host.disk.sizeGiB).toBe(100);
    const hundred = advise('ecs.gn7i-c16g1.4xlarge', { data: { bytesPerImage: 2_000_000, diskGB: 100 } });
    expect(hundred).toMatchObject({ sharedStorage: false, disk: { sizeGiB: 230 } });
  });
});

describe('processors, memory, network', () => {
  test('one worker fewer than processors, at least one', () => {
    expect(advise('ecs.gn6i-c4g1.xlarge')).toMatchObject({ vcpuPerGpu: 4, workersPerProcess: 3 });
    expect(advise('ecs.gn7i-4x.8xlarge')).toMatchObject({ vcpuPerGpu: 8, workersPerProcess: 7 });
  });

  test('memory grows with processes, workers and batch', () => {
    const one = advise('ecs.gn7i-c16g1.4xlarge');
    const larger = advise('ecs.gn7i-c16g1.4xlarge', { workload: { ...toyWorkload, batchSize: 64 } });
    expect(larger.neededMemoryGiB).toBeGreaterThan(one.neededMemoryGiB);
    expect(advise('ecs.gn7i-4x.16xlarge').neededMemoryGiB).toBeCloseTo(4 * one.neededMemoryGiB, 6);
    expect(one.ruleMemoryGiB).toBe(36);
  });

  test('memory: a process per card, and prefetched batches and a decoded picture per worker', () => {
    const { neededMemoryGiB } = advise('ecs.gn7i-c16g1.4xlarge');
    const crop = 512 * 1024 * 3 * 4;
    expect(neededMemoryGiB).toBeCloseTo(2.5 + 15 * (0.4 + (crop * 4 * 2 + crop) / 2 ** 30), 9);
  });

  test('every picture of an optimizer step is read', () => {
    const workload = { ...toyWorkload, batchSize: 4, gradientAccumulation: 3, gpus: 2 };
    const host = advise('ecs.gn7i-c16g1.4xlarge', { workload, secondsPerIteration: [0.1, 0.4] });
    expect(host.readMBps).toBeCloseTo((24 / 0.2) * 2.5, 9);
    expect(advise('ecs.gn7i-c16g1.4xlarge', { secondsPerIteration: null }).readMBps).toBeNull();
  });

  test('links between cards are said of several cards only', () => {
    expect(advise('ecs.gn7i-c16g1.4xlarge', { peerToPeer: false })).toMatchObject({ nvlink: null, peerToPeer: null });
    expect(advise('ecs.gn7i-c32g1.32xlarge', { peerToPeer: false })).toMatchObject({
      nvlink: false,
      peerToPeer: false,
    });
    expect(advise('ecs.gn7e-c16g1.32xlarge', { peerToPeer: true })).toMatchObject({
      nvlink: true,
      peerToPeer: true,
      erdma: null,
    });
    expect(advise('ecs.gn8v-8x.48xlarge').erdma).toBe(true);
  });
});
