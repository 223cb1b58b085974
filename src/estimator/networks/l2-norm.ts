import { byteSize, multiply, unary } from '../tape/ops-core.ts';
import { expand } from '../tape/ops-shape.ts';
import { freshRule } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/** `F.normalize(x, p=2)` along `axis`: under autocast the norm is computed in fp32 without a copy of the input; keeps the input, the norm and its clamp. */
export function l2Norm(t: Tape, x: Tensor, axis: number): Tensor {
  const dtype = t.autocast ? 'float' : x.dtype;
  const shape = x.shape.map((side, index) => (index === axis ? 1 : side));
  t.begin('linalg_vector_norm', [x]);
  const storage = t.allocate(shape, dtype);
  t.work('reduction', x.dtype === 'half', { macs: 0, bytes: byteSize(x) });
  const norm = t.result(
    { storage, shape, dtype },
    { name: 'linalg_vector_norm', inputs: [x], saved: [x.storage, storage], rule: freshRule },
  );
  const clamped = unary(t, norm, 'clamp_min', { keeps: 'input' });
  return multiply(t, x, expand(t, clamped, x.shape), { name: 'div' });
}
