import { describe, expect, test } from 'vitest';
import { dingtalkEnvSchema } from '../../../adapters/dingtalk/config.ts';

const both = { DINGTALK_CLIENT_ID: 'ding1', DINGTALK_CLIENT_SECRET: 'very-secret' };
const problems = (env: Record<string, string>): string[] =>
  (dingtalkEnvSchema.safeParse(env).error?.issues ?? []).map(({ path }) => path.join('.')).sort();

describe('environment', () => {
  test.each([[{}], [{ DINGTALK_CLIENT_ID: ' ', DINGTALK_CLIENT_SECRET: '', PORT: '3000' }]])('%o: off', (env) => {
    expect(dingtalkEnvSchema.parse(env)).toBeNull();
  });

  test('credentials are enough; hosts are those of the platform', () => {
    expect(dingtalkEnvSchema.parse(both)).toMatchObject({
      clientId: 'ding1',
      apiUrl: 'https://api.dingtalk.com',
      legacyUrl: 'https://oapi.dingtalk.com',
    });
  });

  test('another host by environment', () => {
    const env = { ...both, DINGTALK_OPENAPI_ENDPOINT: 'https://api.dingtalk.io' };
    expect(dingtalkEnvSchema.parse(env)?.apiUrl).toBe('https://api.dingtalk.io');
  });

  test.each([
    [{}, false],
    [{ CHARTS: ' ' }, false],
    [{ CHARTS: 'off' }, false],
    [{ CHARTS: 'on' }, true],
  ])('pictures with %o: %s', (env, charts) => {
    expect(dingtalkEnvSchema.parse({ ...both, ...env })?.charts).toBe(charts);
  });

  test.each([
    [{ DINGTALK_CLIENT_ID: 'ding1' }, ['DINGTALK_CLIENT_SECRET']],
    [{ DINGTALK_CLIENT_SECRET: 's' }, ['DINGTALK_CLIENT_ID']],
    [{ ...both, DINGTALK_OPENAPI_ENDPOINT: 'nowhere' }, ['DINGTALK_OPENAPI_ENDPOINT']],
    [{ ...both, ENCRYPTION_KEY: 'short' }, ['ENCRYPTION_KEY']],
    [{ ...both, RETENTION_DAYS: 'x' }, ['RETENTION_DAYS']],
    [{ ...both, CHARTS: 'yes' }, ['CHARTS']],
  ])('%o names %o', (env, names) => {
    expect(problems(env)).toEqual(names);
  });

  test('no secret is part of a message', () => {
    const { error } = dingtalkEnvSchema.safeParse({
      DINGTALK_CLIENT_SECRET: 'very-secret',
      ENCRYPTION_KEY: 'x-secret',
    });
    expect(JSON.stringify(error)).not.toContain('-secret');
  });
});
