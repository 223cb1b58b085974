import { addInPlace, multiply, shift } from '../tape/ops-core.ts';
import { indexed } from '../tape/ops-index.ts';
import { bmm } from '../tape/ops-linear.ts';
import { binaryCrossEntropy } from '../tape/ops-loss.ts';
import { derived, dividedBy } from '../tape/ops-masks.ts';
import { unbind } from '../tape/ops-parts.ts';
import { mean, sum } from '../tape/ops-resize.ts';
import { reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type Assigned, type Assignment, positivesOf } from './yolo-assigner.ts';

interface MaskLoss {
  /** B×A×32. */
  readonly coefficients: Tensor;
  /** B×32×h×w. */
  readonly prototypes: Tensor;
  /** B×h×w: the number of the object that each pixel shows. */
  readonly truth: Tensor;
  readonly assigned: Assigned;
}

/**
 * Mask loss, image by image: masks of all positions that belong to objects, each against its object's pixels and cut to
 * its box (ultralytics 8.4.190, utils/loss.py, `calculate_segmentation_loss`, overlapping masks in one map). Scalar.
 */
export function maskLoss(t: Tape, { coefficients, prototypes, truth, assigned }: MaskLoss, sizes: Assignment): Tensor {
  const { batch, positions } = sizes;
  const masks = derived(t, 'to', [truth], { shape: truth.shape, dtype: 'float' });
  const boxes = derived(t, 'div', [assigned.boxes], { shape: [batch, positions, 4], dtype: 'float' });
  const areas = derived(t, 'prod', [boxes], { shape: [batch, positions], dtype: 'float' });
  const scaled = derived(t, 'mul', [boxes], { shape: [batch, positions, 4], dtype: 'float' });
  const perImage = unbind(t, coefficients);
  const perImagePrototypes = unbind(t, prototypes);
  let total: Tensor | undefined;
  for (const [index, row] of perImage.entries()) {
    const image = { coefficients: row, prototypes: perImagePrototypes[index] ?? prototypes, masks, assigned };
    const loss = imageLoss(t, { ...image, areas, scaled }, positivesOf(sizes));
    total = total === undefined ? shift(t, loss) : addInPlace(t, total, loss);
  }
  if (total === undefined) throw new RangeError('no images');
  const count = derived(t, 'sum', [assigned.chosen], { shape: [], dtype: 'long' });
  const result = dividedBy(t, total, count);
  t.keep(masks, boxes, areas, scaled, coefficients, prototypes, assigned.boxes, assigned.indices, assigned.chosen);
  return result;
}

interface OneImage {
  readonly coefficients: Tensor;
  readonly prototypes: Tensor;
  readonly masks: Tensor;
  readonly assigned: Assigned;
  readonly areas: Tensor;
  readonly scaled: Tensor;
}

function imageLoss(t: Tape, image: OneImage, count: number): Tensor {
  const [channels = 1, height = 1, width = 1] = image.prototypes.shape;
  const { chosen, indices } = image.assigned;
  const objects = derived(t, 'index', [indices, chosen], { shape: [count], dtype: 'long' });
  const equal = derived(t, 'eq', [image.masks, objects], { shape: [count, height, width], dtype: 'byte' });
  const target = derived(t, 'to', [equal], { shape: [count, height, width], dtype: 'float' });
  const picked = indexed(t, image.coefficients, [count, channels], chosen);
  const boxes = derived(t, 'index', [image.scaled], { shape: [count, 4], dtype: 'float' });
  const area = derived(t, 'index', [image.areas], { shape: [count], dtype: 'float' });
  const flat = reshape(t, image.prototypes, [1, channels, height * width]);
  const predicted = reshape(t, bmm(t, reshape(t, picked, [1, count, channels]), flat), [count, height, width]);
  const map = cropped(t, binaryCrossEntropy(t, predicted, target, false), boxes);
  const loss = sum(t, dividedBy(t, mean(t, map, [1, 2], false), area), [0], false);
  t.keep(predicted, map, target, boxes, area, picked, objects);
  return loss;
}

/** Zeroes each mask outside of its box, columns then rows, in place. */
function cropped(t: Tape, map: Tensor, boxes: Tensor): Tensor {
  const [count = 1, height = 1, width = 1] = map.shape;
  const within = (shape: readonly number[], x: Tensor): Tensor => {
    const above = derived(t, 'ge', [boxes], { shape, dtype: 'byte' });
    const below = derived(t, 'lt', [boxes], { shape, dtype: 'byte' });
    return multiply(t, x, derived(t, 'mul', [above, below], { shape, dtype: 'byte' }), { inPlace: true });
  };
  const columns = derived(t, 'arange', [], { shape: [width], dtype: 'float' });
  const rows = derived(t, 'arange', [], { shape: [height], dtype: 'float' });
  const cut = within([count, height, 1], within([count, 1, width], map));
  t.keep(columns, rows);
  return cut;
}
