// Runs dependency-cruiser and fails when it saw too little: with a TypeScript it cannot use, it cruises nothing and reports success.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

const folders = ['src', 'adapters', 'catalog'];
const sources = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith('.ts'),
  ),
).length;

const bin = 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs';
const cruise = spawnSync(process.execPath, [bin, '--output-type', 'json', ...folders], {
  encoding: 'utf8',
  maxBuffer: 2 ** 28,
});
if (cruise.stdout === '') {
  console.error(cruise.stderr);
  process.exit(1);
}
const { summary } = JSON.parse(cruise.stdout);
for (const { rule, from, to } of summary.violations) console.error(`${rule.name}: ${from} → ${to}`);
if (summary.totalCruised < sources || summary.totalDependenciesCruised < sources) {
  console.error(
    `Only ${summary.totalCruised} modules and ${summary.totalDependenciesCruised} imports seen for ${sources} files.`,
  );
  process.exit(1);
}
console.log(
  `${summary.totalCruised} modules, ${summary.totalDependenciesCruised} imports, ${summary.error} violations`,
);
process.exit(summary.error === 0 ? 0 : 1);
