import { describe, expect, test } from 'vitest';

import { parseCommandLine } from '../../src/cli/args.ts';
import { AppError } from '../../src/errors.ts';

describe('the command line', () => {
  test.each([
    [[], { kind: 'serve' }],
    [['segformer b2 512x512'], { kind: 'message', text: 'segformer b2 512x512' }],
    [['estimate', 'unet 512'], { kind: 'message', text: 'estimate unet 512' }],
    [['segformer', 'b2'], { kind: 'message', text: 'segformer b2' }],
    [['estimate', '--jsonl'], { kind: 'stream', command: 'estimate' }],
    [['--jsonl', 'recommend'], { kind: 'stream', command: 'recommend' }],
    [['converse', '--jsonl'], { kind: 'stream', command: 'converse' }],
    [['--check'], { kind: 'check', online: false }],
    [['--check', '--online'], { kind: 'check', online: true }],
    [['--adapter', 'console'], { kind: 'adapter', name: 'console' }],
    [['report'], { kind: 'report' }],
    [['forget', '--user', 'U1'], { kind: 'forget', user: 'U1' }],
    [['-h'], { kind: 'help' }],
    [['--version'], { kind: 'version' }],
    [['report', 'the memory of unet'], { kind: 'message', text: 'report the memory of unet' }],
  ])('%j', (argv, command) => {
    expect(parseCommandLine(argv)).toEqual(command);
  });

  test.each([
    [['estimate']],
    [['converse']],
    [['--bogus']],
    [['--jsonl']],
    [['unet', '--jsonl']],
    [['forget']],
    [['--adapter']],
  ])('%j is refused', (argv) => {
    expect(() => parseCommandLine(argv)).toThrow(AppError);
  });
});
