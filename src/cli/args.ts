import { parseArgs } from 'node:util';

import { AppError } from '../errors.ts';

export type StreamCommand = 'estimate' | 'recommend' | 'converse';

/** What the command line asks for. */
export type Command =
  | { readonly kind: 'stream'; readonly command: StreamCommand }
  | { readonly kind: 'serve' }
  | { readonly kind: 'adapter'; readonly name: string }
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'check'; readonly online: boolean }
  | { readonly kind: 'report' }
  | { readonly kind: 'forget'; readonly user: string }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' };

export const USAGE = `usage: gpu-size [message]            answer one message, or chat / serve when there is none
       gpu-size estimate --jsonl     one workload per line in, one estimate per line out
       gpu-size recommend --jsonl    the same with budget and region: tiers and recommendation
       gpu-size converse --jsonl     one scripted conversation per line
       gpu-size --adapter NAME       only this adapter (console: the terminal)
       gpu-size --check [--online]   validate configuration and catalogue; --online tries the credentials
       gpu-size report               measurements that people reported beside the estimates
       gpu-size forget --user ID     remove what is stored about a person
       gpu-size --version | --help
`;

const OPTIONS = {
  jsonl: { type: 'boolean' },
  adapter: { type: 'string' },
  check: { type: 'boolean' },
  online: { type: 'boolean' },
  user: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/** @throws AppError `invalid-input` with what is wrong, to be shown beside the usage. */
export function parseCommandLine(argv: readonly string[]): Command {
  const { values, positionals } = parsed(argv);
  const [first, ...rest] = positionals;
  if (values.help === true) return { kind: 'help' };
  if (values.version === true) return { kind: 'version' };
  if (values.check === true) return { kind: 'check', online: values.online === true };
  if (values.jsonl === true) return { kind: 'stream', command: streamCommand(first) };
  if (values.adapter !== undefined) return { kind: 'adapter', name: values.adapter };
  if (first === 'report' && rest.length === 0) return { kind: 'report' };
  if (first === 'forget' && rest.length === 0) return forget(values.user);
  if (first === undefined) return { kind: 'serve' };
  if (isStream(first) && rest.length === 0) throw new AppError('invalid-input', `${first} needs --jsonl`);
  return { kind: 'message', text: positionals.join(' ') };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown option';
    throw new AppError('invalid-input', reason, { cause: error });
  }
}

function isStream(word: string): word is StreamCommand {
  return word === 'estimate' || word === 'recommend' || word === 'converse';
}

function streamCommand(word: string | undefined): StreamCommand {
  if (word !== undefined && isStream(word)) return word;
  throw new AppError('invalid-input', '--jsonl goes with estimate, recommend or converse');
}

function forget(user: string | undefined): Command {
  if (user === undefined || user === '') throw new AppError('invalid-input', 'forget needs --user <platform id>');
  return { kind: 'forget', user };
}
