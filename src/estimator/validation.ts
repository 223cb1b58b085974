import { softmax } from './tape/ops-activation.ts';
import { resize } from './tape/ops-resize.ts';
import type { Tensor } from './tape/storage.ts';
import type { Tape } from './tape/tape.ts';
import type { Workload } from './workload.ts';

/** Logits to image size where the model has not done so, softmax while they live, argmax. */
export function validationOutput(t: Tape, logits: Tensor | null, w: Workload): void {
  if (logits === null) return;
  const { validationHeight: height, validationWidth: width } = w;
  const fits = logits.shape[2] === height && logits.shape[3] === width;
  const resized = fits ? logits : resize(t, logits, [height, width]);
  const probabilities = softmax(t, resized);
  t.begin('argmax', [probabilities]);
  t.allocate([w.validationBatch, w.validationHeight, w.validationWidth], 'long');
  t.keep(resized, probabilities);
}
