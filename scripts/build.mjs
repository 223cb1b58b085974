// Builds dist/: compiles, copies what the program reads at run time, and swaps the finished folder in at once, so that a
// running program and a second build never see half of it. Plain Node without dependencies.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sourceFolders = ['src', 'adapters', 'catalog', 'test/bench'];
const settings = ['tsconfig.json', 'tsconfig.build.json', 'package.json', 'scripts/build.mjs'];
const stampFile = join(root, 'dist', '.built');

/** Every file below `folder`, relative to the repository root. */
function filesBelow(folder) {
  const absolute = join(root, folder);
  if (!existsSync(absolute)) return [];
  return readdirSync(absolute, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

/** Changes whenever a source is edited, added or removed. */
function sourceDigest() {
  const digest = createHash('sha256');
  for (const file of [...settings, ...sourceFolders.flatMap(filesBelow)]) {
    const { size, mtimeMs } = statSync(join(root, file));
    digest.update(`${file}\n${size}\n${mtimeMs}\n`);
  }
  return digest.digest('hex');
}

export function isBuilt() {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === sourceDigest();
}

/** Returns the compiler's exit code; dist/ is left as it was when that is not 0. */
export function build() {
  const digest = sourceDigest();
  const fresh = join(root, `.bootstrap-dist-${process.pid}`);
  const old = join(root, `.bootstrap-old-${process.pid}`);
  const compiler = join(root, 'node_modules', '@typescript', 'native', 'bin', 'tsc');
  try {
    const arguments_ = [compiler, '-p', join(root, 'tsconfig.build.json'), '--outDir', fresh];
    // Standard output belongs to the program that is started afterwards.
    const { status } = spawnSync(process.execPath, arguments_, { cwd: root, stdio: ['ignore', 2, 2] });
    if (status !== 0) return status ?? 1;
    for (const file of ['src', 'adapters', 'catalog'].flatMap(filesBelow)) {
      if (file.endsWith('.ts') || file.endsWith('README.md')) continue;
      mkdirSync(dirname(join(fresh, file)), { recursive: true });
      cpSync(join(root, file), join(fresh, file));
    }
    writeFileSync(join(fresh, '.built'), digest);
    if (existsSync(join(root, 'dist'))) renameSync(join(root, 'dist'), old);
    renameSync(fresh, join(root, 'dist'));
    return 0;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) process.exit(build());
