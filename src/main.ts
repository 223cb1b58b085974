#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

import { type Command, parseCommandLine, USAGE } from './cli/args.ts';
import { type Config, readConfig } from './config.ts';
import { AppError, asAppError } from './errors.ts';

// The arrays of an estimator's tape are all alive while it is made and dead a millisecond later. V8 often takes their code
// for one that makes long-lived arrays and puts all later ones where only full collections look: twice the time of a large network.
setFlagsFromString('--no-allocation-site-pretenuring');

/** Flags → configuration → what was asked for; each command's code is loaded when it runs. */
async function main(argv: readonly string[]): Promise<number> {
  const command = parseCommandLine(argv);
  switch (command.kind) {
    case 'help':
      process.stdout.write(USAGE);
      return 0;
    case 'version':
      process.stdout.write(`${version()}\n`);
      return 0;
    case 'check':
      return (await (await import('./cli/check-command.ts')).runCheck(command.online)) ? 0 : 1;
    default:
      await run(command, readConfig());
      return 0;
  }
}

async function run(command: Command, config: Config): Promise<void> {
  switch (command.kind) {
    case 'stream':
      return (await import('./cli/stream-command.ts')).runStream(command.command, config);
    case 'message':
      return (await import('./cli/terminal-command.ts')).runMessage(command.text, config);
    case 'report':
      return (await import('./cli/store-commands.ts')).runReport(config);
    case 'forget':
      return (await import('./cli/store-commands.ts')).runForget(command.user, config);
    case 'adapter':
      return command.name === 'console' ? chat(config) : serve(only(command.name, config));
    default:
      return config.platforms.length === 0 ? chat(config) : serve(config);
  }
}

async function chat(config: Config): Promise<void> {
  await (await import('./cli/terminal-command.ts')).runChat(config);
}

async function serve(config: Config): Promise<void> {
  await (await import('./cli/serve-command.ts')).runServe(config);
}

function only(name: string, config: Config): Config {
  const platforms = config.platforms.filter((platform) => platform.name === name);
  if (platforms.length > 0) return { ...config, platforms };
  throw new AppError(
    'invalid-config',
    `the adapter ${name} is not configured: set its variables (adapters/${name}/README.md)`,
  );
}

/** The package file stands above the build as above the sources. */
function version(): string {
  const [file] = ['../package.json', '../../package.json']
    .map((path) => new URL(path, import.meta.url))
    .filter((path) => existsSync(path));
  const text = file === undefined ? '' : readFileSync(file, 'utf8');
  return /"version":\s*"([^"]+)"/.exec(text)?.[1] ?? 'unknown';
}

/** Whoever reads the output may stop reading (`| head`): that is an end, not a failure. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const { code, message } = asAppError(error);
  process.stderr.write(`gpu-size: ${code}: ${message}\n${code === 'invalid-input' ? USAGE : ''}`);
  process.exitCode = 1;
}
