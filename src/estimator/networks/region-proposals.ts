import { relu } from '../tape/ops-activation.ts';
import { conv2d, convWeights } from '../tape/ops-conv.ts';
import { constant } from '../tape/ops-core.ts';
import { binaryCrossEntropy } from '../tape/ops-loss.ts';
import { concat } from '../tape/ops-parts.ts';
import { contiguous, permute, reshape } from '../tape/ops-shape.ts';
import { emitFresh } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/** Anchors of three shapes at each place of every level. */
const SHAPES = 3;
/** Anchors per image whose losses are computed. */
const SAMPLED = 256;

export interface ProposalOptions {
  readonly channels: number;
  readonly convs: number;
  readonly instances: number;
  readonly batch: number;
}

/** Rows of `x` by an index; backward scatters into a full-size gradient. */
export function gatherRows(t: Tape, x: Tensor, rows: number): Tensor {
  const index = constant(t, 'where', [rows], 'long');
  t.begin('index', [x, index]);
  const shape = [rows, ...x.shape.slice(1)];
  const storage = t.allocate(shape, x.dtype);
  return t.result(
    { storage, shape, dtype: x.dtype },
    { name: 'index', inputs: [x], saved: [index.storage], rule: (walk, node) => emitFresh(walk, node, 0) },
  );
}

/** Shared head over all levels: convolutions, objectness and box deltas. */
function proposalHead(
  t: Tape,
  features: readonly Tensor[],
  { channels, convs }: ProposalOptions,
): { scores: Tensor[]; deltas: Tensor[] } {
  const hidden = Array.from({ length: convs }, () =>
    convWeights(t, channels, { out: channels, kernel: 3, bias: true }),
  );
  const scoreWeights = convWeights(t, channels, { out: SHAPES, kernel: 1, bias: true });
  const deltaWeights = convWeights(t, channels, { out: 4 * SHAPES, kernel: 1, bias: true });
  const scores: Tensor[] = [];
  const deltas: Tensor[] = [];
  for (const feature of features) {
    const mixed = hidden.reduce(
      (x, shared) => relu(t, conv2d(t, x, { out: channels, kernel: 3, padding: 1, shared })),
      feature,
    );
    scores.push(conv2d(t, mixed, { out: SHAPES, kernel: 1, shared: scoreWeights }));
    deltas.push(conv2d(t, mixed, { out: 4 * SHAPES, kernel: 1, shared: deltaWeights }));
  }
  t.keep(...scores, ...deltas);
  return { scores, deltas };
}

/** B×(3·k)×H×W → B×(H·W·3)×k, a copy. */
function flattenLevel(t: Tape, x: Tensor, size: number): Tensor {
  const [batch = 1, , height = 1, width = 1] = x.shape;
  const shaped = permute(t, reshape(t, x, [batch, SHAPES, size, height, width]), [0, 3, 4, 1, 2]);
  return reshape(t, contiguous(t, shaped), [batch, -1, size]);
}

/** Overlaps of ground truth and all anchors, matched image by image. */
function matchAnchors(t: Tape, anchors: number, instances: number): void {
  const overlaps = [0, 1, 2].map(() => constant(t, 'box_iou', [instances, anchors], 'float'));
  t.keep(...overlaps);
  const matched = constant(t, 'max', [anchors], 'long');
  const boxes = constant(t, 'index', [anchors, 4], 'float');
  t.keep(matched, boxes);
}

/** RPN of torchvision 0.28 in training: losses on 256 anchors an image; returns the loss. Proposals carry no gradient. */
export function regionProposalLoss(t: Tape, features: readonly Tensor[], options: ProposalOptions): Tensor {
  return t.call('rpn', features, () => {
    const { scores, deltas } = t.call('head', features, () => proposalHead(t, features, options));
    const flatScores = scores.map((x) => flattenLevel(t, x, 1));
    const flatDeltas = deltas.map((x) => flattenLevel(t, x, 4));
    const score = reshape(t, concat(t, flatScores, 1), [-1, 1]);
    const delta = reshape(t, concat(t, flatDeltas, 1), [-1, 4]);
    t.keep(...scores, ...deltas);
    const anchors = (score.shape[0] ?? 1) / options.batch;
    const held = Array.from({ length: options.batch }, () => constant(t, 'cat', [anchors, 4], 'float'));
    const decoded = constant(t, 'decode', [anchors * options.batch, 4], 'float');
    for (let image = 0; image < options.batch; image += 1) matchAnchors(t, anchors, options.instances);
    const sampledDeltas = gatherRows(t, delta, (SAMPLED / 2) * options.batch);
    const sampledScores = gatherRows(t, score, SAMPLED * options.batch);
    const boxLoss = smoothL1(t, sampledDeltas);
    const target = constant(t, 'index', sampledScores.shape, 'float');
    const scoreLoss = binaryCrossEntropy(t, sampledScores, target);
    t.keep(score, delta, decoded, ...held);
    return sumOf(t, [scoreLoss, boxLoss]);
  });
}

/** Keeps its input and target; one value. */
export function smoothL1(t: Tape, x: Tensor): Tensor {
  const target = constant(t, 'index', x.shape, 'float');
  t.begin('smooth_l1_loss', [x, target]);
  const storage = t.allocateBytes(4);
  return t.result(
    { storage, shape: [], dtype: 'float' },
    {
      name: 'smooth_l1_loss',
      inputs: [x],
      saved: [x.storage, target.storage],
      rule: (walk, node) => emitFresh(walk, node, 0),
    },
  );
}

/** Losses added up one after the other. */
export function sumOf(t: Tape, losses: readonly Tensor[]): Tensor {
  const [first, ...rest] = losses;
  if (first === undefined) throw new RangeError('no losses');
  return rest.reduce((total, loss) => {
    t.begin('add', [total, loss]);
    const storage = t.allocateBytes(4);
    const inputs = [total, loss];
    return t.result(
      { storage, shape: [], dtype: 'float' },
      {
        name: 'add',
        inputs,
        saved: [],
        rule: (walk, _node, grads) => {
          for (const index of inputs.keys()) if (grads[0] !== undefined) walk.emit(index, walk.share(grads[0]));
        },
      },
    );
  }, first);
}
