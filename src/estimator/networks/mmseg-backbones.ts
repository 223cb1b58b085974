import { AppError } from '../../errors.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { hrnet } from './hrnet.ts';
import { type MobileNetOptions, mobileNetV2 } from './mmseg-mobilenet.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { optionNumber, optionNumbers, optionText, type Run } from './network.ts';
import { resnest } from './resnest.ts';
import { type ResNetOptions, resnet } from './resnet.ts';

export type Backbone = (t: Tape, image: Tensor) => readonly Tensor[];

const RESNETS = { resnet18: 18, resnet34: 34, resnet50: 50, resnet101: 101, resnet152: 152 } as const;
const RESNESTS = { resnest50: 50, resnest101: 101, resnest200: 200 } as const;
const HRNETS = {
  'hrnet-w18-small': 18,
  'hrnet-w18': 18,
  'hrnet-w32': 32,
  'hrnet-w40': 40,
  'hrnet-w48': 48,
  'hrnet-w64': 64,
} as const;

/** Strides and dilations of the four stages for an output stride of 8, 16 or 32. */
function stageGeometry(stride: number): { strides: readonly number[]; dilations: readonly number[] } {
  return {
    strides: [1, 2, stride === 8 ? 1 : 2, stride === 32 ? 2 : 1],
    dilations: [1, 1, stride === 8 ? 2 : 1, stride === 32 ? 1 : stride === 8 ? 4 : 2],
  };
}

export function mmsegOutputStride({ spec, w }: Run, fallback: number): number {
  return w.outputStride ?? optionNumber(spec, 'outputStride', fallback);
}

/** Options of MMSegmentation's ResNet: stem V1 (one 7×7), V1c (three 3×3), V1s (those twice as wide) or V1d (also average pooling in projections). */
export function mmsegResnetOptions(run: Run, fallbackStride: number): ResNetOptions | undefined {
  const { spec, w } = run;
  const depth = lookUp(RESNETS, spec.backbone);
  if (depth === undefined) return undefined;
  const multiGrid = optionNumbers(spec, 'multiGrid', []);
  const stem = optionText(spec, 'stem', 'v1c');
  return {
    depth,
    stem: stem === 'v1' ? 'plain' : 'deep',
    ...(stem === 'v1d' ? { averageDown: 'always' } : {}),
    ...(stem === 'v1s' ? { stemWidths: [64, 64, 128] } : {}),
    ...stageGeometry(mmsegOutputStride(run, fallbackStride)),
    contractDilation: true,
    checkpoint: w.gradientCheckpointing,
    frozenStages: w.frozenStages ?? -1,
    ...(multiGrid.length > 0 ? { multiGrid } : {}),
  };
}

function plainBackbone(run: Run, fallbackStride: number): Backbone | undefined {
  const { spec, w } = run;
  const checkpoint = w.gradientCheckpointing;
  const frozenStages = w.frozenStages ?? -1;
  const resnetOptions = mmsegResnetOptions(run, fallbackStride);
  if (resnetOptions !== undefined) return (t, image) => resnet(t, image, resnetOptions).stages;
  const width = lookUp(HRNETS, spec.backbone);
  if (width !== undefined) {
    const small = spec.backbone === 'hrnet-w18-small';
    return (t, image) => hrnet(t, image, { width, small, checkpoint, frozenStages });
  }
  if (spec.backbone === 'mobilenet-v2') return mobileNetBackbone(run, { checkpoint, frozenStages });
  const depth = lookUp(RESNESTS, spec.backbone);
  if (depth === undefined) return undefined;
  const geometry = stageGeometry(mmsegOutputStride(run, fallbackStride));
  return (t, image) => resnest(t, image, { depth, ...geometry, checkpoint, frozenStages });
}

/**
 * The convolutional backbone that a model names: ResNet, ResNeSt, HRNet, MobileNetV2. Maps finest first.
 * @throws AppError `unknown-backbone`.
 */
export function mmsegBackbone(run: Run, known: readonly string[], fallbackStride = 8): Backbone {
  const { spec, w } = run;
  const allowed = known.some((name) => spec.backbone?.startsWith(name) === true);
  const backbone = allowed ? plainBackbone(run, fallbackStride) : undefined;
  if (backbone === undefined) throw unknownBackbone(run, known);
  return (t, image) => t.freeze(w.frozenBackbone, () => backbone(t, image));
}

/** The official configs dilate MobileNetV2 to stride 8 and no other. */
function mobileNetBackbone(run: Run, options: MobileNetOptions): Backbone {
  const stride = mmsegOutputStride(run, 8);
  if (stride !== 8) {
    const { architecture } = run.spec;
    throw new AppError('unsupported-combination', `${architecture} on MobileNetV2 is known at output stride 8 only`, {
      details: { rule: 'output-stride', architecture, backbone: 'mobilenet-v2', outputStride: stride },
    });
  }
  return (t, image) => mobileNetV2(t, image, options);
}
