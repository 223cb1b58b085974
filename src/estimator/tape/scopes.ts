import type { Region, Tensor } from './storage.ts';

export interface Scope {
  readonly path: string;
  readonly parent: number;
  readonly children: Map<string, number>;
}

/** Index of the module `name` inside `parent`, made on first use. */
export function childScope(scopes: Scope[], parent: number, name: string): number {
  const scope = scopes[parent];
  const known = scope?.children.get(name);
  if (known !== undefined) return known;
  const path = scope === undefined || scope.path === '' ? name : `${scope.path}.${name}`;
  scopes.push({ path, parent, children: new Map() });
  const index = scopes.length - 1;
  scope?.children.set(name, index);
  return index;
}

interface Position {
  /** The operation executed last. */
  readonly operation: number;
  /** Numbers of storages and nodes made so far. */
  readonly storage: number;
  readonly node: number;
}

/** A checkpointed stretch that begins after `at`; its end is filled in when it is left. */
export function newRegion(
  parent: Region | null,
  at: Position,
  { inputs, reentrant }: { inputs: readonly Tensor[]; reentrant: Region['reentrant'] },
): Region {
  return {
    parent,
    firstOperation: at.operation + 1,
    firstStorage: at.storage,
    firstNode: at.node,
    lastOperation: at.operation,
    lastStorage: 0,
    lastNode: 0,
    inputs: inputs.map((input) => input.storage),
    replayed: false,
    reentrant,
  };
}
