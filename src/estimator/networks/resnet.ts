import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { addInPlace } from '../tape/ops-core.ts';
import { averagePool, maxPool } from '../tape/ops-layers.ts';
import { batchNorm, frozenBatchNorm } from '../tape/ops-norm.ts';
import { pad } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

export interface ResNetOptions {
  readonly depth: keyof typeof BLOCKS;
  /** `plain`: one 7×7; `deep`: three 3×3 (ResNetV1c / V1d). */
  readonly stem: 'plain' | 'deep';
  readonly stemWidths?: readonly [number, number, number];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  /** The first block of a dilated stage uses half the dilation (MMSegmentation). */
  readonly contractDilation?: boolean;
  /** Every 3×3 of a dilated basic block is dilated, not only the first (segmentation_models_pytorch). */
  readonly dilateAll?: boolean;
  /** Dilations of the blocks of the last stage, times nothing (DeepLab's multi-grid). */
  readonly multiGrid?: readonly number[];
  readonly groups?: number;
  readonly widthPerGroup?: number;
  /**
   * Downsampling by average pooling before a stride-1 projection (V1d); `always`: also where the stride is 1, which
   * still copies (MMSegmentation); `same`: where a stride became a dilation, on a padded copy (timm).
   */
  readonly averageDown?: boolean | 'always' | 'same';
  /** Replaces the 3×3 convolution of a bottleneck, its norm and activation (split attention). */
  readonly middle?: (
    t: Tape,
    x: Tensor,
    middle: { readonly width: number; readonly stride: number; readonly dilation: number },
  ) => Tensor;
  /** `untrained`: BatchNorm whose scale and shift get no gradient; `frozen`, `detectron2`: affine maps with fixed statistics. */
  readonly norm?: 'batch' | 'untrained' | 'frozen' | 'detectron2';
  /** Checkpoint each block (mmcv's `with_cp`). */
  readonly checkpoint?: boolean;
  /** Stem and the first n stages are not trained; −1: everything is. */
  readonly frozenStages?: number;
  readonly stages?: number;
}

const BLOCKS = {
  14: [1, 1, 1, 1],
  18: [2, 2, 2, 2],
  26: [2, 2, 2, 2],
  34: [3, 4, 6, 3],
  50: [3, 4, 6, 3],
  101: [3, 4, 23, 3],
  152: [3, 8, 36, 3],
  200: [3, 24, 36, 3],
  269: [3, 30, 48, 8],
} as const;

/** Feature maps of the four stages (and the stem before pooling as `stem`). He et al. 2016, in the layout that torchvision and MMSegmentation share. */
export function resnet(
  t: Tape,
  x: Tensor,
  options: ResNetOptions,
): { readonly stem: Tensor; readonly stages: readonly Tensor[] } {
  const frozen = options.frozenStages ?? -1;
  const stem = t.freeze(frozen >= 0, () => resnetStem(t, x, options));
  let feature = t.within('maxpool', () => maxPool(t, stem, { kernel: 3, stride: 2, padding: 1 }));
  const stages: Tensor[] = [];
  for (let stage = 0; stage < (options.stages ?? 4); stage += 1) {
    const input = feature;
    feature = t.freeze(frozen > stage, () => resnetStage(t, input, stage, options));
    stages.push(feature);
  }
  return { stem, stages };
}

const norm = (t: Tape, x: Tensor, options: ResNetOptions): Tensor =>
  options.norm === 'frozen' || options.norm === 'detectron2'
    ? frozenBatchNorm(t, x, options.norm === 'detectron2')
    : t.freeze(options.norm === 'untrained', () => batchNorm(t, x));

/** The first convolutions, before pooling: half of the image's side. */
export function resnetStem(t: Tape, x: Tensor, options: ResNetOptions): Tensor {
  if (options.stem === 'plain') {
    const convolved = t.within('conv1', () => conv2d(t, x, { out: 64, kernel: 7, stride: 2, padding: 3 }));
    return relu(
      t,
      t.within('bn1', () => norm(t, convolved, options)),
    );
  }
  const widths = options.stemWidths ?? [32, 32, 64];
  return t.call('stem', x, () => {
    let feature = x;
    widths.forEach((out, index) => {
      const convolved = conv2d(t, feature, { out, kernel: 3, stride: index === 0 ? 2 : 1, padding: 1 });
      feature = relu(t, norm(t, convolved, options));
    });
    return feature;
  });
}

