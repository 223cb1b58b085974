import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createMetrics } from '../../src/observability/metrics.ts';

const root = dirname(dirname(import.meta.dirname));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const pages = ['README.md', 'CONTRIBUTING.md', 'docs', 'adapters'].flatMap((place) =>
  place.endsWith('.md')
    ? [place]
    : readdirSync(join(root, place), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
        .map((entry) => relative(root, join(entry.parentPath, entry.name))),
);
const blocks = pages.flatMap((page) =>
  [...read(page).matchAll(/^```(?:sh|bash|shell)\n([\s\S]*?)^```/gm)].map(([, text = '']) => ({ page, text })),
);
const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));

describe('every command in the documentation', () => {
  test('there are some', () => {
    expect(blocks.length).toBeGreaterThan(5);
  });

  test.each(blocks)('$page: $text', ({ text }) => {
    // Placeholders such as <token> or … are not shell.
    const shell = text.replace(/<[^>\n]+>/g, 'placeholder');
    const { status, stderr } = spawnSync('bash', ['-n'], { input: shell, encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });

  test('names scripts and files that exist', () => {
    const text = pages.map(read).join('\n');
    const named = [...text.matchAll(/npm run ([a-z:]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
    const files = [
      ...text.matchAll(
        /(?:^|[\s`(])((?:deploy|scripts|docs|test|src)\/[\w./-]+\.(?:ya?ml|service|mjs|ts|md|json|example))/gm,
      ),
    ];
    const missing = files
      .map(([, path = '']) => path)
      .filter((path) => !existsSync(join(root, path)) && path !== 'src/main.ts');
    expect([...new Set(missing)]).toEqual([]);
  });
});

test('links between the pages lead somewhere', () => {
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
      .map(([, target = '']) => join(dirname(page), target))
      .filter((target) => !existsSync(join(root, target)))
      .map((target) => `${page} → ${target}`),
  );
  expect(broken).toEqual([]);
});

test('the metrics that operators are told about are there', async () => {
  const text = await createMetrics().text();
  const listed = /\| metric[\s\S]*?\n\n/.exec(read('docs/operations.md'))?.[0] ?? '';
  const names = listed
    .split('\n')
    .slice(2)
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !text.includes(`# TYPE gpu_size_${name} `))).toEqual([]);
});

test('each threat names tests that exist', () => {
  const paths = [...read('docs/security.md').matchAll(/`(test\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
