import { add } from '../tape/ops-core.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { classify, type Head } from './mmseg-head.ts';
import { pyramidPooling } from './mmseg-psp-head.ts';

export interface UperHeadOptions {
  readonly channels: number;
  readonly numClasses: number;
  /** Which maps of the backbone are fused, finest first; default: all. */
  readonly indices?: readonly number[];
  readonly poolScales?: readonly number[];
  readonly dropout?: number;
  /** Whether the activations of pooling, bottleneck and fusion work in place (MMSegmentation) or not (transformers). */
  readonly inPlace?: boolean;
}

/** UPerHead (Xiao et al. 2018; MMSegmentation 1.2.2): pyramid pooling on the last map, FPN, one map of `channels` at the finest size. */
export function uperHead(options: UperHeadOptions): Head {
  return (t, features) => classify(t, uperFeature(t, features, options), options.numClasses, options.dropout);
}

/** B×channels×H₁×W₁ before the classifier. */
export function uperFeature(t: Tape, features: readonly Tensor[], options: UperHeadOptions): Tensor {
  const inputs = (options.indices ?? features.map((_, index) => index)).map((index) => {
    const input = features[index];
    if (input === undefined) throw new RangeError(`no feature map ${index}`);
    return input;
  });
  const laterals = topDown(t, lateralMaps(t, inputs, options));
  const joined = joinLevels(t, laterals, options.channels);
  const out = convBlock(t, 'fpn_bottleneck', joined, {
    out: options.channels,
    kernel: 3,
    padding: 1,
    inPlace: options.inPlace ?? true,
  });
  t.keep(joined, ...laterals);
  return out;
}

function lateralMaps(
  t: Tape,
  inputs: readonly Tensor[],
  { channels, poolScales, inPlace = true }: UperHeadOptions,
): Tensor[] {
  const laterals = inputs
    .slice(0, -1)
    .map((input, index) => convBlock(t, `lateral_convs.${index}`, input, { out: channels, kernel: 1, inPlace: false }));
  const last = inputs[inputs.length - 1];
  if (last === undefined) throw new RangeError('no feature maps');
  const scales = poolScales === undefined ? {} : { scales: poolScales };
  const joined = concat(t, [last, ...pyramidPooling(t, last, { channels, inPlace, ...scales })], 1);
  laterals.push(convBlock(t, 'bottleneck', joined, { out: channels, kernel: 3, padding: 1, inPlace }));
  t.keep(joined);
  return laterals;
}

/** Coarse maps are added into finer ones, out of place. */
function topDown(t: Tape, maps: readonly Tensor[]): readonly Tensor[] {
  const laterals = [...maps];
  for (let level = laterals.length - 1; level > 0; level -= 1) {
    const fine = laterals[level - 1];
    const coarse = laterals[level];
    if (fine === undefined || coarse === undefined) continue;
    laterals[level - 1] = add(t, fine, resize(t, coarse, sizeOf(fine)));
  }
  t.keep(...laterals);
  return laterals;
}

function joinLevels(t: Tape, laterals: readonly Tensor[], channels: number): Tensor {
  const outputs = laterals.map((lateral, index) =>
    index === laterals.length - 1
      ? lateral
      : convBlock(t, `fpn_convs.${index}`, lateral, { out: channels, kernel: 3, padding: 1, inPlace: false }),
  );
  const size = outputs[0] === undefined ? ([1, 1] as const) : sizeOf(outputs[0]);
  t.keep(...laterals);
  for (let level = outputs.length - 1; level > 0; level -= 1) {
    const output = outputs[level];
    if (output !== undefined) outputs[level] = resize(t, output, size);
  }
  return concat(t, outputs, 1);
}
