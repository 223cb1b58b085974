// Runs the suite on each supported Node line; the binaries come from the package registry. Usage: npm run test:nodes -- 22 24
import { spawnSync } from 'node:child_process';

const asked = process.argv.slice(2);
const lines = asked.length > 0 ? asked : ['20', '22', '24', '26'];
const failed = [];
for (const line of lines) {
  console.error(`== Node ${line}`);
  const command = ['-y', '-p', `node@${line}`, 'node', 'scripts/bootstrap.mjs', 'test'];
  const { status } = spawnSync('npx', command, { stdio: 'inherit' });
  if (status !== 0) failed.push(line);
}
console.error(failed.length === 0 ? `passed on Node ${lines.join(', ')}` : `failed on Node ${failed.join(', ')}`);
process.exit(failed.length === 0 ? 0 : 1);
