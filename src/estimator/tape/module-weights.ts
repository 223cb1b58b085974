import type { Tensor } from './storage.ts';

/** Parameters and buffers of modules that run more than once, in the order of their first run. */
export class ModuleWeights {
  readonly tensors: Tensor[] = [];
}
