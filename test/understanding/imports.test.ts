import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tsx = join(root, 'node_modules/tsx/dist/cli.mjs');

const report = z.object({ natural: z.array(z.string()), leaked: z.boolean(), printed: z.string() });

/** Imports understanding in a process of its own, in a folder with an `.env`, and tells what was loaded. */
function importElsewhere(): z.infer<typeof report> {
  const folder = mkdtempSync(join(tmpdir(), 'imports-'));
  writeFileSync(join(folder, '.env'), 'LEAKED_FROM_ENV_FILE=yes\n');
  const script = join(folder, 'load.mts');
  writeFileSync(
    script,
    `import { createRequire } from 'node:module';
await import(${JSON.stringify(join(root, 'src/understanding/understand.ts'))});
const cache = Object.keys(createRequire(import.meta.url).cache);
const natural = cache.filter((file) => /node_modules.natural/.test(file)).map((file) => file.replaceAll('\\\\', '/').split('/natural/').at(-1));
console.log(JSON.stringify({ natural, leaked: 'LEAKED_FROM_ENV_FILE' in process.env, printed: '' }));`,
  );
  const output = execFileSync(process.execPath, [tsx, script], { cwd: folder, encoding: 'utf8' });
  const lines = output.trim().split('\n');
  return { ...report.parse(JSON.parse(lines.at(-1) ?? '')), printed: lines.slice(0, -1).join('\n') };
}

describe('importing understanding', () => {
  const loaded = importElsewhere();

  it('loads no more of natural than its distance folder', () => {
    expect(loaded.natural.length).toBeGreaterThan(0);
    expect(loaded.natural.filter((file) => !/(^|\/)(distance)\//.test(file) && !file.endsWith('package.json'))).toEqual(
      [],
    );
  });

  it('reads no .env and prints nothing', () => {
    expect(loaded.leaked).toBe(false);
    expect(loaded.printed).toBe('');
  });
});
