import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { attentionStage, type CrossStage, crossStage, pyramidPooling, yoloConv } from './yolo-blocks.ts';

export type YoloGeneration = 'v8' | '11';

/** Depth, width and most channels of a size, as the configuration files state them. */
interface YoloScale {
  readonly depth: number;
  readonly width: number;
  readonly most: number;
}

/** ultralytics 8.4.190, cfg/models/v8/yolov8-seg.yaml and cfg/models/11/yolo11-seg.yaml. */
const SCALES: Readonly<Record<YoloGeneration, Readonly<Record<string, YoloScale>>>> = {
  v8: {
    n: { depth: 0.33, width: 0.25, most: 1024 },
    s: { depth: 0.33, width: 0.5, most: 1024 },
    m: { depth: 0.67, width: 0.75, most: 768 },
    l: { depth: 1, width: 1, most: 512 },
    x: { depth: 1, width: 1.25, most: 512 },
  },
  '11': {
    n: { depth: 0.5, width: 0.25, most: 1024 },
    s: { depth: 0.5, width: 0.5, most: 1024 },
    m: { depth: 0.5, width: 1, most: 512 },
    l: { depth: 1, width: 1, most: 512 },
    x: { depth: 1, width: 1.5, most: 512 },
  },
};

export const YOLO_SIZES = ['n', 's', 'm', 'l', 'x'] as const;

export interface YoloVariant {
  readonly generation: YoloGeneration;
  readonly size: (typeof YOLO_SIZES)[number];
}

/** Channels of a layer at a size: capped, scaled, rounded up to a multiple of 8. */
export function yoloChannels({ generation, size }: YoloVariant, channels: number): number {
  const { width, most } = scaleOf(generation, size);
  return Math.ceil((Math.min(channels, most) * width) / 8) * 8;
}

function scaleOf(generation: YoloGeneration, size: string): YoloScale {
  const scale = SCALES[generation][size];
  if (scale === undefined) throw new RangeError(`no size ${size}`);
  return scale;
}

/** Layers of one variant, by their number in the configuration file. */
class Layers {
  private readonly t: Tape;
  private readonly variant: YoloVariant;
  private next = 0;

  constructor(t: Tape, variant: YoloVariant) {
    this.t = t;
    this.variant = variant;
  }

  private name(): string {
    const name = `model.${this.next}`;
    this.next += 1;
    return name;
  }

  down(x: Tensor, channels: number): Tensor {
    return yoloConv(this.t, this.name(), x, { out: yoloChannels(this.variant, channels), kernel: 3, stride: 2 });
  }

  pooling(x: Tensor): Tensor {
    return pyramidPooling(this.t, this.name(), x);
  }

  attention(x: Tensor): Tensor {
    return attentionStage(this.t, this.name(), x, this.repeats(2));
  }

  /** Repeats scaled by the depth; Python rounds halves to even. */
  private repeats(count: number): number {
    const scaled = count * scaleOf(this.variant.generation, this.variant.size).depth;
    const floor = Math.floor(scaled);
    return Math.max(scaled - floor === 0.5 ? floor + (floor % 2) : Math.round(scaled), 1);
  }

  stage(x: Tensor, channels: number, options: { repeats: number } & Omit<CrossStage, 'out' | 'repeats'>): Tensor {
    const out = yoloChannels(this.variant, channels);
    return crossStage(this.t, this.name(), x, { ...options, out, repeats: this.repeats(options.repeats) });
  }

  /** Doubles `coarse` by nearest neighbours (fp32 under autocast) and joins it with `fine`. */
  up(coarse: Tensor, fine: Tensor): Tensor {
    const [height, width] = sizeOf(coarse);
    const larger = this.t.call(this.name(), coarse, () => resize(this.t, coarse, [2 * height, 2 * width], 'nearest'));
    return this.join(larger, fine);
  }

