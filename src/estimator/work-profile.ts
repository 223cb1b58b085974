import type { EstimateBytes, WorkGroup, WorkProfile } from './estimate-result.ts';
import type { Tape } from './tape/tape.ts';

/** What the operations of one iteration do, whatever optimizer and number of GPUs it runs with. */
export type GroupedWork = Pick<WorkProfile, 'groups' | 'launches' | 'waitingLaunches'>;

/** Groups the operations of a tape by kind, type and intensity, so that a roofline is a short loop. */
export function groupWork(t: Tape): GroupedWork {
  const groups = new Groups();
  const { works } = t;
  for (let index = 0; index < works.kinds.length; index += 1) {
    const macs = works.macs[index] ?? 0;
    const moved = works.bytes[index] ?? 0;
    const products = works.products[index] ?? 0;
    const intensity = macs === 0 ? 0 : Math.round(Math.log2(macs / moved));
    const group = groups.find(works.kinds[index] ?? 'pointwise', works.half[index] === true, intensity);
    group.count += 1;
    group.macs += macs;
    group.bytes += moved;
    group.backwardMacs += products * macs;
    group.backwardBytes += products * moved;
  }
  return { groups: groups.list, launches: works.kinds.length, waitingLaunches: works.waitingLaunches };
}

/** The grouped operations with the bytes of one optimizer step and of the gradient exchange. */
export function workProfile(
  grouped: GroupedWork,
  gradientBytes: number,
  { bytes, images }: { bytes: EstimateBytes; images: number },
): WorkProfile {
  return {
    ...grouped,
    optimizerBytes: 4 * bytes.optimizerState + 3 * bytes.parameters,
    gradientBytes,
    inputBytesPerImage: bytes.input / images,
  };
}

type Growing = { -readonly [Field in keyof WorkGroup]: WorkGroup[Field] };

/** Groups in the order of their first operation. */
class Groups {
  readonly list: Growing[] = [];
  /** By kind, then intensity and precision as one number. */
  private readonly known = new Map<WorkGroup['kind'], Map<number, Growing>>();

  find(kind: WorkGroup['kind'], half: boolean, intensity: number): Growing {
    let alike = this.known.get(kind);
    if (alike === undefined) {
      alike = new Map();
      this.known.set(kind, alike);
    }
    const key = 2 * intensity + (half ? 1 : 0);
    const known = alike.get(key);
    if (known !== undefined) return known;
    const precision = half ? 'half' : 'fp32';
    const group: Growing = { kind, precision, count: 0, macs: 0, bytes: 0, backwardMacs: 0, backwardBytes: 0 };
    alike.set(key, group);
    this.list.push(group);
    return group;
  }
}
