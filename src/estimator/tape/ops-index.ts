import { byteSize } from './ops-core.ts';
import { emitFresh } from './rules.ts';
import type { BackwardRule, Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

/** Backward of indexing: zeros, then a copy of them with the gradient put in. */
const indexRule: BackwardRule = (walk, node) => {
  const [input] = node.inputs;
  if (input === undefined || input.edge === null) return;
  const zeros = walk.fresh(input.shape, input.dtype);
  emitFresh(walk, node, 0);
  walk.release(zeros.buffer);
};

/** `x[indices]` with a mask or integer tensor: a copy; keeps the indices. */
export function indexed(t: Tape, x: Tensor, shape: readonly number[], indices?: Tensor): Tensor {
  t.begin('index', indices === undefined ? [x] : [x, indices]);
  const storage = t.allocate(shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: byteSize(x) + storage.bytes });
  const saved = indices === undefined ? [] : [indices.storage];
  return t.result({ storage, shape, dtype: x.dtype }, { name: 'index', inputs: [x], saved, rule: indexRule });
}
