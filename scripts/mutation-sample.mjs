// Stryker checker that leaves mutants out at random: the same ones each time, whatever file, line or kind they are of.
import { createHash } from 'node:crypto';
import { sep } from 'node:path';

const share = Number(process.env.MUTATION_SHARE ?? 1);

/** 0 … 1, even and the same on each machine. */
function lot({ fileName, location: { start, end }, replacement }) {
  const file = fileName.slice(fileName.lastIndexOf(`${sep}src${sep}`)).replaceAll(sep, '/');
  const key = [file, start.line, start.column, end.line, end.column, replacement].join();
  return createHash('sha256').update(key).digest().readUInt32BE() / 2 ** 32;
}

class SampleChecker {
  async init() {}

  /** What is left out counts as not compiling, which keeps it out of the score. */
  async check(mutants) {
    const verdict = (mutant) =>
      lot(mutant) < share ? { status: 'passed' } : { status: 'compileError', reason: 'left out' };
    return Object.fromEntries(mutants.map((mutant) => [mutant.id, verdict(mutant)]));
  }

  group(mutants) {
    return [mutants.map(({ id }) => id)];
  }
}

export const strykerPlugins = [{ kind: 'Checker', name: 'sample', injectableClass: SampleChecker }];
