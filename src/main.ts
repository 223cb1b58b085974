#!/usr/bin/env node
import { parseCommandLine, USAGE } from './cli/args.ts';
import { readConfig } from './config.ts';
import { asAppError } from './errors.ts';

async function main(argv: readonly string[]): Promise<number> {
  const command = parseCommandLine(argv);
  switch (command.kind) {
    case 'help':
      process.stdout.write(USAGE);
      return 0;
    case 'stream':
      await (await import('./cli/stream-command.ts')).runStream(command.command, readConfig());
      return 0;
    case 'message':
      await (await import('./cli/terminal-command.ts')).runMessage(command.text, readConfig());
      return 0;
    case 'serve':
      await (await import('./cli/terminal-command.ts')).runChat(readConfig());
      return 0;
    default:
      process.stderr.write(USAGE);
      return 1;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const { code, message } = asAppError(error);
  process.stderr.write(`${code}: ${message}\n`);
  process.exitCode = 1;
}
