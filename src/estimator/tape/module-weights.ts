import type { Tensor } from './storage.ts';

/** Parameters and buffers of modules that run more than once, in the order of their first run. */
export class ModuleWeights {
  readonly tensors: Tensor[] = [];
}

/** Place in `weights` during one run. */
export class WeightCursor {
  private readonly weights: ModuleWeights;
  private at = 0;

  constructor(weights: ModuleWeights) {
    this.weights = weights;
  }

  /** The next weight or buffer of an earlier run; undefined in the first. */
  next(): Tensor | undefined {
    this.at += 1;
    return this.weights.tensors[this.at - 1];
  }

  add(tensor: Tensor): void {
    this.weights.tensors.push(tensor);
  }
}
