import type { z } from 'zod';
import type { headSchemas, rowSchemas } from './schema.ts';

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;
type Row<Kind extends keyof typeof rowSchemas> = Frozen<z.infer<(typeof rowSchemas)[Kind]>>;

export type GpuRow = Row<'gpu'>;
export type AmbiguousGpuRow = Row<'ambiguousGpu'>;
export type InstanceRow = Row<'instance'>;
export type PriceRow = Row<'price'>;
export type ObservedPriceRow = Row<'observedPrice'>;
export type UsdMinimumRow = Row<'usdMinimum'>;
export type DiskRow = Row<'disk'>;
export type DatasetRow = Row<'dataset'>;
export type AmbiguousDatasetRow = Row<'ambiguousDataset'>;
export type AccuracyRow = Row<'accuracy'>;
export type RecipeRow = Row<'recipe'>;
export type PriceHead = Frozen<z.infer<typeof headSchemas.prices>>;

/** The price file as it was read: dated rows, single quotations, the international site's minima, disks. */
export interface PriceTable {
  readonly head: PriceHead;
  readonly rows: readonly PriceRow[];
  readonly observations: readonly ObservedPriceRow[];
  readonly usdMinimum: readonly UsdMinimumRow[];
  readonly disks: readonly DiskRow[];
}
