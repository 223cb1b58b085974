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
