import type { EstimateBytes, WorkGroup, WorkProfile } from './estimate-result.ts';
import type { Tape } from './tape/tape.ts';

/** Groups the operations of a tape by kind, type and intensity, so that a roofline is a short loop. */
export function workProfile(
  t: Tape,
  gradientBytes: number,
  run: { bytes: EstimateBytes; images: number },
): WorkProfile {
  const { bytes } = run;
  const groups = new Map<string, Growing>();
  for (const [index, kind] of t.workKinds.entries()) {
    const precision = t.workHalf[index] === true ? 'half' : 'fp32';
    const macs = t.workMacs[index] ?? 0;
    const moved = t.workBytes[index] ?? 0;
    const products = t.workProducts[index] ?? 0;
    const intensity = macs === 0 ? 0 : Math.round(Math.log2(macs / moved));
    const key = `${kind}/${precision}/${intensity}`;
    let group = groups.get(key);
    if (group === undefined) {
      group = { kind, precision, count: 0, macs: 0, bytes: 0, backwardMacs: 0, backwardBytes: 0 };
      groups.set(key, group);
    }
    group.count += 1;
    group.macs += macs;
    group.bytes += moved;
    group.backwardMacs += products * macs;
    group.backwardBytes += products * moved;
  }
  return {
    groups: [...groups.values()],
    launches: t.workKinds.length,
    waitingLaunches: t.waitingLaunches,
    optimizerBytes: 4 * bytes.optimizerState + 3 * bytes.parameters,
    gradientBytes,
    inputBytesPerImage: bytes.input / run.images,
  };
}

type Growing = { -readonly [Field in keyof WorkGroup]: WorkGroup[Field] };
