import { AppError } from '../../errors.ts';
import { add } from '../tape/ops-core.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { clone, contiguous, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type Head } from './mmseg-head.ts';
import { lookUp } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { VITS, visionTransformer } from './mmseg-vit.ts';
import { type Network, optionNumber, optionText, type Run } from './network.ts';

interface UpHead {
  readonly index: number;
  readonly convs: number;
  readonly kernel: 1 | 3;
  readonly scale: number;
  readonly numClasses: number;
}

/** LayerNorm over the channels of a map by way of tokens, row-major again afterwards. */
function tokenNorm(t: Tape, x: Tensor): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const tokens = contiguous(t, transpose(t, reshape(t, x, [batch, channels, height * width]), 2, 1));
  const normalised = layerNorm(t, tokens);
  return clone(t, reshape(t, transpose(t, normalised, 1, 2), [batch, channels, height, width]));
}

/** SETRUPHead: norm, then convolutions that each end in a resize (naive: 1×1; PUP: four 3×3 doublings). */
function upHead(options: UpHead): Head {
  return (t, features) => {
    let x = tokenNorm(t, feature(t, features, options.index));
    for (let index = 0; index < options.convs; index += 1) {
      const input = x;
      x = t.call(`up_convs.${index}`, input, () => {
        const convolved = convBlock(t, '0', input, {
          out: 256,
          kernel: options.kernel,
          padding: Math.floor(options.kernel / 2),
        });
        const [height, width] = sizeOf(convolved);
        return t.call('1', convolved, () => resize(t, convolved, [height * options.scale, width * options.scale]));
      });
    }
    return classify(t, x, options.numClasses, 0);
  };
}

/** MLANeck: normalised maps, projected, summed from the deepest up, refined; deepest first. */
function multiLevelAggregation(t: Tape, features: readonly Tensor[]): readonly Tensor[] {
  const normalised = features.map((x) => tokenNorm(t, x));
  return t.call('mla', normalised, () => {
    const projected = normalised.map((x, index) => convBlock(t, `channel_proj.${index}`, x, { out: 256, kernel: 1 }));
    const sums: Tensor[] = [];
    for (const x of projected.toReversed()) {
      const above = sums[sums.length - 1];
      sums.push(above === undefined ? x : add(t, above, x));
    }
    const outputs = sums.map((x, index) =>
      convBlock(t, `feat_extract.${index}`, x, { out: 256, kernel: 3, padding: 1 }),
    );
    t.keep(...projected, ...sums);
    return outputs;
  });
}

/** SETRMLAHead: two convolutions and a ×4 resize per map, joined. */
function mlaHead(numClasses: number): Head {
  return (t, features) => {
    const outputs = features.map((x, index) =>
      t.call(`up_convs.${index}`, x, () => {
        const first = convBlock(t, '0', x, { out: 128, kernel: 3, padding: 1 });
        const second = convBlock(t, '1', first, { out: 128, kernel: 3, padding: 1 });
        const [height, width] = sizeOf(second);
        return t.call('2', second, () => resize(t, second, [height * 4, width * 4]));
      }),
    );
    const joined = concat(t, outputs, 1);
    const logits = classify(t, joined, numClasses, 0);
    t.keep(joined, ...outputs);
    return logits;
  };
}

function setrSegmentor(run: Run): Segmentor {
  const { spec, w } = run;
  const variant = lookUp(VITS, spec.backbone);
  const kind = optionText(spec, 'head', 'pup');
  if (variant === undefined)
    throw new AppError('unknown-backbone', `SETR is built on a plain ViT, not ${spec.backbone}`, {
      details: { architecture: 'setr', known: Object.keys(VITS) },
    });
  const [width, layers, heads] = variant;
  const side = optionNumber(spec, 'positionSize', w.imageHeight === 768 && w.imageWidth === 768 ? 768 : 512);
  const options = {
    ...{ width, layers, heads, patch: 16, imageHeight: side, imageWidth: side, dropPathRate: 0, finalNorm: false },
    outIndices: kind === 'mla' ? [5, 11, 17, 23] : [9, 14, 19, 23],
    classToken: kind !== 'mla',
    resizeMode: 'bilinear' as const,
    checkpoint: w.gradientCheckpointing,
  };
  const backbone = (t: Tape, image: Tensor): readonly Tensor[] =>
    t.freeze(w.frozenBackbone, () => visionTransformer(t, image, options));
  return kind === 'mla' ? mlaSegmentor(run, backbone) : upSegmentor(run, backbone, kind === 'naive');
}

function upSegmentor({ spec, w }: Run, backbone: Segmentor['backbone'], naive: boolean): Segmentor {
  const { numClasses } = w;
  const kernel = naive ? 1 : 3;
  const convs = optionNumber(spec, 'auxiliaryConvs', naive ? 1 : 2);
  const auxiliary = [0, 1, 2].map((index) => upHead({ index, convs, kernel, scale: 4, numClasses }));
  return {
    backbone,
    decodeHead: upHead({ index: 3, convs: naive ? 1 : 4, kernel, scale: naive ? 4 : 2, numClasses }),
    auxiliaryHeads: (w.auxiliaryHead ?? true) ? auxiliary : [],
  };
}

function mlaSegmentor({ w }: Run, backbone: Segmentor['backbone']): Segmentor {
  const { numClasses } = w;
  const auxiliary = [0, 1, 2, 3].map((index) =>
    fcnHead({ index, channels: 256, numClasses, convs: 0, concatInput: false, dropout: 0 }),
  );
  return {
    backbone,
    neck: multiLevelAggregation,
    decodeHead: mlaHead(numClasses),
    auxiliaryHeads: (w.auxiliaryHead ?? true) ? auxiliary : [],
  };
}

/** SETR of MMSegmentation 1.2 (Zheng et al. 2021): naive, PUP and MLA decoders, every head loses at full resolution. */
export const mmsegSetr: Readonly<Record<string, Network>> = { 'mmseg/setr': encoderDecoder(setrSegmentor) };
