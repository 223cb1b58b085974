import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { addInPlace } from '../tape/ops-core.ts';
import { applyLinear, linear, linearWeights } from '../tape/ops-linear.ts';
import { derived } from '../tape/ops-masks.ts';
import { groupNorm } from '../tape/ops-norm.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { weightedSum } from './hf-mask-loss.ts';
import type { HfMaskPrediction } from './hf-mask-matching.ts';
import { maskTargets } from './hf-mask-targets.ts';
import { maskFormerDecoder } from './hf-maskformer-decoder.ts';
import { maskFormerLosses } from './hf-maskformer-loss.ts';
import { maskFormerSwin } from './hf-maskformer-swin.ts';
import { noCheckpointing } from './hf-mobilenet-v2.ts';
import { HF_RESNETS, hfResnetBackbone } from './hf-resnet.ts';
import { HF_SWINS } from './hf-swin.ts';
import { maskLogits } from './mask-embedding.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { type Network, optionNumber, type Run, trainingImage } from './network.ts';

const CHANNELS = 256;
const DROP_PATH = 0.3;

function backbone(run: Run, image: Tensor): readonly Tensor[] {
  const { t, spec } = run;
  const depth = lookUp(HF_RESNETS, spec.backbone);
  if (depth !== undefined) return hfResnetBackbone(t, image, depth);
  const swin = lookUp(HF_SWINS, spec.backbone);
  if (swin === undefined) throw unknownBackbone(run, [...Object.keys(HF_SWINS), ...Object.keys(HF_RESNETS)]);
  const [width, depths, heads] = swin;
  return maskFormerSwin(t, image, {
    width,
    depths,
    heads,
    window: optionNumber(spec, 'window', 7),
    dropPathRate: DROP_PATH,
  });
}

function smoothed(t: Tape, name: string, x: Tensor): Tensor {
  return t.call(name, x, () => relu(t, groupNorm(t, conv2d(t, x, { out: CHANNELS, kernel: 3, padding: 1 }), 32)));
}

/** Feature pyramid with sums in place on nearest-neighbour maps; the finest map is projected once more. */
function pixelDecoder(t: Tape, features: readonly Tensor[]): Tensor {
  return t.call('decoder', features, () => {
    const [coarsest] = features.slice(-1);
    if (coarsest === undefined) throw new RangeError('no feature maps');
    let x = t.within('fpn', () => smoothed(t, 'stem', coarsest));
    const fused: Tensor[] = [];
    for (const feature of features.slice(0, -1).toReversed()) {
      const above = x;
      x = t.call('fpn.layers', [above, feature], () => {
        const left = t.call('proj', feature, () => groupNorm(t, conv2d(t, feature, { out: CHANNELS, kernel: 1 }), 32));
        const down = resize(t, above, sizeOf(left), 'nearest');
        const out = smoothed(t, 'block', addInPlace(t, down, left));
        t.keep(left);
        return out;
      });
      fused.push(x);
    }
    const projected = t.within('mask_projection', () =>
      conv2d(t, x, { out: CHANNELS, kernel: 3, padding: 1, bias: true }),
    );
    t.keep(...fused);
    return projected;
  });
}

function predict(run: Run, image: Tensor): { prediction: HfMaskPrediction; held: readonly Tensor[] } {
  const { t, spec, w } = run;
  if (w.gradientCheckpointing) throw noCheckpointing('MaskFormer');
  const { queries, pixels, coarsest } = t.call('model', image, () => {
    const [batch = 1, , height = 1, width = 1] = image.shape;
    const mask = derived(t, 'ones', [], { shape: [batch, height, width], dtype: 'float' });
    const found = t.call('pixel_level_module', image, () => {
      const features = t.freeze(w.frozenBackbone, () => backbone(run, image));
      const decoded = pixelDecoder(t, features);
      t.keep(...features);
      return { pixels: decoded, coarsest: features[features.length - 1] ?? image };
    });
    const count = optionNumber(spec, 'numQueries', 100);
    const decoded = maskFormerDecoder(t, found.coarsest, { queries: count, attention: w.attention });
    t.keep(mask);
    return { ...found, queries: decoded };
  });
  const classifier = linearWeights(t, CHANNELS, w.numClasses + 1);
  const classes = t.within('class_predictor', () => applyLinear(t, queries, classifier));
  const embedding = t.call('mask_embedder', queries, () => {
    const hidden = relu(t, linear(t, relu(t, linear(t, queries, CHANNELS), false), CHANNELS), false);
    return linear(t, hidden, CHANNELS);
  });
  const masks = maskLogits(t, embedding, pixels);
  t.keep(embedding, pixels);
  return { prediction: { classes, masks }, held: [queries, pixels, coarsest] };
}

/** MaskFormerForInstanceSegmentation of transformers 5.24 on its own Swin or a ResNet; one prediction, no auxiliary losses. */
export const hfMaskFormer: Readonly<Record<string, Network>> = {
  'transformers/maskformer': {
    train: (run) => {
      const { t, w } = run;
      const image = trainingImage(run);
      const truth = maskTargets(t, w);
      const weights = t.buffer([w.numClasses + 1]);
      const { prediction, held } = predict(run, image);
      const losses = maskFormerLosses(t, prediction, truth, weights);
      const loss = weightedSum(t, [losses]);
      t.keep(...held, prediction.classes, prediction.masks);
      if (w.outputHeld) t.hold(...held, prediction.classes, prediction.masks);
      return loss;
    },
    infer: (run, image) => {
      const { prediction, held } = predict(run, image);
      run.t.keep(...held, prediction.classes);
      return null;
    },
  },
};
