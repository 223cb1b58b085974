import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const root = dirname(import.meta.dirname);
const Rule = z.object({
  layers: z.array(z.object({ from: z.string(), values: z.array(z.string()), types: z.array(z.string()) })),
  everybody: z.array(z.string()),
  packages: z.array(z.object({ package: z.string(), only: z.string() })),
});
const rule = Rule.parse(JSON.parse(readFileSync(join(root, 'scripts/import-rule.json'), 'utf8')));

interface Import {
  readonly target: string;
  readonly typeOnly: boolean;
}

interface Source {
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

function sourcesIn(...folders: string[]): Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .filter((path) => !path.startsWith('test/fixtures/'))
      .map((path) => read(path)),
  );
}

function read(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8');
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true) };
}

function nodesOf(tree: ts.SourceFile): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return nodes;
}

function importsOf(source: Source): Import[] {
  return nodesOf(source.tree).flatMap((node) => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      return [{ target: node.moduleSpecifier.text, typeOnly: isTypeOnly(node.importClause) }];
    }
    if (
      ts.isExportDeclaration(node) &&
      node.moduleSpecifier !== undefined &&
      ts.isStringLiteral(node.moduleSpecifier)
    ) {
      return [{ target: node.moduleSpecifier.text, typeOnly: node.isTypeOnly }];
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments;
      return argument !== undefined && ts.isStringLiteral(argument) ? [{ target: argument.text, typeOnly: false }] : [];
    }
    return [];
  });
}

function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.isTypeOnly) return true;
  const bindings = clause.namedBindings;
  const named = bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements : undefined;
  return clause.name === undefined && named !== undefined && named.length > 0 && named.every((one) => one.isTypeOnly);
}

const startsWithOne = (path: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => new RegExp(`^${pattern}`).test(path));

/** Undefined when allowed, else the offence in words. */
function offence(source: Source, { target, typeOnly }: Import): string | undefined {
  if (!target.startsWith('.')) {
    const bound = rule.packages.find((one) => new RegExp(`^${one.package}(/|$)`).test(target));
    return bound === undefined || source.path.startsWith(bound.only) ? undefined : `${source.path} imports ${target}`;
  }
  const path = posix.normalize(posix.join(posix.dirname(source.path), target));
  const layer = rule.layers.find((one) => startsWithOne(source.path, [one.from]));
  if (layer === undefined) return `${source.path} belongs to no layer of scripts/import-rule.json`;
  const allowed = [layer.from, ...layer.values, ...rule.everybody, ...(typeOnly ? layer.types : [])];
  return startsWithOne(path, allowed) ? undefined : `${source.path} imports ${path}${typeOnly ? ' (types)' : ''}`;
}

const product = sourcesIn('src', 'adapters', 'catalog');
const everything = [...product, ...sourcesIn('test')];
const filesWith = (sources: readonly Source[], bad: (source: Source) => boolean): string[] =>
  sources.filter(bad).map((source) => source.path);

describe('imports', () => {
  test('go one way', () => {
    expect(product.flatMap((source) => importsOf(source).flatMap((one) => offence(source, one) ?? []))).toEqual([]);
  });

  test('the rule itself catches an upward import, a value import of a type and a stray package', () => {
    const probe = (path: string, text: string) => {
      const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
      return importsOf({ path, text, tree }).map((one) => offence({ path, text, tree }, one) !== undefined);
    };
    expect(probe('src/advice/a.ts', "import { x } from '../state/x.ts';")).toEqual([true]);
    expect(probe('src/dialog/a.ts', "import { x } from '../understanding/x.ts';")).toEqual([true]);
    expect(probe('src/dialog/a.ts', "import { type X } from '../understanding/x.ts';")).toEqual([false]);
    expect(probe('adapters/slack/a.ts', "import type { X } from '../dingtalk/x.ts';")).toEqual([true]);
    expect(probe('src/bot.ts', "import pg from 'pg'; await import('@slack/bolt');")).toEqual([true, true]);
  });
});

test('no platform word under src/ except registry keys in the composition root', () => {
  const words = /slack|dingtalk|dingding|钉钉|lark|feishu|飞书/i;
  expect(filesWith(product, ({ path, text }) => path.startsWith('src/') && words.test(text))).toEqual([]);
});

