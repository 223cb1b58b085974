import type { EstimateBytes, WorkGroup, WorkProfile } from './estimate-result.ts';
import type { Tape } from './tape/tape.ts';

/** Groups the operations of a tape by kind, type and intensity, so that a roofline is a short loop. */
export function workProfile(t: Tape, gradientBytes: number, bytes: EstimateBytes): WorkProfile {
  const groups = new Map<
    string,
    { kind: WorkGroup['kind']; precision: WorkGroup['precision']; count: number; macs: number; bytes: number }
  >();
  for (const [index, kind] of t.workKinds.entries()) {
    const precision = t.workHalf[index] === true ? 'half' : 'fp32';
    const macs = t.workMacs[index] ?? 0;
    const moved = t.workBytes[index] ?? 0;
    const intensity = macs === 0 ? 0 : Math.round(Math.log2(macs / moved));
    const key = `${kind}/${precision}/${intensity}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { kind, precision, count: 1, macs, bytes: moved });
    else {
      group.count += 1;
      group.macs += macs;
      group.bytes += moved;
    }
  }
  return {
    groups: [...groups.values()],
    launches: t.workKinds.length,
    optimizerBytes: 4 * bytes.optimizerState + 3 * bytes.parameters,
    gradientBytes,
    inputBytesPerImage: bytes.input,
  };
}
