import { describe, expect, test } from 'vitest';
import { isProposable } from '../../catalog/cross-check.ts';
import { loadCatalog } from '../../catalog/index.ts';

const catalog = loadCatalog();
const { gpus, instances, prices, datasets, recipes, accuracy } = catalog;

const duplicates = (keys: readonly string[]) => keys.filter((key, index) => keys.indexOf(key) !== index);

describe('what the files hold', () => {
  test('counts of the collected facts', () => {
    expect(gpus).toHaveLength(91);
    expect(instances).toHaveLength(238);
    expect(prices.rows).toHaveLength(693);
    expect(prices.observations).toHaveLength(7);
    expect(prices.usdMinimum).toHaveLength(48);
    expect(datasets).toHaveLength(66);
    expect(recipes).toHaveLength(83);
    expect(accuracy).toHaveLength(785);
  });

  test('ids are unique', () => {
    expect(duplicates(gpus.map((row) => row.name))).toEqual([]);
    expect(duplicates(gpus.map((row) => row.label))).toEqual([]);
    expect(duplicates(instances.map((row) => row.instanceType))).toEqual([]);
    expect(duplicates(prices.rows.map((row) => `${row.instanceType} ${row.region}`))).toEqual([]);
    expect(duplicates([...datasets, ...recipes].map((row) => row.id))).toEqual([]);
    expect(duplicates(accuracy.map((row) => row.id))).toEqual([]);
  });

  test('everything is frozen', () => {
    for (const list of [gpus, instances, prices.rows, prices.observations, datasets, recipes, accuracy]) {
      expect(Object.isFrozen(list)).toBe(true);
      expect(list.every((row) => Object.isFrozen(row))).toBe(true);
    }
  });
});

describe('every fact has a source that its file explains, and a day', () => {
  test('prices', () => {
    const known = Object.keys(prices.head.sources);
    const rows = [...prices.rows, ...prices.observations, ...prices.usdMinimum, ...prices.disks];
    expect(rows.filter((row) => !known.includes(row.source))).toEqual([]);
    expect(known).toContain(prices.head.subscription.source);
    expect(prices.rows.every((row) => row.amountPerHour > 0 && row.checkedOn >= '2024-10-09')).toBe(true);
  });

  test('a price belongs to a known type', () => {
    const unknown = prices.rows.filter((row) => catalog.instance(row.instanceType) === undefined);
    expect(unknown.map((row) => row.instanceType)).toEqual([]);
  });

  test('GPU figures name the field they were read for', () => {
    for (const row of gpus) {
      expect(row.source.length, row.name).toBeGreaterThan(0);
      expect(row.usableMiB === null || row.fieldSources['usableMiB'] !== undefined, row.name).toBe(true);
    }
  });
});

describe('GPUs', () => {
  test('usable memory lies below what nvidia-smi shows, and both near the label', () => {
    for (const row of gpus) {
      const label = row.nominalMemoryGB * 1024;
      if (row.usableMiB !== null) {
        expect(row.usableMiB, row.name).toBeGreaterThan(0.85 * label);
        expect(row.usableMiB, row.name).toBeLessThanOrEqual(row.nvidiaSmiTotalMiB ?? 1.03 * label);
      }
    }
  });

  test('cards without BF16 are those before Ampere', () => {
    const early = ['Maxwell', 'Pascal', 'Volta', 'Turing'];
    for (const row of gpus) {
      if (row.vendor !== 'NVIDIA') continue;
      expect(row.bf16, row.name).toBe(!early.includes(row.architecture) && row.generation !== 'Kepler');
      if (early.includes(row.architecture)) expect(row.tf32Tflops, row.name).toBeNull();
    }
  });

  test('every alias and every name of nvidia-smi leads back to its row, or to a question that offers it', () => {
    for (const row of gpus) {
      for (const name of [row.name, row.label, ...row.aliases, ...row.smiNames]) {
        const match = catalog.findGpu(name);
        const offered = match === undefined ? [] : 'ambiguous' in match ? match.ambiguous : [match];
        const isDefault = catalog.ambiguousGpus.some((entry) => entry.candidates.includes(row.name));
        expect(offered.includes(row) || isDefault, `${name} → ${row.name}`).toBe(true);
      }
    }
  });
});

