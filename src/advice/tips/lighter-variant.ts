import { canonicalBackbone } from '../../../catalog/library-names.ts';
import type { AccuracyRow } from '../../../catalog/rows.ts';
import type { Workload } from '../../estimator/workload.ts';
import { BYTES_PER_GIB } from '../fit.ts';
import { baseOf, effectOf, type RankedTip, type TipInput } from './context.ts';

/** A variant that saves less than this share of the peak is no reason to change the model. */
const WORTH_A_CHANGE = 0.15;

/** Rows may be compared only with equal library, data set, metric, crop and length of training (accuracy.json). */
const setupOf = (row: AccuracyRow): string =>
  [row.library, row.dataset, row.metric, row.cropHeight, row.cropWidth, row.iterations, row.variant].join('|');

function comparableRows(input: TipInput, workload: Workload): readonly AccuracyRow[] {
  const { catalog } = input.judging.ports;
  const { model } = workload;
  const libraries = [model.implementation, 'mmseg', 'original', 'torchvision'];
  for (const library of libraries) {
    const rows = catalog.accuracyFor({ library, architecture: model.architecture });
    if (rows.some((row) => isBackbone(row, model.backbone))) return rows;
  }
  return [];
}

const isBackbone = (row: AccuracyRow, backbone: string | null): boolean =>
  row.backbone !== null && backbone !== null && canonicalBackbone(row.backbone) === canonicalBackbone(backbone);

/** The published row of the asked model that suits the asked data best, and the others trained the same way. */
function peersOf(input: TipInput, workload: Workload) {
  const rows = comparableRows(input, workload);
  const suits = (row: AccuracyRow): number => {
    const dataset = input.judging.ports.catalog.datasets.find((one) => one.id === row.dataset);
    const sameSize = row.cropHeight === workload.imageHeight && row.cropWidth === workload.imageWidth;
    return (
      Number(row.dataset === input.judging.request.run.dataset) * 4 +
      Number(dataset?.numClasses === workload.numClasses) * 2 +
      Number(sameSize)
    );
  };
  const setups = new Map(rows.map((row) => [row, setupOf(row)]));
  const alike = (one: AccuracyRow, other: AccuracyRow) => setups.get(one) === setups.get(other);
  const own = rows
    .filter((row) => isBackbone(row, workload.model.backbone))
    .map((row) => ({ row, peers: rows.filter((peer) => alike(row, peer) && peer.id !== row.id) }))
    .filter((one) => one.peers.length > 0)
    .sort((left, right) => suits(right.row) - suits(left.row) || right.peers.length - left.peers.length);
  return own[0];
}

const SIZED = /^([a-z0-9-]*?)-?(\d+|xl|[tsbl])$/;
const LETTERS = ['t', 's', 'b', 'l', 'xl'];

/** A ResNeSt has the blocks of the ResNet of its depth, and split attention in each of them. */
const HEAVIER_FAMILIES: Readonly<Record<string, string>> = { resnest: 'resnet' };

/** Of one family, or of one built upon it, and larger by name (`mit-b5` beside `mit-b2`): no need to estimate what it would save. */
function isLargerSibling(backbone: string, than: string): boolean {
  const [, family, size = ''] = SIZED.exec(backbone) ?? [];
  const [, otherFamily, otherSize = ''] = SIZED.exec(canonicalBackbone(than)) ?? [];
  if (family === undefined || otherFamily === undefined) return false;
  if (family !== otherFamily && HEAVIER_FAMILIES[family] !== otherFamily) return false;
  const rank = (text: string) => (/^\d+$/.test(text) ? Number(text) : LETTERS.indexOf(text));
  return rank(size) > rank(otherSize);
}

/** The lighter backbone with the best published accuracy: memory saved beside mIoU lost. */
export function lighterVariant(input: TipInput): RankedTip | undefined {
  const base = baseOf(input);
  const { model } = base;
  const compared = peersOf(input, base);
  if (compared === undefined) return undefined;
  const peakGiB = input.asked.bytes.allocatedPeak / BYTES_PER_GIB;
  const variantOf = input.judging.ports.variantOf ?? ((spec, backbone) => ({ ...spec, backbone }));
  const tried = new Set<string>();
  for (const peer of [...compared.peers].sort((left, right) => right.value - left.value)) {
    const backbone = peer.backbone === null ? null : canonicalBackbone(peer.backbone);
    if (backbone === null || tried.has(backbone) || isBackbone(peer, model.backbone)) continue;
    tried.add(backbone);
    if (isLargerSibling(backbone, model.backbone ?? '')) continue;
    const variant = variantOf(model, backbone);
    const effect = variant === undefined ? undefined : effectOf(input, { model: variant });
    if (effect === undefined || effect.savesGiB < WORTH_A_CHANGE * peakGiB) continue;
    const values = {
      from: model.backbone ?? '',
      to: backbone,
      metric: peer.metric,
      accuracyFrom: compared.row.value,
      accuracyTo: peer.value,
      dataset: peer.dataset,
      library: peer.library,
      checkedOn: peer.checkedOn,
    };
    const tip = {
      id: 'lighter-variant',
      savesGiB: effect.savesGiB,
      timeFactor: effect.timeFactor,
      values,
      say: backbone,
    };
    return { tip, gives: 'memory', lossless: false };
  }
  return undefined;
}
