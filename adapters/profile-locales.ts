import { setTimeout as wait } from 'node:timers/promises';
import type { Locale } from '../src/message.ts';
import { createMemory, type Remembered } from './memory.ts';

const lifeMs = 86_400_000;
/** After a failure, such as a missing permission. */
const retryMs = 600_000;
const patienceMs = 1_500;

/** Language tag of a person's profile ("zh-CN"), as the platform tells it; undefined when it does not. */
type Ask = () => Promise<string | undefined>;

/** Languages of people's profiles: each asked at most once a day, undefined when the platform does not say in time. */
export function createProfileLocales(now: () => number) {
  const known = createMemory<Locale | undefined>(now);
  const read = async (ask: Ask): Promise<Remembered<Locale | undefined>> => {
    try {
      const tag = await ask();
      const locale = tag?.startsWith('zh') === true ? 'zh' : 'en';
      return { value: tag === undefined ? undefined : locale, lifeMs };
    } catch {
      return { value: undefined, lifeMs: retryMs };
    }
  };
  return (userId: string, ask: Ask): Promise<Locale | undefined> =>
    Promise.race([known.get(userId, () => read(ask)), wait(patienceMs, undefined, { ref: false })]);
}
