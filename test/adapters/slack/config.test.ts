import { describe, expect, test } from 'vitest';
import { slackEnvSchema } from '../../../adapters/slack/config.ts';

const key = Buffer.alloc(32, 1).toString('base64');
const problems = (env: Record<string, string>): string[] =>
  (slackEnvSchema.safeParse(env).error?.issues ?? []).map(({ path }) => path.join('.')).sort();

describe('environment', () => {
  test.each([
    [{}, null],
    [{ SLACK_BOT_TOKEN: ' ', PORT: '3000', RETENTION_DAYS: '' }, null],
    [{ SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1' }, 'socket'],
    [{ SLACK_BOT_TOKEN: 'xoxb-1', SLACK_SIGNING_SECRET: 's' }, 'http'],
    [{ SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1', SLACK_SIGNING_SECRET: 's' }, 'socket'],
    [
      {
        SLACK_CLIENT_ID: 'i',
        SLACK_CLIENT_SECRET: 'c',
        SLACK_STATE_SECRET: 't',
        SLACK_SIGNING_SECRET: 's',
        ENCRYPTION_KEY: key,
      },
      'oauth',
    ],
  ])('%o → %s', (env, transport) => {
    expect(slackEnvSchema.parse(env)?.credentials.transport ?? null).toBe(transport);
  });

  test.each([
    [{ SLACK_BOT_TOKEN: 'xoxb-1' }, ['SLACK_APP_TOKEN']],
    [{ SLACK_APP_TOKEN: 'xapp-1' }, ['SLACK_BOT_TOKEN']],
    [{ SLACK_SIGNING_SECRET: 's' }, ['SLACK_BOT_TOKEN']],
    [{ SLACK_CLIENT_ID: 'i' }, ['ENCRYPTION_KEY', 'SLACK_CLIENT_SECRET', 'SLACK_SIGNING_SECRET', 'SLACK_STATE_SECRET']],
    [{ SLACK_BOT_TOKEN: 'xapp-1', SLACK_APP_TOKEN: 'xoxb-1' }, ['SLACK_APP_TOKEN', 'SLACK_BOT_TOKEN']],
    [{ SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1', ENCRYPTION_KEY: 'short' }, ['ENCRYPTION_KEY']],
    [{ SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1', SLACK_API_URL: 'nowhere' }, ['SLACK_API_URL']],
    [{ SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1', RETENTION_DAYS: 'x' }, ['RETENTION_DAYS']],
  ])('%o names %o', (env, names) => {
    expect(problems(env)).toEqual(names);
  });

  test('no secret is part of a message', () => {
    const secret = 'xapp-very-secret';
    const { error } = slackEnvSchema.safeParse({ SLACK_BOT_TOKEN: secret });
    expect(JSON.stringify(error)).not.toContain(secret);
  });

  test('Socket Mode wins, and says so', () => {
    expect(
      slackEnvSchema.parse({ SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1', SLACK_SIGNING_SECRET: 's' })
        ?.ignoresSigningSecret,
    ).toBe(true);
  });
});
