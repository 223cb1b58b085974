export interface RateLimits {
  /** Messages in any 60 seconds. */
  readonly perPerson: number;
  readonly perConversation: number;
}

export type RateDecision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly scope: 'person' | 'conversation'; readonly retryAfterSeconds: number };

export interface RateLimiter {
  /** Counts the message unless it is refused. Times may go backwards (a clock that is set). */
  check(message: { readonly userId: string; readonly conversationId: string }, now: number): RateDecision;
}

const windowMs = 60_000;
/** People and conversations remembered; the least recently seen are dropped first. */
const maximumKeys = 20_000;

/** Sliding window in memory: each replica counts for itself. */
export function createRateLimiter(limits: RateLimits): RateLimiter {
  const people = createWindow(limits.perPerson);
  const conversations = createWindow(limits.perConversation);
  return {
    check({ userId, conversationId }, now) {
      const person = people.wait(userId, now);
      if (person > 0) return { allowed: false, scope: 'person', retryAfterSeconds: Math.ceil(person / 1_000) };
      const conversation = conversations.wait(conversationId, now);
      if (conversation > 0) {
        return { allowed: false, scope: 'conversation', retryAfterSeconds: Math.ceil(conversation / 1_000) };
      }
      people.add(userId, now);
      conversations.add(conversationId, now);
      return { allowed: true };
    },
  };
}

interface Window {
  /** Milliseconds until one more is allowed; 0 when it is. */
  wait(key: string, now: number): number;
  add(key: string, now: number): void;
}

function createWindow(limit: number): Window {
  const times = new Map<string, number[]>();
  const recent = (key: string, now: number): number[] =>
    (times.get(key) ?? []).filter((time) => time > now - windowMs && time <= now);
  return {
    wait(key, now) {
      const seen = recent(key, now);
      const oldest = seen[seen.length - limit];
      return oldest === undefined ? 0 : oldest + windowMs - now;
    },
    add(key, now) {
      const seen = recent(key, now);
      times.delete(key);
      times.set(key, [...seen, now].slice(-limit));
      const eldest = times.size > maximumKeys ? times.keys().next() : undefined;
      if (eldest?.done === false) times.delete(eldest.value);
    },
  };
}
