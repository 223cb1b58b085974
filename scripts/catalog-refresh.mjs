// Behind `npm run catalog:refresh`: rewrites catalog/ from the vendor's public price file, or with PRICES=api from signed calls.
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './build.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
if (!isBuilt() && build() !== 0) process.exit(1);
const { readConfig } = await import('../dist/src/config.js');
const { loadCatalog } = await import('../dist/catalog/index.js');
const { refreshCatalog } = await import('../dist/catalog/refresh/refresh.js');

try {
  const { prices, region } = readConfig();
  const written = await refreshCatalog({
    settings: prices.origin === 'api' ? prices : { ...prices, origin: 'public' },
    catalog: loadCatalog(),
    folder: join(root, 'catalog'),
    region,
    fetch,
    now: Date.now,
    nonce: () => randomBytes(16).toString('hex'),
    sleep,
  });
  for (const { file, written: rows } of written) console.log(`${file}: ${rows} rows`);
} catch (error) {
  console.error(`${error.code ?? 'error'}: ${error.message}`);
  process.exitCode = 1;
}
