import type { WorkAmount, WorkKind } from './tape-types.ts';

/** Work of the operations of a tape, in parallel lists. */
export class WorkLog {
  readonly kinds: WorkKind[] = [];
  /** Whether the operation computes in 16 bits. */
  readonly half: boolean[] = [];
  /** Multiply-accumulates of the forward operation. */
  readonly macs: number[] = [];
  /** Bytes that the forward operation reads and writes. */
  readonly bytes: number[] = [];
  /** Products of the same size in backward, a second forward run of a checkpointed region among them. */
  readonly products: number[] = [];
  totalMacs = 0;
  /** Small operations around which the host waits for the device. */
  waitingLaunches = 0;

  add(kind: WorkKind, half: boolean, { macs, bytes, products = 0 }: WorkAmount): void {
    this.totalMacs += macs;
    this.kinds.push(kind);
    this.half.push(half);
    this.macs.push(macs);
    this.bytes.push(bytes);
    this.products.push(products);
  }
}

/** Bytes inside the kernels of some operations, in the order of the operations. */
export class KernelMemory {
  private readonly operations: number[] = [];
  private readonly bytes: number[] = [];

  get total(): number {
    return this.bytes.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** @param operation the last one, or a later one. */
  add(operation: number, bytes: number): void {
    const last = this.operations.length - 1;
    if (this.operations[last] === operation) this.bytes[last] = (this.bytes[last] ?? 0) + bytes;
    else {
      this.operations.push(operation);
      this.bytes.push(bytes);
    }
  }

  at(operation: number): number {
    return this.bytes[this.operations.indexOf(operation)] ?? 0;
  }

  /** Answers for operations asked in their order, without a search. */
  reader(): (operation: number) => number {
    let next = 0;
    return (operation) => {
      if (this.operations[next] !== operation) return 0;
      next += 1;
      return this.bytes[next - 1] ?? 0;
    };
  }
}
