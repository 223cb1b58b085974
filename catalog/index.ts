import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkGpuNames, checkInstances, isProposable } from './cross-check.ts';
import { type GpuIndex, type GpuMatch, indexGpus } from './gpu-names.ts';
import { accuracyIn, type DatasetMatch, findDatasetIn, recipesIn } from './library-names.ts';
import { checkLists, deepFreeze, type Folders, invalidCatalog, readDocument, readList } from './load.ts';
import { once } from './once.ts';
import type {
  AccuracyRow,
  AmbiguousDatasetRow,
  AmbiguousGpuRow,
  DatasetRow,
  GpuRow,
  InstanceRow,
  PriceTable,
  RecipeRow,
} from './rows.ts';
import { headSchemas, rowSchemas } from './schema.ts';

/** Facts with source and date, parsed, cross-checked and frozen. Rarely needed files are read on first use. */
export interface Catalog {
  readonly gpus: readonly GpuRow[];
  readonly ambiguousGpus: readonly AmbiguousGpuRow[];
  readonly instances: readonly InstanceRow[];
  readonly prices: PriceTable;
  readonly datasets: readonly DatasetRow[];
  readonly ambiguousDatasets: readonly AmbiguousDatasetRow[];
  readonly recipes: readonly RecipeRow[];
  readonly accuracy: readonly AccuracyRow[];
  /** By any name people type; digits exact; `memoryGiB` narrows ("V100", 32). */
  findGpu(text: string, memoryGiB?: number): GpuMatch;
  /** By the vendor's full name, as instance rows carry it. */
  gpuByName(name: string): GpuRow | undefined;
  instance(instanceType: string): InstanceRow | undefined;
  /** Types that may be proposed for training with this card and this many GPUs (advice.md: passthrough, listed, not invitational). */
  proposable(gpuName: string, gpuCount?: number): readonly InstanceRow[];
  findDataset(text: string): DatasetMatch;
  recipesFor(wanted: {
    readonly library: string;
    readonly architecture: string;
    readonly dataset: string;
  }): readonly RecipeRow[];
  accuracyFor(wanted: {
    readonly library: string;
    readonly architecture: string;
    readonly dataset?: string;
  }): readonly AccuracyRow[];
}

/** Folder of the built-in files, in the sources as in the build. */
export const builtInFolder: string = dirname(fileURLToPath(import.meta.url));

const GPUS = 'gpus.json';
const INSTANCES = 'instances/alibaba.json';
const PRICES = 'prices/alibaba.json';
const DATASETS = 'datasets.json';
const RECIPES = 'recipes.json';
const ACCURACY = 'accuracy.json';

function checkFolder(directory: string): void {
  const entry = statSync(directory, { throwIfNoEntry: false });
  if (entry?.isDirectory() !== true) {
    throw invalidCatalog({ file: directory, row: '', field: '' }, 'the folder does not exist');
  }
  for (const file of [GPUS, INSTANCES, PRICES, DATASETS, RECIPES, ACCURACY]) checkLists(builtInFolder, directory, file);
}

function readPrices(folders: Folders): PriceTable {
  const file = PRICES;
  const heads = folders.flatMap((folder) => readDocument(folder, file) ?? []);
  const head = headSchemas.prices.safeParse(Object.assign({}, ...heads));
  if (!head.success) throw invalidCatalog({ file, row: 'head', field: '' }, 'missing or wrong head', head.error);
  const { price, observedPrice, usdMinimum, disk } = rowSchemas;
  return deepFreeze({
    head: head.data,
    rows: readList(folders, { file, list: 'rows', schema: price, key: (row) => `${row.instanceType} ${row.region}` }),
    observations: readList(folders, {
      file,
      list: 'observations',
      schema: observedPrice,
      key: (row) => `${row.instanceType} ${row.regions.join('+')} ${row.checkedOn}`,
    }),
    usdMinimum: readList(folders, { file, list: 'usdMinimum', schema: usdMinimum, key: (row) => row.instanceType }),
    disks: readList(folders, { file, list: 'disks', schema: disk, key: (row) => `${row.category} ${row.level}` }),
  });
}

function readGpus(folders: Folders) {
  const { gpu, ambiguousGpu } = rowSchemas;
  const gpus = readList(folders, { file: GPUS, list: 'rows', schema: gpu, key: (row) => row.name });
  const ambiguous = readList(folders, { file: GPUS, list: 'ambiguous', schema: ambiguousGpu, key: (row) => row.typed });
  checkGpuNames(GPUS, gpus, ambiguous);
  return { gpus, ambiguous };
}

function lookups(gpus: GpuIndex, instances: readonly InstanceRow[]) {
  const byType = new Map(instances.map((row) => [row.instanceType, row]));
  const proposable = new Map<string, InstanceRow[]>();
  for (const row of instances.filter(isProposable)) {
    const sameCard = proposable.get(row.gpu);
    if (sameCard === undefined) proposable.set(row.gpu, [row]);
    else sameCard.push(row);
  }
  return {
    findGpu: gpus.find,
    gpuByName: gpus.byName,
    instance: (instanceType: string) => byType.get(instanceType) ?? byType.get(`ecs.${instanceType}`),
    proposable: (gpuName: string, gpuCount?: number) =>
      (proposable.get(gpuName) ?? []).filter((row) => gpuCount === undefined || row.gpuCount === gpuCount),
  };
}

const byId = (row: { readonly id: string }): string => row.id;

/** Lists that most starts never need: read on first use. */
function lazyLists(folders: Folders) {
  const { dataset, ambiguousDataset, recipe, accuracy } = rowSchemas;
  const file = DATASETS;
  const list = 'rows';
  return {
    datasets: once(() => readList(folders, { file, list, schema: dataset, key: byId })),
    ambiguousDatasets: once(() =>
      readList(folders, { file, list: 'ambiguous', schema: ambiguousDataset, key: (row) => row.term }),
    ),
    recipes: once(() => readList(folders, { file: RECIPES, list, schema: recipe, key: byId })),
    accuracy: once(() => readList(folders, { file: ACCURACY, list, schema: accuracy, key: byId })),
  };
}

/**
 * Reads the built-in catalogue and lays the operator's folder over it row by row.
 *
 * @throws AppError `invalid-catalog` with file, row and field.
 */
export function loadCatalog(directory?: string): Catalog {
  if (directory !== undefined) checkFolder(directory);
  const folders: Folders = directory === undefined ? [builtInFolder] : [builtInFolder, directory];
  const { gpus, ambiguous } = readGpus(folders);
  const instances = readList(folders, {
    file: INSTANCES,
    list: 'rows',
    schema: rowSchemas.instance,
    key: (row) => row.instanceType,
  });
  checkInstances(INSTANCES, instances, gpus);
  const prices = readPrices(folders);
  const { datasets, ambiguousDatasets, recipes, accuracy } = lazyLists(folders);
  return Object.freeze({
    gpus,
    ambiguousGpus: ambiguous,
    instances,
    prices,
    get datasets() {
      return datasets();
    },
    get ambiguousDatasets() {
      return ambiguousDatasets();
    },
    get recipes() {
      return recipes();
    },
    get accuracy() {
      return accuracy();
    },
    ...lookups(indexGpus(gpus, ambiguous), instances),
    findDataset: (text: string) => findDatasetIn(datasets(), ambiguousDatasets(), text),
    recipesFor: (wanted) => recipesIn(recipes(), wanted),
    accuracyFor: (wanted) => accuracyIn(accuracy(), wanted),
  } satisfies Catalog);
}
