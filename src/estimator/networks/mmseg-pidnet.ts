import { relu, sigmoid } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, addInPlace, constant, multiply, scale } from '../tape/ops-core.ts';
import { accuracy } from '../tape/ops-loss.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { resize, sum } from '../tape/ops-resize.ts';
import { clone, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { dualStem, residualStage } from './mmseg-dual-branch.ts';
import { parallelPyramid, preActivated, sequentialPyramid } from './mmseg-dual-pyramid.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type HeadTraining } from './mmseg-head.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { boundaryLoss, hardPixelCrossEntropy, weightedCrossEntropy } from './mmseg-weighted-loss.ts';
import type { Network, Run } from './network.ts';

interface Variant {
  readonly channels: number;
  readonly pyramid: number;
  readonly stemBlocks: 2 | 3;
  readonly branchBlocks: number;
  readonly head: number;
}

const VARIANTS: Readonly<Record<string, Variant>> = {
  'pidnet-s': { channels: 32, pyramid: 96, stemBlocks: 2, branchBlocks: 3, head: 128 },
  'pidnet-m': { channels: 64, pyramid: 96, stemBlocks: 2, branchBlocks: 3, head: 128 },
  'pidnet-l': { channels: 64, pyramid: 112, stemBlocks: 3, branchBlocks: 4, head: 256 },
};

const plain = { activation: 'none' } as const;
/** `1 - x`. */
const complement = scale;

/** Pixel attention: how alike both branches are decides how they are mixed. */
function pixelAttention(
  t: Tape,
  { precise, coarse }: { precise: Tensor; coarse: Tensor },
  { stage, width }: { stage: number; width: number },
): Tensor {
  return t.call(`pag_${stage}`, [precise, coarse], () => {
    const size = sizeOf(precise);
    const left = resize(t, convBlock(t, 'f_i', coarse, { ...plain, out: width, kernel: 1 }), size);
    const right = convBlock(t, 'f_p', precise, { ...plain, out: width, kernel: 1 });
    const gate = sigmoid(t, sum(t, multiply(t, right, left), [1], true));
    const enlarged = resize(t, coarse, size);
    const mixed = mix(t, gate, enlarged, precise);
    t.keep(left, right, gate, enlarged);
    return mixed;
  });
}

/** gate·a + (1 − gate)·b. */
function mix(t: Tape, gate: Tensor, a: Tensor, b: Tensor): Tensor {
  const first = multiply(t, gate, a);
  const second = multiply(t, complement(t, gate), b);
  return add(t, first, second);
}

interface Branches {
  readonly integral: Tensor;
  readonly precise: Tensor;
  readonly detail: Tensor;
}

/** Boundary attention over the three branches: convolution after the mix (L), or two light projections (S, M). */
function fuse(t: Tape, { precise, integral, detail }: Branches, width: number, light: boolean): Tensor {
  return t.call('dfm', [precise, integral, detail], () => {
    const gate = sigmoid(t, detail);
    if (!light) {
      const out = preActivated(t, 'conv', mix(t, gate, precise, integral), { out: width, kernel: 3 });
      t.keep(gate);
      return out;
    }
    const options = { ...plain, out: width, kernel: 1 } as const;
    const first = convBlock(t, 'f_p', add(t, multiply(t, complement(t, gate), integral), precise), options);
    const second = convBlock(t, 'f_i', add(t, integral, multiply(t, gate, precise)), options);
    const out = add(t, first, second);
    t.keep(gate, first, second);
    return out;
  });
}

function detailStage(t: Tape, x: Tensor, stage: 0 | 1 | 2, v: Variant): Tensor {
  const light = v.stemBlocks === 2;
  const name = `d_branch_layers.${stage}`;
  if (stage === 2) return residualStage(t, name, x, { kind: 'bottleneck', planes: 2 * v.channels, blocks: 1 });
  if (stage === 1 && light) return residualStage(t, name, x, { kind: 'bottleneck', planes: v.channels, blocks: 1 });
  const planes = light ? v.channels : 2 * v.channels;
  return residualStage(t, name, x, { kind: 'basic', planes, blocks: 1, single: true });
}

/** One exchange between the branches after stage 3 or 4. */
function exchange(t: Tape, b: Branches, stage: 1 | 2, v: Variant): Branches {
  const { channels } = v;
  const compressed = convBlock(t, `compression_${stage}`, b.integral, { ...plain, out: 2 * channels, kernel: 1 });
  const precise = pixelAttention(t, { precise: b.precise, coarse: compressed }, { stage, width: channels });
  const width = stage === 1 && v.stemBlocks === 2 ? channels : 2 * channels;
  const difference = convBlock(t, `diff_${stage}`, b.integral, { ...plain, out: width, kernel: 3, padding: 1 });
  const detail = addInPlace(t, b.detail, resize(t, difference, sizeOf(b.detail)));
  t.keep(compressed, difference);
  return { integral: b.integral, precise, detail };
}

/** PIDNet (Xu et al. 2023; MMSegmentation 1.2.2): in training also the precise map of stage 3 and the detail map of stage 4. */
function pidnetMaps(t: Tape, image: Tensor, v: Variant): readonly Tensor[] {
  const { channels, stemBlocks, branchBlocks } = v;
  const [height, width] = sizeOf(image);
  const wide = (stage: number, x: Tensor, planes: number): Tensor =>
    residualStage(t, `i_branch_layers.${stage}`, x, { kind: 'basic', planes, blocks: branchBlocks, stride: 2 });
  const fine = (stage: number, x: Tensor): Tensor =>
    residualStage(t, `p_branch_layers.${stage}`, x, { kind: 'basic', planes: 2 * channels, blocks: stemBlocks });
  const stem = dualStem(t, image, channels, stemBlocks);
  const start = {
    integral: relu(t, wide(0, stem, 4 * channels), false),
    precise: fine(0, stem),
    detail: detailStage(t, stem, 0, v),
  };
  const three = exchange(t, start, 1, v);
  const early = t.training ? [clone(t, three.precise)] : [];
  const integral4 = relu(t, wide(1, three.integral, 8 * channels), false);
  const precise4 = fine(1, relu(t, three.precise, false));
  const detail4 = detailStage(t, relu(t, three.detail, false), 1, v);
  const four = exchange(t, { integral: integral4, precise: precise4, detail: detail4 }, 2, v);
  const late = t.training ? [clone(t, four.detail)] : [];
  const integral5 = residualStage(t, 'i_branch_layers.2', four.integral, {
    kind: 'bottleneck',
    planes: 8 * channels,
    blocks: 2,
    stride: 2,
  });
  const precise5 = residualStage(t, 'p_branch_layers.2', relu(t, four.precise, false), {
    kind: 'bottleneck',
    planes: 2 * channels,
    blocks: 1,
  });
  const detail5 = detailStage(t, relu(t, four.detail, false), 2, v);
  const pyramid = stemBlocks === 2 ? parallelPyramid : sequentialPyramid;
  const pooled = pyramid(t, integral5, { branch: v.pyramid, out: 4 * channels });
  const integral = resize(t, pooled, [Math.floor(height / 8), Math.floor(width / 8)]);
  const out = fuse(t, { precise: precise5, integral, detail: detail5 }, 4 * channels, stemBlocks === 2);
  t.keep(stem, ...early, ...late, precise5, detail5, integral);
  return [...early, out, ...late];
}

function branchFeature(t: Tape, name: string, x: Tensor, channels: number): Tensor {
  return t.call(name, x, () => relu(t, batchNorm(t, preActivated(t, 'conv', x, { out: channels, kernel: 3 }))));
}

function integralLogits(t: Tape, x: Tensor, v: Variant, numClasses: number): Tensor {
  return classify(t, branchFeature(t, 'i_head', x, v.head), numClasses);
}

/** Three outputs and four losses: classes on both branches, edges, and classes where an edge is predicted. */
function pidTraining(v: Variant, numClasses: number): HeadTraining {
  return (t, features, target) => {
    t.target(target.shape, 'long');
    const hidden = branchFeature(t, 'p_head', feature(t, features, 0), v.head);
    const precise = conv2d(t, hidden, { out: numClasses, kernel: 1, bias: true });
    const integral = integralLogits(t, feature(t, features, 1), v, numClasses);
    const detailHidden = branchFeature(t, 'd_head', feature(t, features, 2), v.channels);
    const detail = conv2d(t, detailHidden, { out: 1, kernel: 1, bias: true });
    const [batch = 1, , height = 1, width = 1] = target.shape;
    // This head stacks the labels of the batch itself: copies of both.
    const labelsAndEdges = [0, 1].map(() => constant(t, 'stack', target.shape, 'long'));
    const [labels, edges] = labelsAndEdges;
    const [preciseUp, integralUp, detailUp] = [precise, integral, detail].map((x) => resize(t, x, [height, width]));
    if (preciseUp === undefined || integralUp === undefined || detailUp === undefined)
      throw new RangeError('no logits');
    const label = reshape(t, labels ?? target, [batch, height, width]);
    const first = weightedCrossEntropy(t, preciseUp, label);
    const second = hardPixelCrossEntropy(t, integralUp, label);
    const third = boundaryLoss(t, detailUp, reshape(t, edges ?? target, [batch, height, width]));
    const { filler, edgeLabel } = edgeLabels(t, label);
    const fourth = hardPixelCrossEntropy(t, integralUp, edgeLabel);
    const correct = accuracy(t, integralUp, label);
    t.keep(precise, integral, detail, preciseUp, integralUp, detailUp, filler, edgeLabel, ...labelsAndEdges);
    return { losses: [first, second, third, fourth], accuracies: [correct] };
  };
}

function edgeLabels(t: Tape, label: Tensor): { filler: Tensor; edgeLabel: Tensor } {
  const ones = constant(t, 'ones_like', label.shape, 'long');
  const filler = constant(t, 'mul', label.shape, 'long');
  t.keep(ones);
  const probabilities = constant(t, 'sigmoid', label.shape, 'float');
  const above = constant(t, 'gt', label.shape, 'byte');
  t.keep(probabilities);
  const edgeLabel = constant(t, 'where', label.shape, 'long');
  t.keep(above, filler);
  return { filler, edgeLabel };
}

function pidnet(run: Run): Segmentor {
  const { spec, w } = run;
  const variant = lookUp(VARIANTS, spec.backbone);
  if (variant === undefined) throw unknownBackbone(run, Object.keys(VARIANTS));
  return {
    backbone: (t, image) => t.freeze(w.frozenBackbone, () => pidnetMaps(t, image, variant)),
    decodeHead: (t, features) => integralLogits(t, feature(t, features, -1), variant, w.numClasses),
    decodeLosses: pidTraining(variant, w.numClasses),
    auxiliaryHeads: [],
  };
}

export const pidnetNetworks: Readonly<Record<string, Network>> = { 'mmseg/pidnet': encoderDecoder(pidnet) };
