import { expect, test } from 'vitest';

import { trace } from '../../src/estimator/trace.ts';
import { truthRows, workloadOf } from './truth.ts';

test.each(truthRows('parameters').map((row) => [row.id, row] as const))(
  '%s has the parameters of the library',
  (_id, row) => {
    const { t } = trace(workloadOf(row.input));
    expect({ parameters: t.parameterCount, trainableParameters: t.trainableCount }).toEqual({
      parameters: row.expect['parameters'],
      trainableParameters: row.expect['trainableParameters'],
    });
  },
);
