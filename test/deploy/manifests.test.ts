import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { parseCopy, parseDockerfile } from './dockerfile.ts';

const root = dirname(dirname(import.meta.dirname));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const readJson = (path: string): unknown => JSON.parse(read(path));

const Bundle = z.object({ kinds: z.record(z.string(), z.string()), definitions: z.record(z.string(), z.unknown()) });
const Manifest = z.looseObject({ apiVersion: z.string(), kind: z.string() });

describe('Kubernetes manifest', () => {
  const { kinds, definitions } = Bundle.parse(readJson('test/fixtures/deploy/kubernetes-1.36.schema.json'));
  const ajv = new Ajv({ strict: false, allErrors: true });
  const problems = (document: unknown): string[] => {
    const { apiVersion, kind } = Manifest.parse(document);
    const $ref = kinds[`${apiVersion} ${kind}`];
    if ($ref === undefined) return [`no schema for ${apiVersion} ${kind}`];
    const validate = ajv.compile({ $ref, definitions });
    return validate(document) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
  };
  const documents: unknown[] = parseAllDocuments(read('deploy/kubernetes.yaml')).map((one) => one.toJS());

  test('every object fits the published schema of its kind', () => {
    expect(documents.map((document) => Manifest.parse(document).kind)).toEqual([
      'ServiceAccount',
      'ConfigMap',
      'Deployment',
      'PodDisruptionBudget',
      'Service',
      'NetworkPolicy',
    ]);
    expect(documents.flatMap(problems)).toEqual([]);
  });

  test('the schema does find a misspelled field and a wrong type', () => {
    const broken = read('deploy/kubernetes.yaml')
      .replace('readinessProbe', 'readynessProbe')
      .replace('replicas: 3', 'replicas: three');
    const found = parseAllDocuments(broken).flatMap((one) => problems(one.toJS()));
    expect(found.join('\n')).toMatch(/must be integer/);
    expect(found.join('\n')).toMatch(/additional properties/);
  });

  test('replicas outnumber what the budget keeps, probes ask the served paths, nothing runs as root', () => {
    const text = read('deploy/kubernetes.yaml');
    const [, replicas] = /replicas: (\d+)/.exec(text) ?? [];
    const [, kept] = /minAvailable: (\d+)/.exec(text) ?? [];
    expect(Number(replicas)).toBeGreaterThan(Number(kept));
    for (const needed of ['runAsNonRoot: true', 'readOnlyRootFilesystem: true', 'drop: [ALL]', '/readyz', '/healthz']) {
      expect(text).toContain(needed);
    }
  });
});

describe('compose file', () => {
  const validate = new Ajv2019({ strict: false, allErrors: true }).compile(
    z.record(z.string(), z.unknown()).parse(readJson('test/fixtures/deploy/compose.schema.json')),
  );

  test('fits the published schema', () => {
    const valid = validate(parse(read('deploy/compose.yaml')));
    expect(validate.errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  test('the schema does find a misspelled field', () => {
    expect(validate(parse(read('deploy/compose.yaml').replace('read_only:', 'readonly:')))).toBe(false);
  });

  test('holds no secret', () => {
    expect(read('deploy/compose.yaml')).not.toMatch(/PASSWORD: [^$\s]/);
  });
});

describe('Dockerfile', () => {
  const stages = parseDockerfile(read('Dockerfile'));
  const runtime = stages.at(-1)?.instructions ?? [];

  test('has the three stages and runs as a user that is not root, without npm', () => {
    expect(stages.map(({ name }) => name)).toEqual(['build', 'packages', 'runtime']);
    expect(runtime.findLast(({ name }) => name === 'USER')?.text).toBe('node');
    expect(z.array(z.string()).parse(JSON.parse(runtime.at(-1)?.text ?? ''))).toEqual(['node', 'dist/src/main.js']);
    expect(runtime.map(({ name }) => name)).toContain('HEALTHCHECK');
  });

  test('copies only what exists and what .dockerignore lets through', () => {
    const admitted = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const copied = stages
      .flatMap(({ instructions }) =>
        instructions.filter(({ name }) => name === 'COPY').map(({ text }) => parseCopy(text)),
      )
      .filter(({ from }) => from === undefined)
      .flatMap(({ sources }) => sources);
    expect(copied.filter((source) => !existsSync(join(root, source)))).toEqual([]);
    expect(copied.filter((source) => !admitted.includes(source))).toEqual([]);
    expect(read('.dockerignore').split('\n')[0]).toBe('**');
  });

  test('installs from the lock only', () => {
    const runs = stages.flatMap(({ instructions }) => instructions.filter(({ name }) => name === 'RUN'));
    const installs = runs.map(({ text }) => text).filter((text) => /npm (i|install|ci)\b/.test(text));
    expect(installs.length).toBe(2);
    for (const install of installs) expect(install).toMatch(/^npm ci /);
  });
});

test('the example of settings names only variables that are read, and holds no value', () => {
  const settings = read('deploy/gpu-size.env.example')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line));
  const readers = ['src/config.ts', 'adapters/slack/config.ts', 'adapters/dingtalk/config.ts'].filter((path) =>
    existsSync(join(root, path)),
  );
  const readerText = readers.map(read).join('\n');
  expect(settings.map((setting) => setting.slice(0, -1)).filter((name) => !readerText.includes(name))).toEqual([]);
  expect(settings.filter((setting) => !setting.endsWith('='))).toEqual([]);
  expect(settings.length).toBeGreaterThan(5);
});
