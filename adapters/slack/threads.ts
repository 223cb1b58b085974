import type { AdapterContext } from '../adapter.ts';
import { type PersonMessage, tenantOf, userIdOf } from './receive.ts';

/** Thread part of the conversation that a message belongs to, or undefined when it is not for us. */
export type ResolveThread = (message: PersonMessage) => Promise<string | undefined>;

/**
 * Which threads we take part in, kept in the store: those that began by talking to us belong to everybody in them, a
 * mention inside somebody else's thread opens it for the asker alone. In direct messages everything is for us; a thread
 * below a top-level message continues the running conversation.
 */
export function createThreads({ store, now }: AdapterContext, lifetimeMs: number): ResolveThread {
  const key = (message: PersonMessage, ts: string, who: string): string =>
    `slack/thread/${tenantOf(message)}/${message.channel}/${ts}/${who}`;
  const remember = async (message: PersonMessage, name: string, thread: string): Promise<string> => {
    await store.set(name, thread, { expiresAt: now() + lifetimeMs, userId: userIdOf(message) });
    return thread;
  };
  const lookUp = async (message: PersonMessage, ts: string): Promise<string | undefined> => {
    for (const who of ['*', message.user]) {
      const thread = (await store.get(key(message, ts, who)))?.value;
      if (typeof thread === 'string') return thread;
    }
    return undefined;
  };
  return async (message) => {
    const { ts, threadTs, user, isDirect, mentionsUs, addressesOther } = message;
    if (threadTs === null) {
      if (!isDirect && !mentionsUs) return undefined;
      return remember(message, key(message, ts, '*'), isDirect ? user : ts);
    }
    const thread = await lookUp(message, threadTs);
    if (isDirect) return thread ?? threadTs;
    if (thread !== undefined) return addressesOther ? undefined : thread;
    return mentionsUs ? remember(message, key(message, threadTs, user), threadTs) : undefined;
  };
}
