import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { redact, redactText } from '../../src/observability/redact.ts';

function logged(write: (logger: ReturnType<typeof createLogger>) => void, level = 'debug'): string[] {
  const lines: string[] = [];
  write(createLogger({ level, destination: { write: (line: string) => void lines.push(line) } }));
  return lines;
}

// Assembled here so that no scanner takes the test for a leak.
const slackToken = ['xoxb', '1234567890', 'abcdefGHIJKL'].join('-');
const appToken = ['xapp', '1', 'A0', '99', 'deadbeefcafe'].join('-');

describe('logger', () => {
  test('writes one JSON line with level, time, event and fields', () => {
    const [line = ''] = logged((logger) => logger.child({ request: 'r1' }).info({ adapter: 'console' }, 'started'));
    const parsed: unknown = JSON.parse(line);
    expect(parsed).toMatchObject({ level: 'info', request: 'r1', adapter: 'console', event: 'started' });
    expect(line).toMatch(/"time":"\d{4}-\d\d-\d\dT/);
  });

  test('keeps quiet below its level', () => {
    expect(logged((logger) => logger.info({}, 'x'), 'warn')).toEqual([]);
  });

  test('drops tokens, secrets, webhooks and message text wherever they sit', () => {
    const text = '我想训 deeplabv3+';
    const lines = logged((logger) =>
      logger.child({ clientSecret: 'hush-hush' }).error(
        {
          message: { text, userId: 'U1' },
          sessionWebhook: 'https://oapi.example/robot/sendBySession?session=abcdef0123',
          headers: { authorization: 'Bearer abcdefghijklmnop', cookie: 'd=1' },
          list: [{ accessToken: 'plain-value' }],
          error: new AppError('platform-refused', `refused ${slackToken}`, { cause: new Error(`sent ${appToken}`) }),
          database: 'postgres://bot:pa55word@db:5432/x',
        },
        `posted to https://a.example/x?access_token=s3cr3t&y=1`,
      ),
    ).join('');
    const hidden = [
      text,
      'hush-hush',
      'abcdef0123',
      'abcdefghijklmnop',
      'plain-value',
      slackToken,
      appToken,
      'pa55word',
      's3cr3t',
    ];
    for (const secret of hidden) expect(lines).not.toContain(secret);
    expect(lines).toContain('platform-refused');
    expect(lines).toContain('U1');
    expect(lines).toContain('y=1');
  });

  test('a secret survives in no position of any string', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        expect(redactText(`${before} ${slackToken} ${after}`)).not.toContain(slackToken);
      }),
    );
  });

  test('redaction ends on any value, however deep or large', () => {
    fc.assert(fc.property(fc.anything(), (value) => JSON.stringify(redact(value) ?? null).length < 1_000_000));
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    expect(JSON.stringify(redact(loop))).toContain('[deep]');
    expect(redactText('x'.repeat(10_000)).length).toBeLessThan(2_100);
  });
});
