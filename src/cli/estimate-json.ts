import type { Estimate } from '../estimator/estimate-result.ts';

export type SecondsByGpu = Readonly<Record<string, readonly [number, number]>>;

/** An estimate in the machine-readable form of the documentation; timing only where a GPU was named. */
export function estimateToJson(
  estimate: Estimate,
  { assumed, secondsPerIteration }: { assumed: readonly string[]; secondsPerIteration?: SecondsByGpu },
): Readonly<Record<string, unknown>> {
  const { implementation, architecture, backbone } = estimate.model;
  return {
    model: { id: modelId(estimate), implementation, architecture, backbone },
    assumed,
    parameters: estimate.parameters,
    trainableParameters: estimate.trainableParameters,
    forwardMacs: estimate.forwardMacs,
    bytes: estimate.bytes,
    peak: estimate.peak,
    ...(secondsPerIteration === undefined ? {} : { secondsPerIteration }),
    uncertainty: estimate.uncertainty,
  };
}

function modelId({ model }: Estimate): string {
  return [model.implementation, model.architecture, model.backbone].filter((part) => part !== null).join('/');
}
