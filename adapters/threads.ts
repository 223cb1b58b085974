import type { Shelf } from './shelf.ts';

/** A message as far as it decides whether it is for us. */
export interface Heard {
  /** Tenant and channel. */
  readonly channelKey: string;
  /** The platform's id of the person, and ours. */
  readonly user: string;
  readonly userId: string;
  readonly ts: string;
  /** Root of the thread that it was written in; null for a message of its own. */
  readonly threadTs: string | null;
  readonly isDirect: boolean;
  readonly mentionsUs: boolean;
  /** It begins by mentioning somebody else. */
  readonly addressesOther: boolean;
}

/** Thread part of the conversation that a message belongs to, or undefined when it is not for us. */
export type ResolveThread = (heard: Heard) => Promise<string | undefined>;

/**
 * Which threads we take part in: those that began by talking to us belong to everybody in them, a mention inside somebody
 * else's thread opens it for the asker alone. In direct messages everything is for us; a thread below a top-level message
 * continues the running conversation.
 */
export function createThreads(known: Shelf<string>): ResolveThread {
  const everybody = '*';
  const remember = async ({ channelKey, userId }: Heard, key: string, thread: string): Promise<string> => {
    await known.put(`${channelKey}/${key}`, thread, userId);
    return thread;
  };
  return async (heard) => {
    const { channelKey, user, ts, threadTs, isDirect, mentionsUs, addressesOther } = heard;
    if (threadTs === null) {
      if (!isDirect && !mentionsUs) return undefined;
      return remember(heard, `${ts}/${everybody}`, isDirect ? user : ts);
    }
    const find = (who: string): Promise<string | undefined> => known.find(`${channelKey}/${threadTs}/${who}`);
    const thread = (await find(everybody)) ?? (await find(user));
    if (isDirect) return thread ?? threadTs;
    if (thread !== undefined) return addressesOther ? undefined : thread;
    return mentionsUs ? remember(heard, `${threadTs}/${user}`, threadTs) : undefined;
  };
}
