import { AppError } from '../../errors.ts';

/** One resolution of nnU-Net. */
export interface Stage {
  /** From the image's size (0) down. */
  readonly index: number;
  readonly features: number;
  /** Of the convolution that enters the stage, by axis. */
  readonly stride: readonly [number, number];
}

/** Shortest side of the deepest map, and most features of a 2-D network (`default_experiment_planner.py`, nnunetv2 2.8.1). */
const SHORTEST_SIDE = 4;
const MOST_FEATURES = 512;
/** Deep supervision leaves out the deepest logits: at least one pair must stay. */
const FEWEST_STAGES = 3;

interface Axis {
  side: number;
  spacing: number;
}

/**
 * Stages of a 2-D patch with square pixels, as the planner derives them (`network_topology.py`, nnunetv2 2.8.1): an axis is
 * halved while it stays at least 4 pixels long and its pixels are less than twice as long as the shortest that can still
 * be halved; the last axis left needs 12.
 *
 * @param features of the first stage; doubled up to 512.
 * @throws AppError `unsupported-combination` for a side that the strides do not divide, or a patch with under three stages.
 */
export function stagesFor(height: number, width: number, features: number): readonly Stage[] {
  const axes: readonly [Axis, Axis] = [
    { side: height, spacing: 1 },
    { side: width, spacing: 1 },
  ];
  const strides: [number, number][] = [[1, 1]];
  for (let halved = halvedAxes(axes); halved.length > 0; halved = halvedAxes(axes)) {
    for (const axis of halved) {
      axis.side = Math.ceil(axis.side / 2);
      axis.spacing *= 2;
    }
    strides.push([halved.includes(axes[0]) ? 2 : 1, halved.includes(axes[1]) ? 2 : 1]);
  }
  checkPatch([height, width], axes, strides.length);
  return strides.map((stride, index) => ({ index, stride, features: Math.min(MOST_FEATURES, features * 2 ** index) }));
}

function halvedAxes(axes: readonly Axis[]): readonly Axis[] {
  const long = axes.filter(({ side }) => side >= 2 * SHORTEST_SIDE);
  const finest = Math.min(...long.map(({ spacing }) => spacing));
  const halved = long.filter(({ spacing }) => spacing / finest < 2);
  const [only] = halved;
  return halved.length === 1 && only !== undefined && only.side < 3 * SHORTEST_SIDE ? [] : halved;
}

function checkPatch([height, width]: readonly [number, number], axes: readonly [Axis, Axis], stages: number): void {
  if (stages < FEWEST_STAGES) {
    throw new AppError('unsupported-combination', 'nnU-Net needs a patch with at least three stages', {
      details: { rule: 'at-least', height, width, minimumSide: SHORTEST_SIDE * 2 ** (FEWEST_STAGES - 1) },
    });
  }
  const multiples = axes.map(({ spacing }) => spacing);
  if (height % axes[0].spacing === 0 && width % axes[1].spacing === 0) return;
  throw new AppError('unsupported-combination', 'nnU-Net pads its patch to multiples of its strides', {
    details: { rule: 'multiple-of', height, width, multipleOf: Math.max(...multiples) },
  });
}
