import { derived } from '../tape/ops-masks.ts';
import { permute } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/**
 * Sine position embedding of the mask classifiers in transformers 5.24 without a padding mask: B×2F×H×W as a view of
 * B×H×W×2F in fp32; nothing in it is trained. `like`: the map, B×…×H×W.
 */
export function hfSinePositions(t: Tape, like: Tensor, features: number): Tensor {
  const [batch = 1, , height = 1, width = 1] = like.shape;
  const plane = { shape: [batch, height, width], dtype: 'float' } as const;
  const rows = derived(t, 'mul', [derived(t, 'div', [], plane)], plane);
  const columns = derived(t, 'mul', [derived(t, 'div', [], plane)], plane);
  const bands = { shape: [batch, height, width, features], dtype: 'float' } as const;
  const across = derived(t, 'div', [columns], bands);
  const down = derived(t, 'div', [rows], bands);
  const horizontal = waves(t, across);
  const vertical = waves(t, down);
  t.keep(horizontal, rows, columns);
  const all = derived(t, 'cat', [vertical, horizontal], {
    shape: [batch, height, width, 2 * features],
    dtype: 'float',
  });
  return permute(t, all, [0, 3, 1, 2]);
}

/** Sine of the even and cosine of the odd bands, interleaved. */
function waves(t: Tape, x: Tensor): Tensor {
  const half = { shape: [...x.shape.slice(0, -1), (x.shape[3] ?? 2) / 2], dtype: 'float' } as const;
  const sine = derived(t, 'sin', [x], half);
  const cosine = derived(t, 'cos', [x], half);
  return derived(t, 'stack', [x, sine, cosine], { shape: x.shape, dtype: 'float' });
}
