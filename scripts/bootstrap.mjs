// Behind `npm start` and `npm test`: installs and builds what is missing or out of date, then runs the program or the
// tests in this process, so that signals, standard streams and the exit code are theirs. Plain Node without dependencies.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const say = (line) => process.stderr.write(`${line}\n`);

function fail(line, code = 1) {
  say(line);
  process.exit(code);
}

function requireNode(major, minor) {
  const [haveMajor = 0, haveMinor = 0] = process.versions.node.split('.').map(Number);
  if (haveMajor > major || (haveMajor === major && haveMinor >= minor)) return;
  fail(
    `gpu-size needs Node ${major}.${minor} or newer; this is ${process.versions.node}. Install a current Node (https://nodejs.org) and try again.\n` +
      `gpu-size 需要 Node ${major}.${minor} 或更新版本，当前为 ${process.versions.node}，请升级后重试。`,
  );
}

/** Packages by folder as a lock file lists them; empty when the file is absent or unreadable. */
function lockedPackages(file) {
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? {};
  } catch {
    return {};
  }
}

/** Compares what npm wrote into node_modules with the lock, so that neither clocks nor checkouts matter. */
function isInstalled() {
  const wanted = Object.entries(lockedPackages(join(root, 'package-lock.json')));
  const present = lockedPackages(join(root, 'node_modules', '.package-lock.json'));
  return (
    wanted.length > 0 &&
    wanted.every(([path, entry]) => path === '' || entry.optional === true || present[path]?.version === entry.version)
  );
}

function install() {
  say('Installing packages (once, about a minute) … 正在安装依赖 …');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const options = { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' };
  const { status } = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], options);
  if (status !== 0) fail('npm ci failed; see the lines above. Is the package registry reachable?', status ?? 1);
}

async function run(file, args) {
  process.argv = [process.argv[0], join(root, file), ...args];
  await import(pathToFileURL(join(root, file)).href);
}

async function main() {
  requireNode(20, 19);
  const [command, ...args] = process.argv.slice(2);
  if (command !== 'start' && command !== 'test') fail('usage: node scripts/bootstrap.mjs start|test [arguments]');
  if (!isInstalled()) install();
  const { build, isBuilt } = await import('./build.mjs');
  if (!isBuilt() && build() !== 0) fail('The build failed; see the lines above.');
  if (command === 'test') {
    process.chdir(root);
    return run('node_modules/vitest/vitest.mjs', ['run', ...args]);
  }
  if (existsSync('.env')) process.loadEnvFile('.env');
  return run('dist/src/main.js', args);
}

await main();
