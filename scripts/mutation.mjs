// Mutation score of the layers that decide. Usage: npm run test:mutation -- [layer …] [--share 0.2] [--changed] [file …]
//   layer       dialog, advice, estimator; all of them when none is named
//   --share     a random part of the mutants, the same one each time
//   --changed   only what changed since the last full run of the layer (by the incremental report in reports/)
//   file        src/advice/fit.ts or src/advice/fit.ts:10-20 instead of the whole layer
// Undetected mutants go to reports/mutation-<layer>.txt, one a line. Fails below 80 %.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';

const THRESHOLD = 80;

/** Types alone, and tables of facts whose only judge would be a copy of them, are left out. */
const layers = {
  dialog: ['src/dialog/**/*.ts', '!src/dialog/dialog-state.ts'],
  advice: ['src/advice/**/*.ts', '!src/advice/recommendation.ts', '!src/advice/beliefs.ts'],
  estimator: [
    'src/estimator/*.ts',
    'src/estimator/tape/*.ts',
    '!src/estimator/workload.ts',
    '!src/estimator/estimate-result.ts',
  ],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { share: { type: 'string' }, changed: { type: 'boolean', default: false } },
});
const files = positionals.filter((name) => name.startsWith('src/'));
const unknown = positionals.filter((name) => !files.includes(name) && !Object.hasOwn(layers, name));
if (unknown.length > 0) {
  console.error(`No layer or file: ${unknown.join(', ')}. Layers: ${Object.keys(layers).join(', ')}.`);
  process.exit(2);
}

function layersAsked() {
  if (files.length > 0)
    return Object.keys(layers).filter((layer) => files.some((file) => file.startsWith(`src/${layer}/`)));
  const named = positionals.filter((name) => Object.hasOwn(layers, name));
  return named.length > 0 ? named : Object.keys(layers);
}

/** Environment variables reach the workers, which know nothing of these arguments. */
function optionsOf(layer) {
  process.env.MUTATION_LAYER = layer;
  const mutate = files.length > 0 ? files.filter((file) => file.startsWith(`src/${layer}/`)) : layers[layer];
  if (values.share !== undefined) {
    process.env.MUTATION_SHARE = values.share;
    return {
      mutate,
      plugins: ['@stryker-mutator/vitest-runner', './scripts/mutation-sample.mjs'],
      checkers: ['sample'],
    };
  }
  if (files.length > 0) return { mutate };
  return { mutate, incremental: true, incrementalFile: `reports/mutation-${layer}.json`, force: !values.changed };
}

/** `src/advice/fit.ts:12:3 Survived [changed part] → [replacement]` */
function shown({ fileName, location: { start, end }, status, replacement }) {
  const [first, ...rest] = readFileSync(fileName, 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line);
  const part = rest.length === 0 ? first.slice(start.column - 1, end.column - 1) : `${first.slice(start.column - 1)} …`;
  const short = (text) => text.replace(/\s+/g, ' ').slice(0, 80);
  return `${relative('.', fileName)}:${start.line}:${start.column} ${status} [${short(part)}] → [${short(replacement)}]`;
}

async function scoreOf(layer) {
  const results = await new Stryker(optionsOf(layer)).runMutationTest();
  const having = (...statuses) => results.filter(({ status }) => statuses.includes(status));
  const detected = having('Killed', 'Timeout').length;
  const missed = having('Survived', 'NoCoverage');
  mkdirSync('reports', { recursive: true });
  writeFileSync(`reports/mutation-${layer}.txt`, missed.map((mutant) => `${shown(mutant)}\n`).join(''));
  const score = (100 * detected) / (detected + missed.length);
  const counts = ['Killed', 'Timeout', 'Survived', 'NoCoverage'].map((status) => `${status} ${having(status).length}`);
  console.log(`${layer}: ${score.toFixed(1)} % (${counts.join(', ')})`);
  return score;
}

const scores = [];
for (const layer of layersAsked()) scores.push(await scoreOf(layer));
process.exitCode = scores.every((score) => score >= THRESHOLD) ? 0 : 1;
