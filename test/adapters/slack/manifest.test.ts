import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { slackScopes } from '../../../adapters/slack/config.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));
const fixture = (name: string): unknown => read(`test/fixtures/slack-manifest-schema/${name}`);
const validator = (version: string) => {
  const ajv = new Ajv.default({ strict: false, allErrors: true, validateFormats: false });
  return ajv.compile(z.record(z.string(), z.unknown()).parse(fixture(`manifest.schema.${version}.json`)));
};
const manifests = ['manifest.json', 'manifest.no-channel-history.json'];
const shape = z.object({
  features: z.looseObject({
    shortcuts: z.array(z.looseObject({ callback_id: z.string() })),
    slash_commands: z.array(z.looseObject({ command: z.string() })),
  }),
  oauth_config: z.object({ scopes: z.object({ bot: z.array(z.string()) }) }),
  settings: z.looseObject({ event_subscriptions: z.object({ bot_events: z.array(z.string()) }) }),
});
const manifest = (name: string) => shape.parse(read(`adapters/slack/${name}`));

describe('the validator itself', () => {
  test.each([
    ['1.0.0', 'v1'],
    ['2.0.0', 'v2'],
  ])('schema %s tells its samples apart', (version, sample) => {
    const validate = validator(version);
    expect(validate(fixture(`${sample}.valid.json`))).toBe(true);
    expect(validate(fixture(`${sample}.invalid.json`))).toBe(false);
  });
});

describe.each(manifests)('%s', (name) => {
  test.each(['1.0.0', '2.0.0'])('is valid by schema %s', (version) => {
    const validate = validator(version);
    validate(read(`adapters/slack/${name}`));
    expect(validate.errors).toBeNull();
  });

  /** The schema takes any name, so the names are held here: https://docs.slack.dev/reference/events and /reference/scopes */
  test('subscribes and asks for exactly what the code uses', () => {
    const { oauth_config: oauth, settings, features } = manifest(name);
    const history = /^(channels|groups|mpim):history$|^message\.(channels|groups|mpim)$/u;
    const wanted = (names: readonly string[]) =>
      name === 'manifest.json' ? names : names.filter((one) => !history.test(one));
    expect(oauth.scopes.bot).toEqual([...wanted([...slackScopes.required, ...slackScopes.optional])].sort());
    const events = [
      'app_home_opened',
      'app_mention',
      'app_uninstalled',
      'message.channels',
      'message.groups',
      'message.im',
      'message.mpim',
      'tokens_revoked',
    ];
    expect(settings.event_subscriptions.bot_events).toEqual(wanted(events));
    expect(features.shortcuts.map((shortcut) => shortcut.callback_id)).toEqual([
      'gpu_size_open',
      'gpu_size_from_message',
    ]);
    expect(features.slash_commands.map(({ command }) => command)).toEqual(['/gpu-size']);
  });
});
