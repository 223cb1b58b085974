import { describe, expect, test } from 'vitest';
import { ownCard } from '../../src/advice/own-card.ts';
import type { OwnGpu } from '../../src/advice/request.ts';
import { catalog } from './ask.ts';

const card = (own: OwnGpu) => ownCard(catalog, own);
const usable = (name: string) => catalog.gpus.find((row) => row.name === name)?.usableMiB ?? 0;

describe('a card by its name', () => {
  test.each<[OwnGpu, string]>([
    [{ name: '3090' }, 'RTX 3090'],
    [{ name: 'V100' }, 'V100 16GB'],
    [{ name: 'V100', memoryGiB: 32 }, 'V100 32GB'],
    [{ name: '3090', memoryGiB: 24 }, 'RTX 3090'],
    // torch prints less than the label says
    [{ name: '3090', memoryGiB: 23.6 }, 'RTX 3090'],
  ])('%j is the catalogue’s %s', (own, label) => {
    const found = card(own);
    expect(found?.spec.name).toBe(label);
    expect(found).toMatchObject({ timeable: true, row: { label } });
    expect(found?.spec.usableMiB).toBe(found?.row?.usableMiB);
  });

  test.each<[OwnGpu, string, string]>([
    [{ name: '4090', memoryGiB: 48 }, 'RTX 4090 48GB', 'RTX 4090'],
    [{ name: '2080ti', memoryGiB: 22 }, 'RTX 2080 Ti 22GB', 'RTX 2080 Ti'],
    [{ name: 'A5000', memoryGiB: 20 }, 'RTX A5000 20GB', 'RTX A5000'],
    [{ name: 'A5000', memoryGiB: 28 }, 'RTX A5000 28GB', 'RTX A5000'],
    [{ name: 'V100', memoryGiB: 24 }, 'V100 24GB', 'V100 16GB'],
  ])('%j is another version: %s', (own, name, label) => {
    expect(card(own)).toMatchObject({ spec: { name }, timeable: false, row: { label } });
    expect(card(own)?.spec.usableMiB).toBeLessThanOrEqual((own.memoryGiB ?? 0) * 1024);
  });

  test('unknown: the name with the memory, or nothing', () => {
    expect(card({ name: 'nothing known', memoryGiB: 24 })).toMatchObject({
      spec: { name: 'nothing known' },
      row: null,
    });
    expect(card({ name: 'nothing known' })).toBeUndefined();
    expect(card({})).toBeUndefined();
  });
});

describe('a card by its memory alone', () => {
  test('has what every card of the decade has, and no time', () => {
    expect(card({ memoryGiB: 24 })).toEqual({
      spec: {
        name: '24 GB',
        architecture: 'Ampere',
        usableMiB: usable('NVIDIA Quadro RTX 6000'),
        memoryBandwidthGBps: 0,
        fp32Tflops: 0,
        tf32Tflops: null,
        fp16TensorTflops: null,
        bf16: true,
        nvlinkGBps: 0,
      },
      timeable: false,
      row: null,
    });
  });

  test.each([
    [16, usable('NVIDIA A2')],
    [80, 80 * 1024 * Math.min(1, usable('NVIDIA H100 PCIe') / (80 * 1024))],
    // no card has this label: the smallest share of all
    [28, 28 * 1024 * (usable('NVIDIA GeForce GTX 1650') / 4096)],
    [10.76, 10.76 * 1024],
    [23.65, 23.65 * 1024],
  ])('%d GB leave %d MiB to torch', (memoryGiB, mib) => {
    expect(card({ memoryGiB })?.spec.usableMiB).toBe(Math.floor(mib));
  });
});
