import type { Tensor } from '../tape/storage.ts';
import { Tape } from '../tape/tape.ts';

/**
 * Modules that exist but never run (the deeper stages of an encoder, a classification head): their parameters and
 * buffers count, they get no gradient. `body` runs on a tape of its own with a small input of the given shape.
 */
export function unusedModules(t: Tape, shape: readonly number[], body: (shadow: Tape, input: Tensor) => void): void {
  const shadow = new Tape(t.options);
  shadow.freeze(t.frozen, () => {
    body(shadow, shadow.input(shape));
  });
  t.parameterCount += shadow.parameterCount;
  t.trainableCount += shadow.trainableCount;
  t.parameterBytes += shadow.parameterBytes;
  t.bufferBytes += shadow.bufferBytes;
  t.params.push(...shadow.params);
}
