import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isTimeable, toGpuSpec } from '../../catalog/gpu-names.ts';
import { loadCatalog } from '../../catalog/index.ts';

const catalog = loadCatalog();

function labelOf(text: string, memoryGiB?: number): string {
  const match = catalog.findGpu(text, memoryGiB);
  if (match === undefined) return '–';
  return 'ambiguous' in match ? `? ${match.ambiguous.map((row) => row.label).join(', ')}` : match.label;
}

describe('names as people type them', () => {
  test.each([
    ['2080ti', 'RTX 2080 Ti'],
    ['RTX2080Ti', 'RTX 2080 Ti'],
    ['gtx 2080 ti', 'RTX 2080 Ti'],
    ['4090', 'RTX 4090'],
    ['RTX 4090显卡', 'RTX 4090'],
    ['nvidia geforce rtx 3090', 'RTX 3090'],
    ['A100 80G', 'A100 80GB'],
    ['a100-sxm4-40gb', 'A100 40GB'],
    ['v100 32g', 'V100 32GB'],
    ['V10016G', 'V100 16GB'],
    ['Tesla V100-SXM2-32GB', 'V100 32GB'],
    ['Tesla T4', 'T4'],
    ['t4 16g', 'T4'],
    ['Ａ１０', 'A10'],
    ['A10G', 'A10G'],
    ['a6000', 'RTX A6000'],
    ['H20', 'H20 96GB'],
    ['昇腾 910B', 'Ascend 910B'],
    ['3080', 'RTX 3080 10GB'],
    ['RTX 3080 12G', 'RTX 3080 12GB'],
    ['l20卡', 'L20'],
  ])('%s → %s', (typed, label) => expect(labelOf(typed)).toBe(label));

  test('digits are exact: near names are other cards or none', () => {
    expect(labelOf('A10')).toBe('A10');
    expect(labelOf('A1000')).toBe('–');
    expect(labelOf('A11')).toBe('–');
    expect(labelOf('2070 super')).toBe('–');
    expect(labelOf('B5')).toBe('–');
    expect(labelOf('')).toBe('–');
  });

  test('names that stand for several cards are asked', () => {
    expect(labelOf('A100')).toBe('? A100 40GB, A100 80GB');
    expect(labelOf('V100')).toBe('? V100 16GB, V100 32GB');
    expect(labelOf('RTX 6000')).toBe('? Quadro RTX 6000, RTX 6000 Ada, RTX PRO 6000 Blackwell');
    expect(labelOf('4060 ti')).toBe('? RTX 4060 Ti 16GB');
  });

  test('memory narrows, also as torch or nvidia-smi print it', () => {
    expect(labelOf('V100', 32)).toBe('V100 32GB');
    expect(labelOf('V100', 15.77)).toBe('V100 16GB');
    expect(labelOf('RTX 2080 Ti', 10.76)).toBe('RTX 2080 Ti');
    expect(labelOf('3080', 12)).toBe('RTX 3080 12GB');
    expect(labelOf('RTX 3060', 8)).toBe('–');
    expect(labelOf('A100', 24)).toBe('? A100 40GB, A100 80GB');
  });

  test('a notebook card has its own memory and no figures of speed', () => {
    const match = catalog.findGpu('RTX 3080 Laptop', 16);
    expect(labelOf('RTX 4060 Laptop')).toBe('RTX 4060 Laptop');
    expect(labelOf('RTX 3060 Laptop')).toBe('RTX 3060 Laptop');
    expect(match === undefined || 'ambiguous' in match ? null : isTimeable(match)).toBe(
      match === undefined ? null : false,
    );
    expect(labelOf('RTX 4060 笔记本', 24)).toBe('–');
  });

  test('any text is answered without an error', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 60 }),
        fc.option(fc.double({ min: 0, max: 1000, noNaN: true })),
        (text, memory) => {
          const match = catalog.findGpu(text, memory ?? undefined);
          if (match !== undefined && 'ambiguous' in match) expect(match.ambiguous.length).toBeGreaterThan(0);
        },
      ),
    );
  });
});

describe('figures for the estimator', () => {
  const spec = (name: string) => {
    const match = catalog.findGpu(name);
    if (match === undefined || 'ambiguous' in match) throw new Error(`${name} is not one card`);
    return toGpuSpec(match);
  };

  test('A10: 22.06 GiB usable, BF16, no NVLink', () => {
    expect(spec('A10')).toMatchObject({
      name: 'A10',
      architecture: 'Ampere',
      usableMiB: 22_589,
      bf16: true,
      nvlinkGBps: 0,
    });
  });

  test('V100: no BF16, no TF32, the measured pair rate', () => {
    expect(spec('V100 32G')).toMatchObject({ bf16: false, tf32Tflops: null, nvlinkGBps: 24.2, usableMiB: 32_494 });
  });

  test('NVLink counts one direction', () => expect(spec('A100 80G').nvlinkGBps).toBe(300));

  test('a card of unknown usable memory is planned below its label', () => {
    expect(spec('L20N 72G').usableMiB).toBe(Math.floor(72 * 1024 * 0.925));
  });
});
