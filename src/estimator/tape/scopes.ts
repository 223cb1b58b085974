import type { Region, Tensor } from './storage.ts';

/** A module of the network; most have no children, and only few are ever asked for their path. */
export class Scope {
  private readonly parent: Scope | null;
  private readonly name: string;
  private children: Map<string, number> | null = null;
  private known: string | null = null;

  constructor(parent: Scope | null, name: string) {
    this.parent = parent;
    this.name = name;
  }

  /** Names of the modules from the network's to this one, joined by dots; empty for the network itself. */
  get path(): string {
    this.known ??= this.parent === null || this.parent.path === '' ? this.name : `${this.parent.path}.${this.name}`;
    return this.known;
  }

  child(name: string): number | undefined {
    return this.children?.get(name);
  }

  adopt(name: string, index: number): void {
    this.children ??= new Map();
    this.children.set(name, index);
  }
}

/** Index of the module `name` inside `parent`, made on first use. */
export function childScope(scopes: Scope[], parent: number, name: string): number {
  const scope = scopes[parent] ?? null;
  const known = scope?.child(name);
  if (known !== undefined) return known;
  const index = scopes.length;
  scopes.push(new Scope(scope, name));
  scope?.adopt(name, index);
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
