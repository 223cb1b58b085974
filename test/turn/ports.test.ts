import { describe, expect, test } from 'vitest';
import { createAdvicePorts } from '../../src/cli/ports.ts';
import { readConfig } from '../../src/config.ts';
import { advicePorts } from '../../src/turn/ports.ts';

describe('ports of a turn', () => {
  test('the advice of a conversation has every source that the command line has', () => {
    const { prices, ...advice } = createAdvicePorts(readConfig({}));
    const turn = advicePorts({ ...advice, prices: () => prices, region: 'cn-hangzhou' });
    expect(turn).toMatchObject({ ...advice, prices });
  });
});