/** One stage: a Sequential of residual blocks. */
export function resnetStage(t: Tape, x: Tensor, stage: number, options: ResNetOptions): Tensor {
  const stride = options.strides[stage] ?? 1;
  const dilation = options.dilations[stage] ?? 1;
  const count = BLOCKS[options.depth][stage] ?? 0;
  return t.call(`layer${stage + 1}`, x, () => {
    let feature = x;
    for (let index = 0; index < count; index += 1) {
      const block = {
        planes: 64 * 2 ** stage,
        stride: index === 0 ? stride : 1,
        dilation: blockDilation(options, { stage, index, dilation }),
        stageDilation: dilation,
      };
      const input = feature;
      feature = t.call('', input, () => residual(t, input, block, options));
    }
    return feature;
  });
}

function blockDilation(options: ResNetOptions, at: { stage: number; index: number; dilation: number }): number {
  if (at.stage === 3 && options.multiGrid !== undefined) return options.multiGrid[at.index] ?? at.dilation;
  if (at.index === 0 && options.contractDilation === true && at.dilation > 1) return at.dilation / 2;
  return at.dilation;
}

interface Block {
  readonly planes: number;
  readonly stride: number;
  readonly dilation: number;
  /** Dilation of the stage, before the first block's is contracted. */
  readonly stageDilation?: number;
}

/** One residual block; the last ReLU lies outside the checkpointed part (mmcv). */
export function residual(t: Tape, x: Tensor, block: Block, options: ResNetOptions): Tensor {
  const sum = t.checkpointReentrant(options.checkpoint === true && x.requiresGrad, [x], () => {
    const expansion = options.depth === 18 || options.depth === 34 ? 1 : 4;
    const main = expansion === 4 ? bottleneck(t, x, block, options) : basic(t, x, block, options);
    const projected = block.stride !== 1 || x.shape[1] !== block.planes * expansion;
    const identity = projected ? projection(t, x, { ...block, out: block.planes * expansion }, options) : x;
    const result = addInPlace(t, main, identity);
    t.keep(identity);
    return result;
  });
  return relu(t, sum);
}

function bottleneck(t: Tape, x: Tensor, { planes, stride, dilation }: Block, options: ResNetOptions): Tensor {
  const width = Math.floor((planes * (options.widthPerGroup ?? 64)) / 64) * (options.groups ?? 1);
  const reduced = relu(t, norm(t, conv2d(t, x, { out: width, kernel: 1 }), options));
  if (options.middle !== undefined) {
    const attended = options.middle(t, reduced, { width, stride, dilation });
    return norm(t, conv2d(t, attended, { out: planes * 4, kernel: 1 }), options);
  }
  const spatial = conv2d(t, reduced, {
    out: width,
    kernel: 3,
    stride,
    padding: dilation,
    dilation,
    groups: options.groups ?? 1,
  });
  const middle = relu(t, norm(t, spatial, options));
  return norm(t, conv2d(t, middle, { out: planes * 4, kernel: 1 }), options);
}

function basic(t: Tape, x: Tensor, { planes, stride, dilation }: Block, options: ResNetOptions): Tensor {
  const first = relu(
    t,
    norm(t, conv2d(t, x, { out: planes, kernel: 3, stride, padding: dilation, dilation }), options),
  );
  const second = options.dilateAll === true ? dilation : 1;
  return norm(t, conv2d(t, first, { out: planes, kernel: 3, padding: second, dilation: second }), options);
}

function projection(t: Tape, x: Tensor, block: Block & { out: number }, options: ResNetOptions): Tensor {
  return t.call('downsample', x, () => {
    const averages = options.averageDown === true || options.averageDown === 'same';
    const averaged = options.averageDown === 'always' || (averages && block.stride !== 1);
    if (options.averageDown === 'same' && block.stride === 1 && (block.stageDilation ?? 1) > 1)
      return norm(t, conv2d(t, pooledInPlace(t, x), { out: block.out, kernel: 1 }), options);
    const pooled = averaged ? averagePool(t, x, { kernel: block.stride, stride: block.stride, ceil: true }) : x;
    return norm(t, conv2d(t, pooled, { out: block.out, kernel: 1, stride: averaged ? 1 : block.stride }), options);
  });
}

/** 2×2 average at stride 1, its input padded by one row and column. */
function pooledInPlace(t: Tape, x: Tensor): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  return t.call('', x, () =>
    averagePool(t, pad(t, x, [batch, channels, height + 1, width + 1]), { kernel: 2, stride: 1 }),
  );
}
