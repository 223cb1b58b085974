import { relu } from '../tape/ops-activation.ts';
import { convTranspose2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import type { Network } from './network.ts';
import { convRelu, decoderNorm } from './smp-blocks.ts';
import { encoderRequest, smpModel, unsupported } from './smp-model.ts';

function block(t: Tape, x: Tensor, out: number, norm: boolean): Tensor {
  return t.call('block', x, () => {
    const width = Math.floor(channelsOf(x) / 4);
    const reduced = convRelu(t, '0', x, { out: width, kernel: 1, norm });
    const enlarged = t.call('1', reduced, () => {
      const map = convTranspose2d(t, reduced, { out: width, kernel: 4, stride: 2, padding: 1, bias: true });
      return relu(t, norm ? batchNorm(t, map) : map);
    });
    return convRelu(t, '2', enlarged, { out, kernel: 1, norm });
  });
}

/** Adds a skip to each enlarged map; a scale without channels keeps the width and adds nothing. */
function decoder(t: Tape, features: readonly Tensor[], norm: boolean): Tensor {
  const maps = features.slice(1).reverse();
  let x = maps[0] ?? t.input([1]);
  maps.forEach((_, index) => {
    const input = x;
    const skip = maps[index + 1];
    const out = skip === undefined ? 32 : channelsOf(skip) === 0 ? channelsOf(input) : channelsOf(skip);
    x = t.call(`blocks.${index}`, skip === undefined ? input : [input, skip], () => {
      const enlarged = block(t, input, out, norm);
      return skip === undefined || channelsOf(skip) === 0 ? enlarged : add(t, enlarged, skip);
    });
  });
  return x;
}

/** `smp.Linknet`: B×C×H×W → B×classes×H×W. */
export const smpLinknetNetworks: Readonly<Record<string, Network>> = {
  'smp/linknet': smpModel((run) => {
    if (run.spec.backbone?.startsWith('mit_b')) throw unsupported(run.spec, { rule: 'no-mit' });
    const norm = decoderNorm(run.spec);
    const request = encoderRequest(run, { depth: 5, outputStrides: [32] });
    return { request, decoder: (t, features) => decoder(t, features, norm), kernel: 1, upsampling: 1 };
  }),
};
