import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { cast, constant } from '../tape/ops-core.ts';
import { accuracy } from '../tape/ops-loss.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { gridSample } from '../tape/ops-sample.ts';
import { clone } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { mmsegBackbone } from './mmseg-backbones.ts';
import { cascade, type RefiningHead, type RefiningLosses } from './mmseg-cascade.ts';
import { feature } from './mmseg-feature.ts';
import { fpnHead, fpnNeck } from './mmseg-fpn.ts';
import { meanCrossEntropy } from './mmseg-loss.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import type { Network, Run } from './network.ts';

/** train_cfg and test_cfg of MMSegmentation 1.2.2 configs/_base_/models/pointrend_r50.py. */
const POINTS = { train: 2048, oversample: 3, important: 0.75, test: 8196, steps: 2 } as const;
const CHANNELS = 256;
const LAYERS = 3;

/** Points in −1…1 as `F.grid_sample` wants them: B×n×1×2. */
function denormalized(t: Tape, points: Tensor): Tensor {
  const [batch = 1, count = 1] = points.shape;
  t.keep(points);
  const doubled = constant(t, 'mul', [batch, count, 1, 2], 'float');
  const grid = constant(t, 'sub', [batch, count, 1, 2], 'float');
  t.keep(doubled);
  return grid;
}

const sampled = (t: Tape, map: Tensor, points: Tensor): Tensor => gridSample(t, map, denormalized(t, points));

/** Random points, three times too many; those with the smallest margin between two classes are kept, a quarter stays random. */
function trainingPoints(t: Tape, logits: Tensor): Tensor {
  const [batch = 1, classes = 1] = logits.shape;
  const candidates = POINTS.train * POINTS.oversample;
  const important = POINTS.train * POINTS.important;
  const random = constant(t, 'rand', [batch, candidates, 2], 'float');
  const grid = denormalized(t, random);
  const widened = logits.dtype === 'half' ? constant(t, 'to', logits.shape, 'float') : logits;
  t.keep(logits);
  const scores = constant(t, 'grid_sampler_2d', [batch, classes, candidates, 1], 'float');
  t.keep(grid, widened);
  const best = constant(t, 'topk', [batch, 2, candidates], 'float');
  const margins = constant(t, 'sub', [batch, candidates], 'float');
  t.keep(best);
  const values = constant(t, 'topk', [batch, important], 'float');
  const chosen = constant(t, 'topk', [batch, important], 'long');
  t.keep(values);
  const picked = constant(t, 'index', [batch, important, 2], 'float');
  t.keep(random);
  const fresh = constant(t, 'rand', [batch, POINTS.train - important, 2], 'float');
  const points = constant(t, 'cat', [batch, POINTS.train, 2], 'float');
  t.keep(scores, margins, chosen, picked, fresh);
  return points;
}

/** Three 1×1 convolutions on points; the coarse prediction is joined again after each (Kirillov et al. 2020). */
function pointLogits(t: Tape, fine: Tensor, coarse: Tensor): Tensor {
  let x = concat(t, [fine, coarse], 1);
  for (let layer = 0; layer < LAYERS; layer += 1) {
    const input = x;
    const active = t.call(`fcs.${layer}`, input, () =>
      relu(t, conv2d(t, input, { out: CHANNELS, kernel: 1, bias: true }), false),
    );
    x = concat(t, [active, coarse], 1);
  }
  const logits = t.within('fc_seg', () => conv2d(t, x, { out: channelsOf(coarse), kernel: 1, bias: true }));
  return logits;
}

const pointLosses: RefiningLosses = (t, { features, previous, target }) => {
  const map = feature(t, features, 0);
  const points = trainingPoints(t, previous);
  const fine = sampled(t, map, points);
  const coarse = sampled(t, previous, points);
  const logits = pointLogits(t, fine, coarse);
  const label = pointLabels(t, target, points);
  const loss = meanCrossEntropy(t, logits, label);
  const correct = accuracy(t, logits, label);
  t.keep(points, fine, coarse, logits, label);
  return { losses: [loss], accuracies: [correct] };
};

function pointLabels(t: Tape, target: Tensor, points: Tensor): Tensor {
  const [batch = 1, count = 1] = points.shape;
  const float = constant(t, 'to', target.shape, 'float');
  const grid = denormalized(t, points);
  const picked = constant(t, 'grid_sampler_2d', [batch, 1, count, 1], 'float');
  t.keep(float, grid);
  const label = constant(t, 'to', [batch, count, 1], 'long');
  t.keep(picked);
  return label;
}

/** Two steps of doubling the logits and rewriting the least certain points. */
const pointHead: RefiningHead = (t, features, previous) => {
  const map = feature(t, features, 0);
  let refined = clone(t, previous);
  for (let step = 0; step < POINTS.steps; step += 1) {
    const [height, width] = sizeOf(refined);
    refined = resize(t, refined, [2 * height, 2 * width]);
    const points = uncertainPoints(t, refined);
    const logits = pointLogits(t, sampled(t, map, points), sampled(t, previous, points));
    cast(t, logits, 'float');
    t.keep(refined, points);
  }
  return refined;
};

function uncertainPoints(t: Tape, logits: Tensor): Tensor {
  const [batch = 1] = logits.shape;
  const [height, width] = sizeOf(logits);
  const count = Math.min(height * width, POINTS.test);
  const values = constant(t, 'topk', [batch, 2, height, width], 'float');
  const indices = constant(t, 'topk', [batch, 2, height, width], 'long');
  t.keep(values, indices);
  constant(t, 'sub', [batch, height * width], 'float');
  return constant(t, 'zeros', [batch, count, 2], 'float');
}

function pointRendSegmentor(run: Run): Segmentor {
  const { numClasses } = run.w;
  const coarse = fpnHead({ channels: 128, numClasses, dropout: 0 });
  return {
    backbone: mmsegBackbone(run, ['resnet'], 32),
    neck: (t, features) => fpnNeck(t, features),
    ...cascade(run.w.loss, coarse, { head: pointHead, losses: pointLosses }),
    auxiliaryHeads: [],
  };
}

export const pointRendNetworks: Readonly<Record<string, Network>> = {
  'mmseg/pointrend': encoderDecoder(pointRendSegmentor),
};
