export interface Instruction {
  readonly name: string;
  readonly text: string;
}

export interface Stage {
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

/** Logical lines of a Dockerfile: comments gone, continued lines joined. */
function logicalLines(text: string): string[] {
  const joined = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\\n\s*/g, ' ');
  return joined.split('\n').filter((line) => line.trim() !== '');
}

export function parseDockerfile(text: string): readonly Stage[] {
  const stages: { name: string; instructions: Instruction[] }[] = [];
  for (const line of logicalLines(text)) {
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? [];
    if (name === '') throw new Error(`not an instruction: ${line}`);
    const [, stage] = /\bAS\s+(\S+)$/i.exec(name === 'FROM' ? rest : '') ?? [];
    if (name === 'FROM') stages.push({ name: stage ?? `${stages.length}`, instructions: [] });
    else if (stages.length > 0) stages.at(-1)?.instructions.push({ name, text: rest });
    else if (name !== 'ARG') throw new Error(`${name} before the first stage`);
  }
  return stages;
}

export interface Copy {
  readonly from: string | undefined;
  readonly sources: readonly string[];
  readonly target: string;
}

export function parseCopy(text: string): Copy {
  const words = text.split(/\s+/);
  const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
  const paths = words.filter((word) => !word.startsWith('--'));
  return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '.' };
}
