import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { Workload } from '../workload.ts';

/** A pair of tensors an image: float masks n×H×W at image size, int64 classes n. Returns the masks. */
export function maskTargets(t: Tape, w: Workload): readonly Tensor[] {
  return Array.from({ length: w.batchSize }, () => {
    t.target([w.instancesPerImage], 'long');
    return t.target([w.instancesPerImage, w.imageHeight, w.imageWidth], 'float');
  });
}
