import { AppError } from '../../errors.ts';
import type { Run } from './network.ts';

/** Value of `table` under a name that comes from outside. */
export function lookUp<V>(table: Readonly<Record<string, V>>, name: string | null): V | undefined {
  return name !== null && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** The error for a backbone that a family is not built on, with those it is. */
export function unknownBackbone({ spec }: Run, known: readonly string[]): AppError {
  const { implementation, architecture, backbone } = spec;
  return new AppError(
    'unknown-backbone',
    `${implementation} ${architecture} is not built on ${backbone ?? 'nothing'}`,
    {
      details: { implementation, architecture, backbone: backbone ?? '', known: known.join(', ') },
    },
  );
}

/** The convolutional backbone has few channels: its heads are narrower in the official configs. */
export function isBasicResnet({ spec }: Run): boolean {
  return spec.backbone === 'resnet18' || spec.backbone === 'resnet34';
}
