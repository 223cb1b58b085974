import { createMemoryStateStore } from './memory.ts';
import { createMemoryInboxStore } from './memory-inbox.ts';
import { createSteadyClock } from './steady-clock.ts';
import type { OpenOptions, Store } from './store.ts';

/** Everything in this process: for the terminal and for tests. */
export async function openMemoryStore(options: OpenOptions): Promise<Store> {
  const now = options.now ?? createSteadyClock(Date.now()).now;
  const state = createMemoryStateStore(now);
  const inbox = createMemoryInboxStore(now);
  return {
    ...state,
    inbox,
    sweep: async (at) => (await state.sweep(at)) + inbox.sweep(at),
    forget: async (user) => {
      const matches = (userId: string): boolean => userId === user || userId.endsWith(`:${user}`);
      return state.forget(matches) + inbox.forget(matches);
    },
  };
}
