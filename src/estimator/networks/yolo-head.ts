import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { concat } from '../tape/ops-parts.ts';
import { reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { yoloConv } from './yolo-blocks.ts';
import { type YoloVariant, yoloChannels } from './yolo-network.ts';

/** Bins of a box side (distribution focal loss), and prototype masks. */
export const BINS = 16;
export const PROTOTYPES = 32;

/** What the head gives in training: A is the number of positions on all three maps. */
export interface YoloPredictions {
  /** B×64×A. */
  readonly boxes: Tensor;
  /** B×classes×A. */
  readonly scores: Tensor;
  /** B×32×A. */
  readonly coefficients: Tensor;
  /** B×32×H/4×W/4. */
  readonly prototypes: Tensor;
}

export interface YoloHead {
  readonly variant: YoloVariant;
  readonly classes: number;
}

/** Segment head of YOLOv8 and YOLO11 (ultralytics 8.4.190, nn/modules/head.py): boxes, classes, coefficients, prototypes. */
export function segmentHead(t: Tape, maps: readonly Tensor[], { variant, classes }: YoloHead): YoloPredictions {
  const finest = channelsOf(maps[0] ?? fail());
  const boxWidth = Math.max(16, Math.floor(finest / 4), 4 * BINS);
  const classWidth = Math.max(finest, Math.min(classes, 100));
  const maskWidth = Math.max(Math.floor(finest / 4), PROTOTYPES);
  const classBranch = variant.generation === 'v8' ? plainBranch : separableBranch;
  return t.call(variant.generation === 'v8' ? 'model.22' : 'model.23', maps, () => {
    const boxes = branches(t, maps, { name: 'cv2', branch: plainBranch, width: boxWidth, out: 4 * BINS });
    const scores = branches(t, maps, { name: 'cv3', branch: classBranch, width: classWidth, out: classes });
    const coefficients = branches(t, maps, { name: 'cv4', branch: plainBranch, width: maskWidth, out: PROTOTYPES });
    // Fixed weights that only inference uses.
    t.freeze(true, () => t.param(1, BINS, 1, 1));
    const prototypes = prototypeMasks(t, maps[0] ?? fail(), yoloChannels(variant, 256));
    return { boxes, scores, coefficients, prototypes };
  });
}

function fail(): never {
  throw new RangeError('the head needs three maps');
}

interface Branches {
  readonly name: string;
  readonly branch: (t: Tape, x: Tensor, width: number) => Tensor;
  readonly width: number;
  readonly out: number;
}

/** The same small network on every map, positions joined: B×out×A. */
function branches(t: Tape, maps: readonly Tensor[], { name, branch, width, out }: Branches): Tensor {
  const flat = maps.map((map, level) => {
    const [height, widthOfMap] = sizeOf(map);
    const predicted = t.call(`${name}.${level}`, map, () =>
      t.within('2', () => conv2d(t, branch(t, map, width), { out, kernel: 1, bias: true })),
    );
    return reshape(t, predicted, [map.shape[0] ?? 1, out, height * widthOfMap]);
  });
  return concat(t, flat, 2);
}

function plainBranch(t: Tape, x: Tensor, width: number): Tensor {
  return yoloConv(t, '1', yoloConv(t, '0', x, { out: width, kernel: 3 }), { out: width, kernel: 3 });
}

/** Depthwise 3×3 and pointwise, twice. */
function separableBranch(t: Tape, x: Tensor, width: number): Tensor {
  const pair = (name: string, y: Tensor): Tensor => {
    const channels = channelsOf(y);
    return t.call(name, y, () => {
      const depthwise = yoloConv(t, '0', y, { out: channels, kernel: 3, groups: channels });
      return yoloConv(t, '1', depthwise, { out: width });
    });
  };
  return pair('1', pair('0', x));
}

/** Proto: prototype masks at a quarter of the image. */
function prototypeMasks(t: Tape, x: Tensor, width: number): Tensor {
  return t.call('proto', x, () => {
    const narrow = yoloConv(t, 'cv1', x, { out: width, kernel: 3 });
    const larger = t.call('upsample', narrow, () =>
      convTranspose2d(t, narrow, { out: width, kernel: 2, stride: 2, bias: true }),
    );
    return yoloConv(t, 'cv3', yoloConv(t, 'cv2', larger, { out: width, kernel: 3 }), { out: PROTOTYPES });
  });
}
