import { relu, sigmoid } from '../tape/ops-activation.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool, averagePool, maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, convBlock, separableBlock, sizeOf } from './blocks.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import type { Network, Run } from './network.ts';

const DETAIL = [
  [64, 64],
  [64, 64, 64],
  [128, 128, 128],
] as const;
const SEMANTIC = [16, 32, 64, 128] as const;
const EXPANSION = 6;

function detailBranch(t: Tape, image: Tensor): Tensor {
  return t.call('detail', image, () =>
    DETAIL.reduce<Tensor>(
      (input, widths, stage) =>
        t.call(`detail_branch.${stage}`, input, () =>
          widths.reduce<Tensor>(
            (x, out, index) => convBlock(t, `${index}`, x, { out, kernel: 3, stride: index === 0 ? 2 : 1, padding: 1 }),
            input,
          ),
        ),
      image,
    ),
  );
}

function stemBlock(t: Tape, image: Tensor): Tensor {
  return t.call('stage1', image, () => {
    const first = convBlock(t, 'conv_first', image, { out: 16, kernel: 3, stride: 2, padding: 1 });
    const left = t.call('convs', first, () =>
      convBlock(t, '1', convBlock(t, '0', first, { out: 8, kernel: 1 }), {
        out: 16,
        kernel: 3,
        stride: 2,
        padding: 1,
      }),
    );
    const right = maxPool(t, first, { kernel: 3, stride: 2, padding: 1 });
    const out = convBlock(t, 'fuse_last', concat(t, [left, right], 1), { out: 16, kernel: 3, padding: 1 });
    t.keep(first, left, right);
    return out;
  });
}

/** Gather-and-expansion layer. */
function expansionLayer(t: Tape, identity: Tensor, out: number, stride: number): Tensor {
  return t.call('', identity, () => {
    const width = channelsOf(identity);
    const first = convBlock(t, 'conv1', identity, { out: width, kernel: 3, padding: 1 });
    const wide = t.call('dwconv', first, () => expand(t, first, stride));
    const narrow = convBlock(t, 'conv2', wide, { out, kernel: 1, activation: 'none' });
    const shortcut =
      stride === 1 ? identity : separableBlock(t, 'shortcut', identity, { out, stride, activation: 'none' });
    const sum = add(t, narrow, shortcut);
    const active = relu(t, sum, false);
    t.keep(sum, shortcut);
    return active;
  });
}

function expand(t: Tape, x: Tensor, stride: number): Tensor {
  const width = channelsOf(x);
  const out = width * EXPANSION;
  const first = { out, kernel: 3, stride, padding: 1, groups: width } as const;
  if (stride === 1) return convBlock(t, '0', x, first);
  const strided = convBlock(t, '0', x, { ...first, activation: 'none' });
  return convBlock(t, '1', strided, { out, kernel: 3, padding: 1, groups: out });
}

function contextEmbedding(t: Tape, x: Tensor): Tensor {
  return t.call('stage4_CEBlock', x, () => {
    const pooled = t.call('gap', x, () => batchNorm(t, adaptiveAveragePool(t, x, 1)));
    const context = convBlock(t, 'conv_gap', pooled, { out: channelsOf(x), kernel: 1 });
    const sum = add(t, x, context);
    return convBlock(t, 'conv_last', sum, { out: channelsOf(x), kernel: 3, padding: 1 });
  });
}

function semanticBranch(t: Tape, image: Tensor): readonly Tensor[] {
  return t.call('semantic', image, () => {
    let x = stemBlock(t, image);
    const maps = [x];
    for (const [index, out] of SEMANTIC.slice(1).entries()) {
      const input = x;
      x = t.call(`stage${index + 2}`, input, () => {
        let feature = expansionLayer(t, input, out, 2);
        for (let block = 1; block < (out === 128 ? 4 : 2); block += 1) feature = expansionLayer(t, feature, out, 1);
        return feature;
      });
      maps.push(x);
    }
    maps.push(contextEmbedding(t, x));
    t.keep(...maps);
    return maps;
  });
}

/** Bilateral guided aggregation: each branch gates the other. */
function aggregation(t: Tape, detail: Tensor, semantic: Tensor): Tensor {
  return t.call('bga', [detail, semantic], () => {
    const plain = { out: 128, activation: 'none', pointwiseNorm: false } as const;
    const strided = { out: 128, kernel: 3, padding: 1, activation: 'none' } as const;
    const detailWide = separableBlock(t, 'detail_dwconv', detail, plain);
    const detailDown = t.call('detail_down', detail, () =>
      averagePool(t, convBlock(t, '0', detail, { ...strided, stride: 2 }), { kernel: 3, stride: 2, padding: 1 }),
    );
    const semanticConv = convBlock(t, 'semantic_conv', semantic, strided);
    const semanticWide = separableBlock(t, 'semantic_dwconv', semantic, plain);
    const semanticUp = resize(t, semanticConv, sizeOf(detailWide));
    const fine = multiply(t, detailWide, sigmoid(t, semanticUp));
    const coarse = multiply(t, detailDown, sigmoid(t, semanticWide));
    const coarseUp = resize(t, coarse, sizeOf(fine));
    const out = convBlock(t, 'conv', add(t, fine, coarseUp), { out: 128, kernel: 3, padding: 1 });
    t.keep(detailWide, detailDown, semanticUp, semanticWide, fine, coarseUp);
    return out;
  });
}

/** Index of the map, channels and convolutions of the decode head and the four auxiliary heads. */
const HEADS = [
  [0, 1024, 1],
  [1, 16, 2],
  [2, 64, 2],
  [3, 256, 2],
  [4, 1024, 2],
] as const;

/** BiSeNetV2 (Yu et al. 2021; MMSegmentation 1.2.2; its `ohem` config sets no sampler, as it writes `models`). */
function bisenetV2({ w }: Run): Segmentor {
  const [decodeHead, ...auxiliaryHeads] = HEADS.map(([index, channels, convs]) =>
    fcnHead({ index, channels, numClasses: w.numClasses, convs, concatInput: false }),
  );
  if (decodeHead === undefined) throw new RangeError('no head');
  return {
    backbone: (t, image) =>
      t.freeze(w.frozenBackbone, () => {
        const detail = detailBranch(t, image);
        const semantic = semanticBranch(t, image);
        const fused = aggregation(t, detail, semantic[semantic.length - 1] ?? detail);
        t.keep(detail, ...semantic);
        return [fused, ...semantic.slice(0, -1)];
      }),
    decodeHead,
    auxiliaryHeads: w.auxiliaryHead === false ? [] : auxiliaryHeads,
  };
}

export const bisenetV2Networks: Readonly<Record<string, Network>> = { 'mmseg/bisenetv2': encoderDecoder(bisenetV2) };