describe('instances that may be proposed', () => {
  const proposable = instances.filter(isProposable);

  test('are 54 whole-card types of ten families', () => {
    expect(proposable).toHaveLength(54);
    const families = [...new Set(proposable.map((row) => row.family))].sort();
    expect(families).toEqual(['gn6e', 'gn6i', 'gn6v', 'gn7', 'gn7e', 'gn7i', 'gn7r', 'gn8is', 'gn8v', 'gn8v-tee']);
  });

  test('carry a card of the table whose label memory is the one stated for the type', () => {
    for (const row of proposable) {
      const gpu = catalog.gpuByName(row.gpu);
      expect(gpu?.nominalMemoryGB, row.instanceType).toBe(row.gpuMemoryGB);
      expect(gpu?.alibabaFamilies, row.instanceType).toContain(row.family);
    }
  });

  test('measured cards agree with the table', () => {
    for (const row of proposable) {
      if (row.measured === null || row.measured.memoryTotalMiB === null) continue;
      const match = catalog.findGpu(row.measured.productName);
      expect(match === undefined || 'ambiguous' in match ? undefined : match.name, row.instanceType).toBe(row.gpu);
    }
  });

  test('slices, bare metal, retired and invitational families are not among them', () => {
    for (const family of ['sgn7i-vws', 'vgn7i-vws', 'vgn6i-vws', 'sgn8ia', 'gn5', 'gn5i', 'gn7s', 'gn9gc', 'ebmgn7e']) {
      expect(
        instances.some((row) => row.family === family),
        family,
      ).toBe(true);
      expect(
        proposable.some((row) => row.family === family),
        family,
      ).toBe(false);
    }
  });
});

describe('corrections of the guides stand in the data', () => {
  const gpuOf = (family: string) => [
    ...new Set(instances.filter((row) => row.family === family).map((row) => row.gpu)),
  ];

  test('families and their cards', () => {
    expect(gpuOf('gn6i')).toEqual(['NVIDIA T4']);
    expect(gpuOf('gn7i')).toEqual(['NVIDIA A10']);
    expect(gpuOf('gn7e')).toEqual(['NVIDIA A100 80GB']);
    expect(gpuOf('gn7')).toEqual(['NVIDIA A100 40GB']);
    expect(gpuOf('gn6v')).toEqual(['NVIDIA V100 16GB']);
    expect(gpuOf('gn6e')).toEqual(['NVIDIA V100 32GB']);
    expect(gpuOf('gn7s')).toEqual(['NVIDIA A30']);
    expect(gpuOf('gn8v')).toEqual(['NVIDIA H20 96GB']);
    expect(gpuOf('gn8is')).toEqual(['NVIDIA L20']);
    expect(gpuOf('gn8i')).toEqual([]);
    expect(gpuOf('gn9y')).toEqual([]);
  });

  test('the type that the guide orders does not exist', () => {
    expect(catalog.instance('ecs.gn7i-c8g1.4xlarge')).toBeUndefined();
    expect(catalog.instance('gn7i-c8g1.2xlarge')?.vcpu).toBe(8);
    expect(catalog.instance('ecs.gn7i-c16g1.4xlarge')?.memoryGiB).toBe(60);
  });
});

describe('data sets, recipes and accuracy', () => {
  test('ambiguous terms offer rows that exist', () => {
    const ids = datasets.map((row) => row.id);
    for (const entry of catalog.ambiguousDatasets) for (const id of entry.ids) expect(ids, entry.term).toContain(id);
  });

  test('names in both languages lead to a row or to a question', () => {
    for (const row of datasets) {
      for (const name of [row.id, ...row.names.en, ...row.names.zh]) {
        const match = catalog.findDataset(name);
        const offered = match === undefined ? [] : 'ambiguous' in match ? match.ambiguous : [match];
        expect(offered.length, name).toBeGreaterThan(0);
      }
    }
  });

  test('accuracy rows are of data sets that are known by id', () => {
    const ids = new Set(datasets.map((row) => row.id));
    expect([...new Set(accuracy.map((row) => row.dataset))].filter((id) => !ids.has(id))).toEqual([]);
  });

  test('a recipe states its length in iterations or epochs, unless its note says why not', () => {
    const endless = recipes.filter(
      (row) => row.iterations === null && row.iterationsDerived === null && row.epochs === null,
    );
    expect(endless.every((row) => row.note !== null)).toBe(true);
  });

  test('recipes are found by the canonical names of models', () => {
    const found = catalog.recipesFor({ library: 'mmseg', architecture: 'deeplabv3plus', dataset: 'cityscapes' });
    expect(found.map((row) => row.iterations)).toEqual([40_000, 80_000]);
    const mask = catalog.recipesFor({ library: 'torchvision', architecture: 'maskrcnn', dataset: 'coco-instance' });
    expect(mask.map((row) => row.epochs)).toEqual([26]);
    const unet = catalog.recipesFor({ library: 'milesial', architecture: 'unet', dataset: 'carvana' });
    expect(unet.map((row) => row.id)).toEqual(['milesial/unet/carvana/5ep']);
  });

  test('accuracy is found by the canonical names of models', () => {
    const rows = catalog.accuracyFor({ library: 'mmseg', architecture: 'segformer', dataset: 'ade20k' });
    expect(rows.length).toBeGreaterThanOrEqual(6);
    expect(rows.every((row) => row.method === 'SegFormer')).toBe(true);
    const fpn = catalog.accuracyFor({ library: 'mmseg', architecture: 'semantic-fpn' });
    expect(fpn.every((row) => row.method === 'Semantic FPN')).toBe(true);
    expect(fpn.length).toBeGreaterThan(0);
  });
});
