import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type Network, optionNumbers, optionText, type Run } from './network.ts';
import { convRelu, decoderNorm, scse } from './smp-blocks.ts';
import { encoderRequest, smpModel, unsupported } from './smp-model.ts';
import { unusedModules } from './unused.ts';

export interface DecoderOptions {
  readonly channels: readonly number[];
  readonly norm: boolean;
  readonly attention: boolean;
  readonly mode: 'nearest' | 'bilinear' | 'bicubic';
  /** Two convolutions on the deepest map (VGG). */
  readonly center: boolean;
}

export function decoderOptions({ spec }: Run, depth: number): DecoderOptions {
  const channels = optionNumbers(spec, 'decoderChannels', [256, 128, 64, 32, 16]);
  if (channels.length !== depth) throw unsupported(spec, { rule: 'widths', count: channels.length, depth });
  const mode = optionText(spec, 'decoderInterpolation', 'nearest');
  return {
    channels,
    norm: decoderNorm(spec),
    attention: spec.options['decoderAttentionType'] === 'scse',
    mode: mode === 'bilinear' || mode === 'bicubic' ? mode : 'nearest',
    center: spec.backbone?.startsWith('vgg') ?? false,
  };
}

export function centerBlock(t: Tape, head: Tensor, { center, norm }: DecoderOptions): Tensor {
  if (!center) return head;
  const out = channelsOf(head);
  return t.call('center', head, () =>
    convRelu(t, '1', convRelu(t, '0', head, { out, kernel: 3, norm }), { out, kernel: 3, norm }),
  );
}

/** Two 3×3 convolutions, gates around them where asked for. */
export function refine(t: Tape, joined: Tensor, out: number, options: DecoderOptions & { gated: boolean }): Tensor {
  const { norm, attention, gated } = options;
  const input = attention && gated ? scse(t, 'attention1', joined) : joined;
  if (attention && !gated)
    unusedModules(t, [1, channelsOf(joined), 4, 4], (shadow, small) => scse(shadow, 'attention1', small));
  const first = convRelu(t, 'conv1', input, { out, kernel: 3, norm });
  const second = convRelu(t, 'conv2', first, { out, kernel: 3, norm });
  return attention ? scse(t, 'attention2', second) : second;
}

function unetDecoder(t: Tape, features: readonly Tensor[], options: DecoderOptions): Tensor {
  const maps = features.slice(1).reverse();
  const sizes = features.map(sizeOf).reverse();
  let x = maps[0] === undefined ? features[0] : centerBlock(t, maps[0], options);
  options.channels.forEach((out, index) => {
    const input = x;
    const skip = maps[index + 1];
    const size = sizes[index + 1];
    if (input === undefined || size === undefined) return;
    x = t.call(`blocks.${index}`, skip === undefined ? input : [input, skip], () => {
      const enlarged = resize(t, input, size, options.mode);
      const joined = skip === undefined ? enlarged : concat(t, [enlarged, skip], 1);
      return refine(t, joined, out, { ...options, gated: skip !== undefined });
    });
  });
  return x ?? features[0] ?? t.input([1]);
}

/** `smp.Unet`: B×C×H×W → B×classes×H×W. */
export const smpUnetNetworks: Readonly<Record<string, Network>> = {
  'smp/unet': smpModel((run) => {
    const request = encoderRequest(run, { depth: 5, outputStrides: [32] });
    const options = decoderOptions(run, request.depth);
    return {
      request,
      decoder: (t, features) => unetDecoder(t, features, options),
      kernel: 3,
      upsampling: 1,
      anySize: true,
    };
  }),
};
