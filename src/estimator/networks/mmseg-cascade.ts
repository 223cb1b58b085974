import { ModuleWeights } from '../tape/module-weights.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { LossName } from '../workload.ts';
import type { Head } from './mmseg-head.ts';
import { type HeadLosses, lossByFeature } from './mmseg-loss.ts';
import type { Segmentor } from './mmseg-segmentor.ts';

/** A head that refines the logits of the one before. */
export type RefiningHead = (t: Tape, features: readonly Tensor[], previous: Tensor) => Tensor;

/** Losses of a refining head; may sample points instead of using all pixels. */
export type RefiningLosses = (
  t: Tape,
  at: { features: readonly Tensor[]; previous: Tensor; target: Tensor },
) => HeadLosses;

/**
 * Two heads of a CascadeEncoderDecoder: the first runs for its loss, then once more, with the same weights, to feed
 * the second (mmseg/models/segmentors/cascade_encoder_decoder.py, 1.2.2).
 */
export function cascade(
  loss: LossName,
  first: Head,
  second: { readonly head: RefiningHead; readonly losses?: RefiningLosses },
): Pick<Segmentor, 'decodeHead' | 'decodeLosses'> {
  return {
    decodeHead: (t, features) => {
      const previous = t.within('0', () => first(t, features));
      return t.within('1', () => second.head(t, features, previous));
    },
    decodeLosses: (t, features, target) => {
      const weights = new ModuleWeights();
      const coarse = t.within('0', () =>
        lossByFeature(
          t,
          t.again(weights, () => first(t, features)),
          target,
          { loss },
        ),
      );
      const previous = t.within('0', () => t.again(weights, () => first(t, features)));
      const fine = t.within('1', () =>
        second.losses === undefined
          ? lossByFeature(t, second.head(t, features, previous), target, { loss })
          : second.losses(t, { features, previous, target }),
      );
      t.keep(previous);
      return {
        losses: [...coarse.losses, ...fine.losses],
        accuracies: [...coarse.accuracies, ...fine.accuracies],
      };
    },
  };
}
