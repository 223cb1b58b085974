import { relu, softmax } from '../tape/ops-activation.ts';
import { type ConvWeights, conv2d, convWeights } from '../tape/ops-conv.ts';
import { scale } from '../tape/ops-core.ts';
import { matmul } from '../tape/ops-linear.ts';
import { batchNorm, type NormWeights, normWeights } from '../tape/ops-norm.ts';
import { contiguous, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';

export interface SelfAttentionOptions {
  /** Width of query and key (and of the value, when there is an output projection). */
  readonly channels: number;
  readonly out: number;
  /** Projections of query and key: convolutions with norm and ReLU, or one plain convolution. */
  readonly keyQueryConvs?: number;
  readonly keyQueryNorm: boolean;
  readonly valueNorm?: boolean;
  /** Scores are multiplied by 1/√channels. */
  readonly scaled: boolean;
  readonly withOut: boolean;
  /** Query and key are projected by the same weights. */
  readonly shareKeyQuery?: boolean;
  readonly keyDownsample?: (t: Tape, x: Tensor) => Tensor;
}

/** One 1×1 projection: its weights, so that it can run twice. */
interface Projection {
  readonly conv: ConvWeights;
  readonly norm: NormWeights | null;
  readonly out: number;
}

function project(t: Tape, x: Tensor, projections: readonly Projection[]): Tensor {
  return t.call('', x, () => {
    let feature = x;
    for (const { conv, norm, out } of projections) {
      const input = feature;
      feature = t.call('', input, () => {
        const convolved = conv2d(t, input, { out, kernel: 1, shared: conv });
        return norm === null ? convolved : relu(t, batchNorm(t, convolved, { shared: norm }));
      });
    }
    return feature;
  });
}

function projections(
  t: Tape,
  inputChannels: number,
  { out, count = 1, norm }: { out: number; count?: number; norm: boolean },
): readonly Projection[] {
  return Array.from({ length: count }, (_, index) => ({
    conv: convWeights(t, index === 0 ? inputChannels : out, { out, kernel: 1, bias: !norm }),
    norm: norm ? normWeights(t, out) : null,
    out,
  }));
}

/** B×C×N of B×C×H×W. */
function tokens(t: Tape, x: Tensor): Tensor {
  return reshape(t, x, [...x.shape.slice(0, 2), -1]);
}

/** SelfAttentionBlock of MMSegmentation 1.2.2 (mmseg/models/utils/self_attention_block.py): N×M attention between two maps. */
export function selfAttentionBlock(t: Tape, queryMap: Tensor, keyMap: Tensor, options: SelfAttentionOptions): Tensor {
  return t.call('', [queryMap, keyMap], () => {
    const { channels, out, withOut, keyQueryConvs: count = 1, keyQueryNorm: norm, valueNorm = false } = options;
    const keys = t.within('key_project', () => projections(t, channelsOf(keyMap), { out: channels, count, norm }));
    const queries =
      options.shareKeyQuery === true
        ? keys
        : t.within('query_project', () => projections(t, channelsOf(queryMap), { out: channels, count, norm }));
    const valueWidth = withOut ? channels : out;
    const values = t.within('value_project', () =>
      projections(t, channelsOf(keyMap), { out: valueWidth, norm: valueNorm }),
    );
    const context = attend(t, { queryMap, keyMap, queries, keys, values }, options);
    const map = reshape(t, context, [queryMap.shape[0] ?? 1, valueWidth, ...sizeOf(queryMap)]);
    if (!withOut) return map;
    return project(
      t,
      map,
      t.within('out_project', () => projections(t, channels, { out, norm: valueNorm })),
    );
  });
}

interface Attention {
  readonly queryMap: Tensor;
  readonly keyMap: Tensor;
  readonly queries: readonly Projection[];
  readonly keys: readonly Projection[];
  readonly values: readonly Projection[];
}

function attend(t: Tape, a: Attention, options: SelfAttentionOptions): Tensor {
  const down = (x: Tensor): Tensor => options.keyDownsample?.(t, x) ?? x;
  const query = contiguous(t, permute(t, tokens(t, project(t, a.queryMap, a.queries)), [0, 2, 1]));
  const keyFull = project(t, a.keyMap, a.keys);
  const valueFull = project(t, a.keyMap, a.values);
  const key = tokens(t, down(keyFull));
  const valueMap = down(valueFull);
  const value = contiguous(t, permute(t, tokens(t, valueMap), [0, 2, 1]));
  const scores = matmul(t, query, key);
  const weights = softmax(t, options.scaled ? scale(t, scores) : scores);
  const context = contiguous(t, permute(t, matmul(t, weights, value), [0, 2, 1]));
  t.keep(query, key, value, weights);
  return context;
}
