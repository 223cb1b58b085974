import type { EstimateBytes, WorkGroup, WorkProfile } from './estimate-result.ts';
import type { Tape } from './tape/tape.ts';

/** Groups the operations of a tape by kind, type and intensity, so that a roofline is a short loop. */
export function workProfile(t: Tape, gradientBytes: number, bytes: EstimateBytes): WorkProfile {
  const groups = new Map<
    string,
    { kind: WorkGroup['kind']; precision: WorkGroup['precision']; count: number; macs: number; bytes: number }
  >();
  for (const work of t.works) {
    const intensity = work.macs === 0 ? 0 : Math.round(Math.log2(work.macs / work.bytes));
    const key = `${work.kind}/${work.half}/${intensity}`;
    const group = groups.get(key);
    if (group === undefined)
      groups.set(key, {
        kind: work.kind,
        precision: work.half ? 'half' : 'fp32',
        count: 1,
        macs: work.macs,
        bytes: work.bytes,
      });
    else {
      group.count += 1;
      group.macs += work.macs;
      group.bytes += work.bytes;
    }
  }
  return {
    groups: [...groups.values()],
    launches: t.works.length,
    optimizerBytes: 4 * bytes.optimizerState + 3 * bytes.parameters,
    gradientBytes,
    inputBytesPerImage: bytes.input,
  };
}