  join(first: Tensor, second: Tensor): Tensor {
    return this.t.call(this.name(), [first, second], () => concat(this.t, [first, second], 1));
  }
}

/** Maps at strides 8, 16 and 32. */
type Maps = readonly [Tensor, Tensor, Tensor];

export interface YoloFeatures {
  /** For the head. */
  readonly maps: Maps;
  /** Outputs that the model's list of layers holds until its forward pass is over. */
  readonly held: readonly Tensor[];
}

/** Backbone (not trained where `frozen`: `freeze=10`, 11 for YOLO11) and neck of one variant on B×C×H×W. */
export function yoloFeatures(t: Tape, image: Tensor, variant: YoloVariant, frozen: boolean): YoloFeatures {
  const layers = new Layers(t, variant);
  if (variant.generation === 'v8') {
    return neckV8(
      layers,
      t.freeze(frozen, () => backboneV8(layers, image)),
    );
  }
  const maps = t.freeze(frozen, () => backbone11(layers, image, variant));
  return neck11(layers, maps, variant);
}

function backboneV8(layers: Layers, image: Tensor): Maps {
  const stage = (x: Tensor, channels: number, repeats: number): Tensor =>
    layers.stage(x, channels, { repeats, kind: 'c2f', shortcut: true });
  const x4 = stage(layers.down(layers.down(image, 64), 128), 128, 3);
  const x8 = stage(layers.down(x4, 256), 256, 6);
  const x16 = stage(layers.down(x8, 512), 512, 6);
  return [x8, x16, layers.pooling(stage(layers.down(x16, 1024), 1024, 3))];
}

function neckV8(layers: Layers, [x8, x16, x32]: Maps): YoloFeatures {
  const stage = (x: Tensor, channels: number): Tensor =>
    layers.stage(x, channels, { repeats: 3, kind: 'c2f', shortcut: false });
  const middle = stage(layers.up(x32, x16), 512);
  const fine = stage(layers.up(middle, x8), 256);
  const medium = stage(layers.join(layers.down(fine, 256), middle), 512);
  const coarse = stage(layers.join(layers.down(medium, 512), x32), 1024);
  return { maps: [fine, medium, coarse], held: [x8, x16, x32, middle, fine, medium] };
}

/** From size m on every C3k2 holds C3k blocks; below only the coarse ones do. */
function kindOf({ size }: YoloVariant, coarse: boolean): CrossStage['kind'] {
  return coarse || size === 'm' || size === 'l' || size === 'x' ? 'c3k' : 'c3k2';
}

function backbone11(layers: Layers, image: Tensor, variant: YoloVariant): Maps {
  const fineKind = { repeats: 2, kind: kindOf(variant, false), shortcut: true, expansion: 0.25 } as const;
  const coarseKind = { repeats: 2, kind: kindOf(variant, true), shortcut: true } as const;
  const x4 = layers.stage(layers.down(layers.down(image, 64), 128), 256, fineKind);
  const x8 = layers.stage(layers.down(x4, 256), 512, fineKind);
  const x16 = layers.stage(layers.down(x8, 512), 512, coarseKind);
  const deep = layers.stage(layers.down(x16, 1024), 1024, coarseKind);
  return [x8, x16, layers.attention(layers.pooling(deep))];
}

function neck11(layers: Layers, [x8, x16, x32]: Maps, variant: YoloVariant): YoloFeatures {
  const stage = (x: Tensor, channels: number, deep = false): Tensor =>
    layers.stage(x, channels, { repeats: 2, kind: kindOf(variant, deep), shortcut: true });
  const middle = stage(layers.up(x32, x16), 512);
  const fine = stage(layers.up(middle, x8), 256);
  const medium = stage(layers.join(layers.down(fine, 256), middle), 512);
  const coarse = stage(layers.join(layers.down(medium, 512), x32), 1024, true);
  return { maps: [fine, medium, coarse], held: [x8, x16, x32, middle, fine, medium] };
}
