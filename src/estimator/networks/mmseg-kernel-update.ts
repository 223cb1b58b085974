import { relu, sigmoid, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { bmm, linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, select, slice } from '../tape/ops-parts.ts';
import { permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock } from './blocks.ts';
import { multiHeadAttention } from './multi-head-attention.ts';

/** Width of maps and kernels; the updater works on halves of them (MMSegmentation 1.2.2 configs/knet). */
const WIDTH = 512;
const HALF = 256;
const HEADS = 8;
const FEEDFORWARD = 2048;

const normed = (t: Tape, x: Tensor): Tensor => layerNorm(t, x);

/** KernelUpdator: gathered features and old kernels gate each other; both come as rows of 256. */
function updateKernels(t: Tape, gathered: Tensor, kernels: Tensor): Tensor {
  return t.call('kernel_update_conv', [gathered, kernels], () => {
    const features = reshape(t, gathered, [-1, HALF]);
    const rows = features.shape[0] ?? 1;
    const parameters = linear(t, features, WIDTH);
    const parameterIn = slice(t, parameters, -1, HALF);
    const parameterOut = slice(t, parameters, -1, HALF);
    const inputs = linear(t, reshape(t, kernels, [rows, -1, HALF]), WIDTH);
    const inputIn = slice(t, inputs, -1, HALF);
    const inputOut = slice(t, inputs, -1, HALF);
    const gate = multiply(t, inputIn, reshape(t, parameterIn, [rows, 1, HALF]));
    const inputGateRaw = normed(t, linear(t, gate, HALF));
    const updateGateRaw = normed(t, linear(t, gate, HALF));
    const inputGate = sigmoid(t, inputGateRaw);
    const updateGate = sigmoid(t, updateGateRaw);
    const parameterOutNormed = normed(t, parameterOut);
    const inputOutNormed = normed(t, inputOut);
    const first = multiply(t, updateGate, reshape(t, parameterOutNormed, [rows, 1, HALF]));
    const mixed = add(t, first, multiply(t, inputGate, inputOutNormed));
    const out = relu(t, normed(t, linear(t, mixed, HALF)));
    t.keep(features, parameters, inputs, gate, inputGate, updateGate, parameterOutNormed, inputOutNormed);
    return out;
  });
}

/** Kernels attend to each other: tokens first. */
function attendKernels(t: Tape, x: Tensor): Tensor {
  return t.call('attention', x, () => {
    const attended = multiHeadAttention(t, { query: x, key: x, value: x }, { heads: HEADS });
    const out = add(t, x, attended);
    t.keep(attended);
    return out;
  });
}

function feedForward(t: Tape, x: Tensor): Tensor {
  return t.call('ffn', x, () => {
    const hidden = relu(t, linear(t, x, FEEDFORWARD));
    const out = linear(t, hidden, x.shape[x.shape.length - 1] ?? 1);
    const sum = add(t, x, out);
    t.keep(out);
    return sum;
  });
}

export interface Kernels {
  readonly masks: Tensor;
  readonly kernels: Tensor;
}

/** One KernelUpdateHead: gathers features under each mask, updates the kernels, predicts new masks image by image. */
export function updateStage(t: Tape, map: Tensor, { masks, kernels }: Kernels): Kernels {
  return t.call('', [map, masks, kernels], () => {
    const [batch = 1, count = 1, height = 1, width = 1] = masks.shape;
    const x = convBlock(t, 'feat_transform', map, { out: WIDTH, kernel: 1, norm: false, activation: 'none' });
    const weights = softmax(t, masks);
    const pixels = transpose(t, reshape(t, x, [batch, WIDTH, height * width]), 1, 2);
    const gathered = bmm(t, reshape(t, weights, [batch, count, height * width]), pixels);
    const old = permute(t, reshape(t, kernels, [batch, count, WIDTH, -1]), [0, 1, 3, 2]);
    const updated = reshape(t, updateKernels(t, gathered, old), [batch, count, WIDTH]);
    const tokens = permute(t, updated, [1, 0, 2]);
    const attended = normed(t, attendKernels(t, tokens));
    const objects = reshape(t, permute(t, attended, [1, 0, 2]), [batch, count, 1, WIDTH]);
    const refined = normed(t, feedForward(t, objects));
    const newMasks = predict(t, x, refined, [batch, count, height, width]);
    t.keep(x, weights, gathered, old, refined);
    const next = reshape(t, permute(t, refined, [0, 1, 3, 2]), [batch, count, WIDTH, 1, 1]);
    return { masks: newMasks, kernels: next };
  });
}

function predict(t: Tape, x: Tensor, refined: Tensor, shape: readonly number[]): Tensor {
  const [batch = 1, count = 1] = shape;
  const hidden = relu(t, normed(t, linear(t, refined, WIDTH, { bias: false })));
  const features = permute(t, linear(t, hidden, WIDTH), [0, 1, 3, 2]);
  const filters = reshape(t, features, [batch, count, WIDTH, 1, 1]);
  const parts = Array.from({ length: batch }, () => {
    const weight = select(t, filters, 0);
    return conv2d(t, slice(t, x, 0, 1), { out: count, kernel: 1, shared: { weight, bias: null } });
  });
  const joined = concat(t, parts, 0);
  t.keep(filters, ...parts);
  return reshape(t, joined, shape);
}
