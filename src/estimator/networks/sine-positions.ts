import { derived } from '../tape/ops-masks.ts';
import { permute } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/**
 * SinePositionalEncoding of DETR-like models (mmdet 3.3): B×2F×H×W as a view of B×H×W×2F in fp32, from a mask of
 * B×H×W bytes; nothing in it is trained.
 */
export function sinePositions(t: Tape, mask: Tensor, features: number): Tensor {
  const [batch = 1, height = 1, width = 1] = mask.shape;
  return t.call('positional_encoding', mask, () => {
    const plane = { shape: [batch, height, width], dtype: 'float' } as const;
    const numbers = derived(t, 'to', [mask], plane);
    const free = derived(t, 'rsub', [numbers], plane);
    const rows = derived(t, 'cumsum', [free], plane);
    const columns = derived(t, 'cumsum', [free], plane);
    const bands = { shape: [batch, height, width, features], dtype: 'float' } as const;
    const across = derived(t, 'div', [columns], bands);
    const down = derived(t, 'div', [rows], bands);
    const horizontal = waves(t, across, bands.shape);
    const vertical = waves(t, down, bands.shape);
    const all = derived(t, 'cat', [vertical, horizontal], {
      shape: [batch, height, width, 2 * features],
      dtype: 'float',
    });
    t.keep(numbers, free, rows, columns, horizontal, vertical);
    return permute(t, all, [0, 3, 1, 2]);
  });
}

/** Sine of the even and cosine of the odd bands, interleaved. */
function waves(t: Tape, x: Tensor, shape: readonly number[]): Tensor {
  const half = { shape: [...shape.slice(0, -1), (shape[shape.length - 1] ?? 2) / 2], dtype: 'float' } as const;
  const sine = derived(t, 'sin', [x], half);
  const cosine = derived(t, 'cos', [x], half);
  return derived(t, 'stack', [x, sine, cosine], { shape, dtype: 'float' });
}
