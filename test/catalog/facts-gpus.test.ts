import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { loadCatalog } from '../../catalog/index.ts';
import { cardsAsCatalogue } from './gpu-sources.ts';
import {
  catalogueHead,
  type Difference,
  differences,
  type MeantDifference,
  type Row,
  sourceHead,
  sourceTable,
  withoutReasons,
} from './source-tables.ts';

const { gpus, ambiguousGpus } = loadCatalog();
const nameOf = (row: Row): string => String(row['name']);
const cloud = sourceTable('gpus-cloud.json', 'gpus');
const owned = sourceTable('gpus-owned.json', 'gpus');
const found = differences(gpus, cardsAsCatalogue(cloud, owned), nameOf);

/** Names of nvidia-smi: the collection of cloud cards has none. */
const SMI_NAMES: Readonly<Record<string, readonly string[]>> = {
  'NVIDIA P4': ['Tesla P4'],
  'NVIDIA P100': ['Tesla P100-PCIE-16GB'],
  'NVIDIA T4': ['Tesla T4'],
  'NVIDIA V100 16GB': ['Tesla V100-SXM2-16GB', 'Tesla V100-PCIE-16GB'],
  'NVIDIA V100 32GB': ['Tesla V100-SXM2-32GB', 'Tesla V100-PCIE-32GB'],
  'NVIDIA A10': ['NVIDIA A10'],
  'NVIDIA A30': ['NVIDIA A30'],
  'NVIDIA A100 40GB': ['NVIDIA A100-SXM4-40GB', 'NVIDIA A100-PCIE-40GB'],
  'NVIDIA A100 80GB': ['NVIDIA A100-SXM4-80GB', 'NVIDIA A100 80GB PCIe'],
  'NVIDIA A800 80GB': ['NVIDIA A800-SXM4-80GB'],
  'NVIDIA L20': ['NVIDIA L20'],
  'NVIDIA H20 96GB': ['NVIDIA H20'],
  'NVIDIA H20 141GB': ['NVIDIA H20-3e'],
  'NVIDIA RTX 5880 Ada': ['NVIDIA RTX 5880 Ada Generation'],
};

const measuredPair = 'the lower of the two rates that nvbandwidth measured on gn6v, not half of the printed sum';
const short = 'short names of answers leave out what the words before them already say';
const families = 'the remark behind the family is left out: families are looked up by name';

