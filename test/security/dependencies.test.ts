import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';

const root = dirname(dirname(import.meta.dirname));
const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      dev: z.boolean().optional(),
      optional: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
      integrity: z.string().optional(),
      resolved: z.string().optional(),
      link: z.boolean().optional(),
    }),
  ),
});
const Package = z.object({
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
  allowScripts: z.record(z.string(), z.boolean()),
});
const lock = Lock.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
const manifest = Package.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
const installed = Object.entries(lock.packages).filter(([path]) => path !== '');

test('nothing that runs in production brings an install script, and the only one at all is denied', () => {
  const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  expect(scripted.filter(([, { dev, optional }]) => dev !== true && optional !== true)).toEqual([]);
  const names = [
    ...new Set(
      scripted.filter(([, { optional }]) => optional !== true).map(([path]) => path.split('node_modules/').at(-1)),
    ),
  ];
  expect(names).toEqual(['esbuild']);
  expect(manifest.allowScripts).toEqual({ esbuild: false });
});

test('versions are exact and every package is locked to its content', () => {
  const ranges = [...Object.entries(manifest.dependencies), ...Object.entries(manifest.devDependencies)];
  expect(ranges.filter(([, range]) => !/^(npm:[^@]*@?[^@]+@)?\d+\.\d+\.\d+$/.test(range))).toEqual([]);
  expect(installed.filter(([, { integrity, link }]) => integrity === undefined && link !== true)).toEqual([]);
});

test('the lock names no private registry', () => {
  const hosts = installed.map(([, { resolved }]) => resolved).filter((url) => url !== undefined);
  expect(hosts.filter((url) => !url.startsWith('https://registry.npmjs.org/'))).toEqual([]);
});
