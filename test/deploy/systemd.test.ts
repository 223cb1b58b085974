import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const unit = join(dirname(dirname(import.meta.dirname)), 'deploy/gpu-size.service');

/** Settings by section, as `systemd.syntax(7)` has them. */
function sections(text: string): Record<string, Record<string, string[]>> {
  const found: Record<string, Record<string, string[]>> = {};
  let current: Record<string, string[]> = {};
  for (const line of text.split('\n').filter((one) => one !== '' && !one.startsWith('#'))) {
    const [, section] = /^\[(\w+)\]$/.exec(line) ?? [];
    if (section !== undefined) {
      current = {};
      found[section] = current;
      continue;
    }
    const [, name = '', value = ''] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    expect(name, line).not.toBe('');
    current[name] = [...(current[name] ?? []), value];
  }
  return found;
}

test('the unit starts the program as another user on a read-only system', () => {
  const { Unit, Service, Install } = sections(readFileSync(unit, 'utf8'));
  expect(Unit?.['After']).toEqual(['network-online.target']);
  expect(Install?.['WantedBy']).toEqual(['multi-user.target']);
  expect(Service?.['ExecStart']?.[0]).toMatch(/node \/opt\/gpu-size\/dist\/src\/main\.js$/);
  expect(Service).toMatchObject({
    DynamicUser: ['yes'],
    ProtectSystem: ['strict'],
    StateDirectory: ['gpu-size'],
    Restart: ['on-failure'],
  });
  // The compiler of JavaScript needs writable and executable memory.
  expect(Service).not.toHaveProperty('MemoryDenyWriteExecute');
});

test('systemd itself finds nothing wrong with the unit, where it is installed', () => {
  const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  if (verified.error !== undefined) {
    expect(verified.error.message).toContain('ENOENT');
    return;
  }
  const ours = verified.stderr.split('\n').filter((line) => line.includes('gpu-size.service'));
  expect(ours).toEqual([]);
});
