import { type ConvOptions, conv2d } from '../tape/ops-conv.ts';
import { add, multiply, shift, unary } from '../tape/ops-core.ts';
import { emitFresh } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/** Mean and variance of each filter; keeps the weight. */
function varMean(t: Tape, weight: Tensor): readonly Tensor[] {
  const shape = [weight.shape[0] ?? 1, 1, 1, 1];
  t.begin('var_mean', [weight]);
  const outputs = [0, 1].map(() => ({ storage: t.allocate(shape, 'float'), shape, dtype: 'float' as const }));
  return t.results(outputs, {
    name: 'var_mean',
    inputs: [weight],
    saved: [weight.storage],
    rule: (walk, node) => emitFresh(walk, node, 0),
  });
}

/** `StdConv2d` of BiT and TransUNet: the weight is normalised per filter in every pass, two copies of it are kept. */
export function standardizedConv(t: Tape, x: Tensor, options: ConvOptions & { kernel: number }): Tensor {
  const { out, kernel } = options;
  return t.call('', x, () => {
    const weight = t.param(out, x.shape[1] ?? 1, kernel, kernel);
    const [variance = weight, mean = weight] = varMean(t, weight);
    const centred = add(t, weight, mean);
    const deviation = unary(t, shift(t, variance), 'sqrt', { keeps: 'output' });
    const standardized = multiply(t, centred, deviation, { name: 'div' });
    const result = conv2d(t, x, { ...options, shared: { weight: standardized, bias: null } });
    t.keep(variance, mean, standardized);
    return result;
  });
}
