import { relu } from '../tape/ops-activation.ts';
import { addInPlace } from '../tape/ops-core.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, convBlock } from './blocks.ts';

/** Parts that DDRNet and PIDNet share (MMSegmentation 1.2.2: mmseg/models/utils/{basic_block,ppm}.py). */
interface ResidualStage {
  readonly kind: 'basic' | 'bottleneck';
  readonly planes: number;
  readonly blocks: number;
  readonly stride?: number;
  /** Single blocks end without an activation; the first of several has one. */
  readonly single?: boolean;
}

/** A chain of residual blocks; the last of several has no activation. */
export function residualStage(t: Tape, name: string, input: Tensor, stage: ResidualStage): Tensor {
  const { kind, planes, blocks, stride = 1 } = stage;
  return t.call(name, input, () => {
    let x = input;
    for (let index = 0; index < blocks; index += 1) {
      const source = x;
      const first = index === 0;
      const active = kind === 'basic' && stage.single !== true && (first || index < blocks - 1);
      const block = {
        kind,
        planes,
        stride: first ? stride : 1,
        projects: first,
        active: active || (kind !== 'basic' && !first && index < blocks - 1),
      };
      x = t.call(`${index}`, source, () => residualBlock(t, source, block));
    }
    return x;
  });
}

interface ResidualBlock {
  readonly kind: 'basic' | 'bottleneck';
  readonly planes: number;
  readonly stride: number;
  readonly projects: boolean;
  readonly active: boolean;
}

function residualBlock(t: Tape, x: Tensor, { kind, planes, stride, projects, active }: ResidualBlock): Tensor {
  const out = kind === 'basic' ? planes : 2 * planes;
  const main = kind === 'basic' ? basicConvs(t, x, planes, stride) : bottleneckConvs(t, x, planes, stride);
  const needed = projects && (stride !== 1 || channelsOf(x) !== out);
  const shortcut = needed ? convBlock(t, 'downsample', x, { out, kernel: 1, stride, activation: 'none' }) : x;
  const sum = addInPlace(t, main, shortcut);
  const result = active ? relu(t, sum) : sum;
  t.keep(shortcut);
  return result;
}

function basicConvs(t: Tape, x: Tensor, planes: number, stride: number): Tensor {
  const first = convBlock(t, 'conv1', x, { out: planes, kernel: 3, stride, padding: 1 });
  return convBlock(t, 'conv2', first, { out: planes, kernel: 3, padding: 1, activation: 'none' });
}

function bottleneckConvs(t: Tape, x: Tensor, planes: number, stride: number): Tensor {
  const first = convBlock(t, 'conv1', x, { out: planes, kernel: 1 });
  const second = convBlock(t, 'conv2', first, { out: planes, kernel: 3, stride, padding: 1 });
  return convBlock(t, 'conv3', second, { out: 2 * planes, kernel: 1, activation: 'none' });
}

/** Two strided convolutions, two stages of basic blocks: stride 8, twice the channels. */
export function dualStem(t: Tape, image: Tensor, channels: number, blocks: number): Tensor {
  return t.call('stem', image, () => {
    const first = convBlock(t, '0', image, { out: channels, kernel: 3, stride: 2, padding: 1 });
    const second = convBlock(t, '1', first, { out: channels, kernel: 3, stride: 2, padding: 1 });
    const third = relu(t, residualStage(t, '2', second, { kind: 'basic', planes: channels, blocks }), false);
    const fourth = residualStage(t, '4', third, { kind: 'basic', planes: 2 * channels, blocks, stride: 2 });
    return relu(t, fourth, false);
  });
}
