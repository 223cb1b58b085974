import { expect, test } from 'vitest';
import { openStateStore } from '../../src/state/open-state-store.ts';
import { accepted, inboxOn, Platform, replyOf, until } from './harness.ts';

test('arriving messages are taken between two that are handled, not after the whole queue', async () => {
  const store = await openStateStore('memory:');
  const platform = new Platform();
  const events: string[] = [];
  let more: (() => void) | undefined;
  const { inbox } = inboxOn(store.inbox, platform, {
    handle: async ({ text }) => {
      // Computation that waits for nothing, as with an embedded database.
      if (events.length === 0) setImmediate(() => more?.());
      events.push(text);
      return replyOf(text);
    },
  });
  await inbox.start();
  more = () => {
    more = undefined;
    void inbox.accept(accepted('late', 'late')).then(() => events.push('taken'));
  };
  await Promise.all(Array.from({ length: 50 }, (_u, index) => inbox.accept(accepted(`${index}`, `t${index}`))));
  await until(() => platform.sent.length === 51);
  expect(events.indexOf('taken')).toBeLessThan(20);
  await inbox.stop();
  await store.close();
});
