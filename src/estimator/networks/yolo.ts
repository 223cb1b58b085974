import { AppError } from '../../errors.ts';
import { add, scale } from '../tape/ops-core.ts';
import { derived } from '../tape/ops-masks.ts';
import { concat } from '../tape/ops-parts.ts';
import { clone, permute } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { imageInput, type Network, type Run } from './network.ts';
import type { Assignment } from './yolo-assigner.ts';
import { detectionLosses } from './yolo-box-loss.ts';
import { BINS, segmentHead, type YoloPredictions } from './yolo-head.ts';
import { maskLoss } from './yolo-mask-loss.ts';
import { YOLO_SIZES, type YoloVariant, yoloFeatures } from './yolo-network.ts';

/** Image sides are rounded up to this (`check_imgsz`, ultralytics 8.4.190). */
const STRIDE = 32;
/** Small kernels around which the host waits: of one batch in the assigner, and of one image in the mask loss (counted from utils/tal.py and utils/loss.py). */
const WAITING_LAUNCHES = { batch: 100, image: 25 } as const;
/** Masks hold object numbers in one byte up to here, in four above (data/utils.py, `polygons2masks_overlap`). */
const BYTE_OBJECTS = 255;

function paddedSide(side: number): number {
  return Math.ceil(side / STRIDE) * STRIDE;
}

/** Validation pads its pictures to the stride first. */
function refuseOddSides({ shape: [, , height = 1, width = 1] }: Tensor): void {
  if (height % STRIDE === 0 && width % STRIDE === 0) return;
  throw new AppError('unsupported-combination', `sides must be multiples of ${STRIDE}, not ${height}×${width}`, {
    details: { rule: 'multiple-of', height, width, multipleOf: STRIDE },
  });
}

function predict(run: Run, image: Tensor, variant: YoloVariant): YoloPredictions {
  const { t, w } = run;
  const { maps, held } = yoloFeatures(t, image, variant, w.frozenBackbone);
  const predictions = segmentHead(t, maps, { variant, classes: w.numClasses });
  t.keep(...held);
  return predictions;
}

/** What the trainer brings to the device beside images: masks of objects and of classes at a quarter of the size, boxes and labels. */
function targets(t: Tape, { w }: Run, [height, width]: readonly [number, number]): Tensor {
  const count = w.batchSize * w.instancesPerImage;
  const quarter = [w.batchSize, height / 4, width / 4];
  const masks = t.target(quarter, w.instancesPerImage > BYTE_OBJECTS ? 'float' : 'byte');
  t.target(quarter, 'float');
  t.target([count], 'float');
  t.target([count, 1], 'float');
  t.target([count, 4], 'float');
  t.target([BINS], 'float');
  t.target([3], 'float');
  return masks;
}

/** Box, mask, class and distribution losses, weighted and summed (`v8SegmentationLoss`). */
function segmentationLoss(t: Tape, p: YoloPredictions, truth: Tensor, sizes: Assignment): Tensor {
  return t.within('loss', () => {
    const rows = (x: Tensor): Tensor => clone(t, permute(t, x, [0, 2, 1]));
    const coefficients = rows(p.coefficients);
    const { losses, assigned } = detectionLosses(t, { distances: rows(p.boxes), scores: rows(p.scores) }, sizes);
    const mask = maskLoss(t, { coefficients, prototypes: p.prototypes, truth, assigned }, sizes);
    const total = losses.reduce((sum, loss) => add(t, sum, loss), mask);
    t.keep(...losses, p.boxes, p.scores, p.coefficients);
    return scale(t, total);
  });
}

/** The moving average of weights and statistics that `ModelEMA` keeps beside the model counts among the buffers. */
function keepAverage(t: Tape): void {
  t.bufferBytes += t.parameterBytes + t.bufferBytes;
}

/** YOLOv8-seg and YOLO11-seg as ultralytics trains them. */
function yoloSegment(variant: YoloVariant): Network {
  return {
    train: (run) => {
      const { t, w } = run;
      const height = paddedSide(w.imageHeight);
      const width = paddedSide(w.imageWidth);
      const image = imageInput(t, { batch: w.batchSize, channels: w.inputChannels, height, width });
      const truth = targets(t, run, [height, width]);
      t.works.waitingLaunches += WAITING_LAUNCHES.batch + WAITING_LAUNCHES.image * w.batchSize;
      const predictions = predict(run, image, variant);
      const positions = predictions.boxes.shape[2] ?? 0;
      const sizes = { batch: w.batchSize, objects: w.instancesPerImage, positions, classes: w.numClasses };
      const loss = segmentationLoss(t, predictions, truth, sizes);
      keepAverage(t);
      return loss;
    },
    /** Decoded boxes, class probabilities and coefficients of all positions. */
    infer: (run, image) => {
      const { t } = run;
      refuseOddSides(image);
      const { boxes, scores, coefficients, prototypes } = predict(run, image, variant);
      const [batch = 1, , positions = 1] = boxes.shape;
      const corners = derived(t, 'conv2d', [boxes], { shape: [batch, 4, positions], dtype: boxes.dtype });
      const probabilities = derived(t, 'sigmoid', [scores], { shape: scores.shape, dtype: scores.dtype });
      const decoded = concat(t, [corners, probabilities], 1);
      concat(t, [decoded, coefficients], 1);
      t.keep(decoded, boxes, scores, coefficients, prototypes);
      return null;
    },
  };
}

const VARIANTS: readonly YoloVariant[] = (['v8', '11'] as const).flatMap((generation) =>
  YOLO_SIZES.map((size) => ({ generation, size })),
);

export const yoloNetworks: Readonly<Record<string, Network>> = Object.fromEntries(
  VARIANTS.map((variant) => [`ultralytics/yolo${variant.generation}${variant.size}-seg`, yoloSegment(variant)]),
);