const MEANT: readonly MeantDifference[] = [
  ...Object.entries(SMI_NAMES).map(([row, names]) => ({
    row,
    field: 'smiNames',
    source: [],
    catalogue: names,
    reason: 'names that nvidia-smi prints, which the collection of cloud cards leaves out',
  })),
  ...['NVIDIA V100 16GB', 'NVIDIA V100 32GB'].map((row) => ({
    row,
    field: 'nvlinkPairGBps',
    source: 150,
    catalogue: 24.2,
    reason: measuredPair,
  })),
  {
    row: 'NVIDIA P100',
    field: 'peerToPeer',
    source: null,
    catalogue: true,
    reason: 'copies between cards were measured at 9.9 GB/s over PCIe',
  },
  {
    row: 'NVIDIA A10',
    field: 'peerToPeer',
    source: null,
    catalogue: false,
    reason: 'the tests of copies between cards were waived on the four-card gn7i: there are none',
  },
  ...['48GB', '72GB'].flatMap((memory) => [
    {
      row: `NVIDIA Blackwell professional ${memory} (L20N)`,
      field: 'peerToPeer',
      source: null,
      catalogue: true,
      reason: 'the documentation promises copies between cards over PCIe',
    },
    {
      row: `NVIDIA Blackwell professional ${memory} (L20N)`,
      field: 'label',
      source: `Blackwell professional ${memory} (L20N)`,
      catalogue: `L20N ${memory}`,
      reason: short,
    },
  ]),
  ...(
    [
      ['NVIDIA GA107 16 GB (A16 class)', 'GA107 16 GB (A16 class)', 'A16 class 16GB'],
      ['NVIDIA TITAN X (Pascal)', 'TITAN X (Pascal)', 'TITAN X'],
      ['NVIDIA A800 40GB Active', 'A800 40GB Active', 'A800 40GB'],
      ['NVIDIA H100 SXM5 80GB', 'H100 SXM5 80GB', 'H100 SXM 80GB'],
      ['NVIDIA H800 SXM5 80GB', 'H800 SXM5 80GB', 'H800 80GB'],
    ] as const
  ).map(([row, source, catalogue]) => ({ row, field: 'label', source, catalogue, reason: short })),
  {
    row: 'NVIDIA A800 80GB',
    field: 'alibabaFamilies',
    source: ['ebmgn7vx (in API catalogue, no public page)', 'ebmgn7v is labelled A800 with 40 GB'],
    catalogue: ['ebmgn7vx', 'ebmgn7v'],
    reason: families,
  },
  {
    row: 'NVIDIA RTX 5880 Ada',
    field: 'alibabaFamilies',
    source: ['gn8ga', 'ebmgn8ga', 'sgn8ga-wy (cloud desktop)'],
    catalogue: ['gn8ga', 'ebmgn8ga', 'sgn8ga-wy'],
    reason: families,
  },
  {
    row: 'NVIDIA GeForce RTX 3080 10GB',
    field: 'laptopVariants',
    source: [{ smiName: 'NVIDIA GeForce RTX 3080 Laptop GPU', memoryGB: [8, 16] }],
    catalogue: [{ smiName: 'NVIDIA GeForce RTX 3080 Laptop GPU', memoryGB: 8 }],
    reason: 'sold with 8 and 16 GB under one name: plan with 8',
  },
];

const h20 = 'the trade says H20 for the 96 GB card: no question for a name with one meaning';
const MEANT_NAMES: readonly MeantDifference[] = [
  {
    row: 'H20',
    field: 'reason',
    source: 'rows of gpu-hardware.json',
    catalogue: 'the card sold as H20 has 96 GB; the 141 GB one is called H20-3e',
    reason: h20,
  },
  { row: 'H20', field: 'default', source: null, catalogue: 'NVIDIA H20 96GB', reason: h20 },
];

const sorted = (list: readonly Difference[]): readonly Difference[] =>
  [...list].sort((a, b) => `${a.row} ${a.field}`.localeCompare(`${b.row} ${b.field}`));

describe('GPU figures are those of the sources', () => {
  test('every field of every card, none missing, none extra, beside the differences that are meant', () => {
    expect(sorted(found)).toEqual(sorted(withoutReasons(MEANT)));
    expect(cloud).toHaveLength(17);
    expect(owned).toHaveLength(74);
  });

  test('names that mean several cards', () => {
    const collected = z.array(z.record(z.string(), z.unknown())).parse(sourceHead('gpus-owned.json')['ambiguous']);
    expect(differences(ambiguousGpus, collected, (row) => String(row['typed']))).toEqual(withoutReasons(MEANT_NAMES));
    expect(collected).toHaveLength(16);
  });

  test('sources and remarks about software are those of both collections', () => {
    const written = catalogueHead('gpus.json');
    const heads = [sourceHead('gpus-cloud.json'), sourceHead('gpus-owned.json')];
    expect(written['checkedOn']).toBe('2026-11-30');
    expect(written['software']).toEqual({ ...Object(heads[0]?.['software']), ...Object(heads[1]?.['software']) });
    expect(written['sources']).toEqual(joined(Object(heads[0]?.['sources']), Object(heads[1]?.['sources'])));
  });
});

/** A key that both collections use is explained by both texts, the owned cards' first. */
function joined(first: Readonly<Record<string, string>>, second: Readonly<Record<string, string>>) {
  const keys = new Set([...Object.keys(second), ...Object.keys(first)]);
  const texts = (key: string) => [...new Set([second[key], first[key]].filter((text) => text !== undefined))];
  return Object.fromEntries([...keys].map((key) => [key, texts(key).join(' | ')]));
}