test('every adapter folder has the same file names', () => {
  const folders = readdirSync(join(root, 'adapters'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const required = ['index.ts', 'config.ts', 'connection.ts', 'receive.ts', 'render.ts', 'limits.ts', 'README.md'];
  const fewer = ['index.ts', 'config.ts', 'render.ts', 'README.md'];
  const missing = folders
    .filter(({ name }) => existsSync(join(root, 'adapters', name, 'index.ts')))
    .flatMap(({ name }) =>
      (name === 'console' ? fewer : required)
        .filter((file) => !existsSync(join(root, 'adapters', name, file)))
        .map((file) => `adapters/${name}/${file}`),
    );
  expect(missing).toEqual([]);
});

test('an adapter exports its factory and its configuration by name', () => {
  const wrong = product
    .filter(({ path }) => /^adapters\/[^/]+\/index\.ts$/.test(path))
    .filter(
      ({ text }) => !/export (async )?(function|const) create\w+Adapter\b|export \{[^}]*create\w+Adapter/.test(text),
    )
    .map(({ path }) => path);
  expect(wrong).toEqual([]);
});

test('no open ends: work that is left belongs into an issue', () => {
  const word = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'HA' + 'CK', 'X' + 'XX'].join('|')})\\b`);
  expect(filesWith(everything, ({ text }) => word.test(text))).toEqual([]);
});

test('no cast except `as const`, no non-null assertion, no suppression without a reason', () => {
  const offences = product.flatMap(({ path, tree }) =>
    nodesOf(tree)
      .filter((node) => ts.isNonNullExpression(node) || (ts.isAsExpression(node) && !isConst(node)))
      .map((node) => `${path}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`),
  );
  // The one place that makes the branded id (`src/message.ts`).
  expect(offences.filter((place) => !place.startsWith('src/message.ts:'))).toEqual([]);
  expect(
    filesWith(product, ({ text }) => /@ts-(ignore|nocheck|expect-error)|biome-ignore [^:]*:\s*$/m.test(text)),
  ).toEqual([]);
});

const isConst = (node: ts.AsExpression): boolean => node.type.getText() === 'const';

test('files stay short', () => {
  // Messages are data.
  const isData = /^src\/reply\/messages\//;
  const limit = (path: string): number => {
    if (isData.test(path)) return Number.POSITIVE_INFINITY;
    return path.startsWith('adapters/') ? 200 : 300;
  };
  expect(filesWith(product, ({ path, text }) => text.split('\n').length - 1 > limit(path))).toEqual([]);
});

type WithBody = ts.FunctionLikeDeclaration & { readonly body: ts.Node };

const hasBody = (node: ts.Node): node is WithBody =>
  ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;

function lines(node: ts.Node, tree: ts.SourceFile): number {
  const line = (position: number): number => tree.getLineAndCharacterOfPosition(position).line;
  return line(node.getEnd()) - line(node.getStart()) + 1;
}

/** Lines of a function without those of the functions inside it, which count for themselves. */
function ownLines(node: WithBody, tree: ts.SourceFile): number {
  const inner: ts.Node[] = [];
  const visit = (child: ts.Node): void => {
    if (hasBody(child)) inner.push(child);
    else ts.forEachChild(child, visit);
  };
  ts.forEachChild(node.body, visit);
  return inner.reduce((rest, child) => rest - Math.max(0, lines(child, tree) - 1), lines(node, tree));
}

test('functions stay short', () => {
  const offences = product.flatMap(({ path, tree }) =>
    nodesOf(tree)
      .filter(hasBody)
      .filter((node) => ownLines(node, tree) > 60)
      .map((node) => `${path}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`),
  );
  expect(offences).toEqual([]);
});

test('functions take few parameters', () => {
  const offences = product.flatMap(({ path, tree }) =>
    nodesOf(tree)
      .filter((node) => hasBody(node) && node.parameters.length > 4)
      .map((node) => `${path}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`),
  );
  expect(offences).toEqual([]);
});

test('the environment is read in one place', () => {
  expect(filesWith(product, ({ text }) => /process\s*\.\s*env\b/.test(text))).toEqual(
    existsSync(join(root, 'src/config.ts')) ? ['src/config.ts'] : [],
  );
});

test('the pure part has no clock, no chance and no input or output', () => {
  const pure = /^src\/(understanding|dialog|estimator|advice|reply)\//;
  const impure =
    /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bperformance\.now\(|from 'node:(fs|net|http|https|child_process|crypto|os)/;
  expect(filesWith(product, ({ path, text }) => pure.test(path) && impure.test(text))).toEqual([]);
});
