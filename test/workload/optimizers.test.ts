import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';

import { resolveNamed } from '../../src/workload/named-model.ts';

const fixture = z
  .object({ optimizers: z.record(z.string(), z.array(z.string())) })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures/mmseg-config-optimizers.json'), 'utf8')));

/** One run on Mapillary alone of 29 with this network; its name says nothing about it. */
const EXCEPTIONS = new Set(['deeplabv3plus_r50-d8_4xb2-300k_mapillay_v1_65-1280x1280']);
/** Networks that are not built here. */
const UNKNOWN = /^(?:san|vpd)[-_]/;

test.each(Object.entries(fixture.optimizers))('official configs with %s are estimated with it', (optimizer, names) => {
  for (const name of names) {
    if (EXCEPTIONS.has(name) || UNKNOWN.test(name)) continue;
    const { fields, defaults } = resolveNamed({ model: name });
    expect(fields.optimizer ?? defaults.optimizer, name).toBe(optimizer);
  }
});
