import { describe, expect, test } from 'vitest';

import { readConfig } from '../src/config.ts';

describe('configuration', () => {
  test('an empty environment is complete: terminal, snapshot prices, Hangzhou', () => {
    const config = readConfig({});
    expect(config).toMatchObject({
      databaseUrl: null,
      port: 3_000,
      region: 'cn-hangzhou',
      locale: 'zh',
      usdCny: 7.1,
      platforms: [],
    });
    expect(config.prices.origin).toBe('snapshot');
    expect(Object.isFrozen(config)).toBe(true);
  });

  test('blank values count as absent', () => {
    expect(readConfig({ PORT: ' ', DATABASE_URL: '', REGION: '' })).toMatchObject({
      port: 3_000,
      databaseUrl: null,
      region: 'cn-hangzhou',
    });
  });

  test('every problem is named at once, by variable', () => {
    const broken = { PORT: 'abc', LOCALE: 'fr', DATABASE_URL: 'mysql://x', PRICES: 'api', SLACK_BOT_TOKEN: 'xoxb-1' };
    const problem = expect.objectContaining({ code: 'invalid-config' });
    expect(() => readConfig(broken)).toThrow(problem);
    for (const name of ['PORT', 'LOCALE', 'DATABASE_URL', 'SLACK_APP_TOKEN'])
      expect(() => readConfig(broken)).toThrow(name);
    expect(() => readConfig({ PRICES: 'api' })).toThrow(/ACCESS_KEY_ID[\s\S]*ACCESS_KEY_SECRET/);
  });

  test.each([
    ['RETENTION_DAYS', '-1'],
    ['CHARTS', 'yes'],
  ])('%s, which platforms read: a problem is named once', (name, value) => {
    const problems = (): string => {
      try {
        readConfig({ [name]: value });
        return '';
      } catch (error) {
        return error instanceof Error ? error.message : '';
      }
    };
    expect(problems().split('\n')).toHaveLength(1);
    expect(problems()).toContain(name);
  });

  test('a configured platform is ready to be created, another one stays off', () => {
    const { platforms } = readConfig({ SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1' });
    expect(platforms.map(({ name }) => name)).toEqual(['slack']);
  });

  test('no secret stands in a problem', () => {
    const secret = 'xoxb-very-secret';
    expect(() => readConfig({ SLACK_BOT_TOKEN: secret })).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining(secret) }),
    );
  });
});
