import { constant } from '../tape/ops-core.ts';
import { concat } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import type { Network } from './network.ts';
import { enlarge } from './smp-blocks.ts';
import { encoderRequest, smpModel, unsupported } from './smp-model.ts';
import { centerBlock, type DecoderOptions, decoderOptions, refine } from './smp-unet.ts';
import { unusedModules } from './unused.ts';

/** Enlarges by 2, joins the skip, refines; a block for a scale without channels gives an empty map. */
function block(t: Tape, name: string, [x, skip]: readonly Tensor[], options: DecoderOptions & { out: number }): Tensor {
  if (x === undefined) return t.input([1]);
  return t.call(`blocks.${name}`, skip === undefined ? x : [x, skip], () => {
    const enlarged = enlarge(t, x, 2, options.mode);
    if (options.out === 0) return constant(t, 'empty', [x.shape[0] ?? 1, 0, ...sizeOf(enlarged)], enlarged.dtype);
    const joined = skip === undefined ? enlarged : concat(t, [enlarged, skip], 1);
    return refine(t, joined, options.out, { ...options, gated: skip !== undefined });
  });
}

/** Nested dense skips: row `d` of layer `l` joins all maps of its scale made before. */
function decoder(t: Tape, features: readonly Tensor[], options: DecoderOptions): Tensor {
  const maps = features.slice(1).reverse();
  const depth = maps.length - 1;
  const dense = new Map<string, Tensor>();
  const at = (row: number, column: number): Tensor => dense.get(`${row}_${column}`) ?? features[0] ?? t.input([1]);
  const make = (row: number, column: number, inputs: readonly Tensor[]): void => {
    const skip = maps[column + 1];
    const out = row === 0 || skip === undefined ? (options.channels[column] ?? 16) : channelsOf(skip);
    dense.set(`${row}_${column}`, block(t, `x_${row}_${column}`, inputs, { ...options, out }));
  };
  const joins: Tensor[] = [];
  for (let layer = 0; layer < depth; layer += 1) {
    for (let row = 0; row < depth - layer; row += 1) {
      const column = row + layer;
      const skip = maps[column + 1];
      if (skip === undefined) continue;
      if (layer === 0) {
        make(row, column, [maps[row] ?? skip, skip]);
        continue;
      }
      const earlier = Array.from({ length: layer }, (_, index) => at(row + 1 + index, column));
      const joined = concat(t, [...earlier, skip], 1);
      joins.push(joined);
      make(row, column, [at(row, column - 1), joined]);
    }
  }
  const last = at(0, depth - 1);
  make(0, depth, [depth === 0 ? (maps[0] ?? last) : last]);
  t.keep(...dense.values(), ...joins.slice(-1));
  return at(0, depth);
}

/** `smp.UnetPlusPlus`: B×C×H×W → B×classes×H×W. The centre block of VGG exists without being used. */
export const smpUnetPlusPlusNetworks: Readonly<Record<string, Network>> = {
  'smp/unetplusplus': smpModel((run) => {
    if (run.spec.backbone?.startsWith('mit_b')) throw unsupported(run.spec, { rule: 'no-mit' });
    const request = encoderRequest(run, { depth: 5, outputStrides: [32] });
    const options = decoderOptions(run, request.depth);
    return {
      request,
      decoder: (t, features) => {
        const deepest = features[features.length - 1];
        if (options.center && deepest !== undefined) unusedCenter(t, deepest, options);
        return decoder(t, features, options);
      },
      kernel: 3,
      upsampling: 1,
    };
  }),
};

function unusedCenter(t: Tape, deepest: Tensor, options: DecoderOptions): void {
  unusedModules(t, [1, channelsOf(deepest), 4, 4], (shadow, small) => centerBlock(shadow, small, options));
}
