import { AppError } from '../../errors.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { ModelSpec } from '../workload.ts';
import { sizeOf } from './blocks.ts';
import type { Encoder, EncoderRequest } from './encoder.ts';
import { type Network, optionNumber, optionText, type Run } from './network.ts';
import { plainLoop } from './plain-loop.ts';
import { segmentationHead } from './smp-blocks.ts';
import { findEncoder, knownEncoders } from './smp-encoders.ts';

export interface SmpParts {
  readonly request: EncoderRequest;
  readonly decoder: (t: Tape, features: readonly Tensor[]) => Tensor;
  readonly kernel: 1 | 3;
  readonly upsampling: number;
  /** Odd sizes are allowed (Unet only). */
  readonly anySize?: boolean;
}

/** Encoder, decoder, head of a `smp.*` constructor in the order of `SegmentationModel.forward` (0.6.0). */
export function smpModel(build: (run: Run) => SmpParts): Network {
  return plainLoop((run, image) => {
    const { t, spec, w } = run;
    const parts = build(run);
    const encoder = encoderOf(spec, parts.request);
    if (parts.anySize !== true) checkSize(image, parts.request);
    return t.call('', image, () => {
      const features = t.freeze(w.frozenBackbone, () =>
        t.call('encoder', image, () => encoder.features(t, image, parts.request)),
      );
      const decoded = t.call('decoder', features, () => parts.decoder(t, features));
      const masks = segmentationHead(t, decoded, {
        classes: w.numClasses,
        kernel: parts.kernel,
        upsampling: parts.upsampling,
        activation: optionText(spec, 'activation', 'identity'),
      });
      t.keep(...features, decoded);
      return masks;
    });
  });
}

export interface RequestRules {
  readonly depth: number;
  /** Output strides the constructor takes, its default first; 32 is the encoder as it is. */
  readonly outputStrides: readonly EncoderRequest['outputStride'][];
}

/** `encoder_depth` and `encoder_output_stride`, with the constructor's defaults and limits. */
export function encoderRequest({ spec, w }: Run, rules: RequestRules): EncoderRequest {
  const depth = optionNumber(spec, 'encoderDepth', rules.depth);
  const [usual = 32] = rules.outputStrides;
  const wanted = w.outputStride ?? optionNumber(spec, 'encoderOutputStride', usual);
  const natural = usual === 32 && wanted === 2 ** depth;
  const outputStride = natural ? usual : rules.outputStrides.find((stride) => stride === wanted);
  if (outputStride === undefined) throw unsupported(spec, { rule: 'output-stride', outputStride: wanted });
  const imageSize = optionNumber(spec, 'imgSize', 0);
  return { depth, outputStride, ...(imageSize > 0 ? { imageSize } : {}) };
}

/** What a constructor of the library refuses: a rule with its figures, to be worded by whoever tells it. */
export type SmpRule =
  | { readonly rule: 'output-stride'; readonly outputStride: number }
  | { readonly rule: 'encoder-depth'; readonly depth: number; readonly least?: number }
  | { readonly rule: 'widths'; readonly count: number; readonly depth: number }
  | { readonly rule: 'cannot-dilate' | 'no-mit' };

export function unsupported(spec: ModelSpec, rule: SmpRule): AppError {
  const { architecture, backbone } = spec;
  const figures = Object.entries(rule).map(([name, value]) => `${name} ${value}`);
  return new AppError('unsupported-combination', `smp ${architecture} with ${backbone ?? ''}: ${figures.join(', ')}`, {
    details: { implementation: 'smp', architecture, backbone: backbone ?? '', ...rule },
  });
}

function encoderOf(spec: ModelSpec, request: EncoderRequest): Encoder {
  const name = spec.backbone ?? 'resnet34';
  const encoder = findEncoder(name);
  if (encoder === undefined) {
    throw new AppError('unknown-backbone', `smp has no encoder ${name} here`, {
      details: { implementation: 'smp', backbone: name, known: knownEncoders(name) },
    });
  }
  if (request.outputStride !== 32 && !encoder.dilates) throw unsupported(spec, { rule: 'cannot-dilate' });
  if (request.depth < (encoder.minimumDepth ?? 1) || request.depth > 5)
    throw unsupported(spec, { rule: 'encoder-depth', depth: request.depth });
  return encoder;
}

/** The library refuses sides that the output stride does not divide. */
function checkSize(image: Tensor, { depth, outputStride }: EncoderRequest): void {
  const stride = Math.min(outputStride, 2 ** depth);
  const [height, width] = sizeOf(image);
  if (height % stride === 0 && width % stride === 0) return;
  throw new AppError('unsupported-combination', `sides must be multiples of ${stride}`, {
    details: { rule: 'multiple-of', height, width, multipleOf: stride },
  });
}
