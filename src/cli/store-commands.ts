import { existsSync } from 'node:fs';

import { summariseMeasurements } from '../advice/measurement.ts';
import type { Config } from '../config.ts';
import { openStateStore } from '../state/open-state-store.ts';
import type { Store } from '../state/store.ts';
import { countFeedback, listMeasurements } from '../turn/records.ts';

const DEFAULT_DATABASE = 'sqlite:data/gpu-size.db';

/** Prints where estimates were off: told figures beside estimated ones, by model, the farthest first. */
export async function runReport(config: Config): Promise<void> {
  await withStore(config, async (store) => {
    const records = await listMeasurements(store);
    const { helpful, notHelpful } = await countFeedback(store);
    const rows = summariseMeasurements(records).map(({ kind, model, count, medianRatio, worstRatio }) =>
      [kind.padEnd(10), model.padEnd(44), String(count).padStart(5), ratio(medianRatio), ratio(worstRatio)].join(' '),
    );
    const header = ['figure'.padEnd(10), 'model'.padEnd(44), 'count', ' median', '  worst'].join(' ');
    const summary = `${records.length} measurements; answers found helpful ${helpful}, not helpful ${notHelpful}`;
    process.stdout.write(`${[summary, ...(rows.length === 0 ? [] : [header, ...rows])].join('\n')}\n`);
  });
}

/** Measured over estimated, as a signed percentage. */
function ratio(value: number): string {
  const percent = (value - 1) * 100;
  return `${percent >= 0 ? '+' : '−'}${Math.abs(percent).toFixed(1)} %`.padStart(7);
}

/** Removes what is stored about a person. */
export async function runForget(user: string, config: Config): Promise<void> {
  await withStore(config, async (store) => {
    const removed = await store.forget(user);
    process.stdout.write(`${removed} entries removed\n`);
  });
}

async function withStore(config: Config, run: (store: Store) => Promise<void>): Promise<void> {
  const address = config.databaseUrl ?? DEFAULT_DATABASE;
  const file = /^sqlite:(?:\/\/)?(?!:memory:)(.+)$/.exec(address)?.[1];
  // "0 entries removed" from a mistyped path must not pass for done
  if (file !== undefined && !existsSync(file)) {
    process.stderr.write(`no database at ${file} before this: DATABASE_URL names the one that is served from\n`);
  }
  const store = await openStateStore(address);
  try {
    await run(store);
  } finally {
    await store.close();
  }
}
