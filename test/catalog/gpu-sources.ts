import type { Row } from './source-tables.ts';

/** Figure of the catalogue → column of the collection. */
const FIGURES = {
  computeCapability: 'cc',
  nominalMemoryGB: 'memoryGBNominal',
  nvidiaSmiTotalMiB: 'nvidiaSmiTotalMiB',
  usableMiB: 'usableMiB',
  memoryBandwidthGBps: 'memBandwidthGBps',
  fp32Tflops: 'fp32TFLOPS',
  tf32Tflops: 'tf32TFLOPS',
  fp16TensorTflops: 'fp16TensorTFLOPS',
  bf16: 'bf16',
  nvlinkGBps: 'nvlinkGBps',
  powerW: 'powerW',
} as const;

const FIELDS = Object.entries(FIGURES);

interface Figure {
  readonly value: unknown;
  readonly source: string;
  readonly note: unknown;
}

function figure(row: Row, column: string): Figure | undefined {
  const cells = row[column];
  return Array.isArray(cells) ? { value: cells[0], source: String(cells[1]), note: cells[2] } : undefined;
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** "remark on the name; field: remark; …" */
function note(row: Row): string | undefined {
  const remarks = FIELDS.flatMap(([field, column]) => {
    const remark = figure(row, column)?.note;
    return remark === undefined ? [] : [`${field}: ${remark}`];
  });
  const all = [...(row['namingNote'] === undefined ? [] : [String(row['namingNote'])]), ...remarks];
  return all.length === 0 ? undefined : all.join('; ');
}

function architecture(generation: string): string {
  if (generation === 'Ada Lovelace') return 'Ada';
  return ['Kepler', 'CDNA2', 'CDNA3', 'Da Vinci'].includes(generation) ? 'other' : generation;
}

function label(name: string): string {
  return name.replace(/^(NVIDIA|AMD|Huawei) (GeForce |Tesla )?/, '').replace(/ Generation$/, '');
}

/** What the two collections say, in the catalogue's fields: values, where each is from, remarks, and what follows from them. */
function common(row: Row): Row {
  const name = String(row['name']);
  const generation = String(row['arch']);
  const nvlink = Number(figure(row, FIGURES.nvlinkGBps)?.value ?? 0);
  return {
    name,
    label: label(name),
    aliases: row['aliases'],
    architecture: architecture(generation),
    generation,
    ...Object.fromEntries(FIELDS.map(([field, column]) => [field, figure(row, column)?.value])),
    fieldSources: Object.fromEntries(
      FIELDS.flatMap(([field, column]) => {
        const source = figure(row, column)?.source;
        return source === undefined ? [] : [[field, source]];
      }),
    ),
    nvlinkPairGBps: nvlink / 2,
    // NVLink is a way between the cards; without it nobody knows unless somebody tried.
    peerToPeer: nvlink > 0 ? true : undefined,
    training: String(row['training'] ?? 'suitable').replaceAll(' ', '-'),
    alibabaFamilies: row['alibabaFamilies'],
    note: note(row),
  };
}

/** Cards of the cloud: sources and recalled figures stand with each figure; Pascal and Volta left the default wheels. */
function cloudCard(row: Row): Row {
  const sources = FIELDS.flatMap(([, column]) => figure(row, column)?.source.split(', ') ?? []);
  const recalled = FIELDS.filter(([, column]) => figure(row, column)?.source.split(', ').includes('recall'));
  const capability = Number(figure(row, FIGURES.computeCapability)?.value);
  return {
    ...common(row),
    vendor: 'NVIDIA',
    smiNames: [],
    torchWheels: capability < 7.5 ? 'cu126-wheels-only' : 'default-wheels',
    source: [...new Set(sources)],
    recalledFields: recalled.map(([field]) => field),
    checkedOn: '2026-11-30',
  };
}

/** Recalled columns in the catalogue's words; columns that it does not carry fall out. */
function recalledFields(columns: readonly unknown[]): readonly string[] {
  const fields = new Map<unknown, string>(FIELDS.map(([field, column]) => [column, field]));
  fields.set('pytorch', 'torchWheels');
  return columns.flatMap((column) => fields.get(column) ?? []);
}

function ownedCard(row: Row): Row {
  const variants = list(row['laptopVariants']).map((cells) => ({ smiName: list(cells)[0], memoryGB: list(cells)[1] }));
  return {
    ...common(row),
    vendor: row['vendor'],
    smiNames: row['smiNames'] ?? [],
    torchWheels: row['pytorch'],
    source: row['sources'],
    recalledFields: recalledFields(list(row['recalledFields'])),
    laptopVariants: variants.length === 0 ? undefined : variants,
    checkedOn: row['checkedOn'],
  };
}

/** Rows of gpus.json as the two collections of figures make them. */
export function cardsAsCatalogue(cloud: readonly Row[], owned: readonly Row[]): readonly Row[] {
  return [...cloud.map(cloudCard), ...owned.map(ownedCard)];
}
