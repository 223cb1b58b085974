import type { Accepted, Delivery } from '../../adapters/adapter.ts';
import { AppError, asAppError } from '../errors.ts';
import type { Reply } from '../reply/reply.ts';
import type { EntryOutcome, InboxEntry } from '../state/inbox-store.ts';
import type { Hold, Holds } from './holds.ts';
import type { InboxLimits, InboxOptions } from './inbox-options.ts';
import { deliveryKey, readPayload } from './payload.ts';
import { createSlots, type Turns } from './slots.ts';
import { createWait } from './wait.ts';

/** A message that ended this many processes while it was handled is no longer tried. */
const maximumHandlings = 5;
const maximumHandles = 2;

export interface Work {
  readonly entry: InboxEntry;
  /** What `entry.payload` says, when it is still at hand. */
  readonly accepted?: Accepted;
  /** Somebody may have answered it already. */
  readonly repeated: boolean;
}

/** `lost`: somebody else answers now. `stopped`: this process ends first. */
export type AnswerOutcome = EntryOutcome | 'lost' | 'stopped';

export interface Answering {
  answer(hold: Hold, work: Work): Promise<AnswerOutcome>;
}

interface AnsweringOptions extends Omit<InboxOptions, 'limits'> {
  readonly limits: InboxLimits;
  readonly holds: Holds;
  readonly turns: Turns;
  readonly signal: AbortSignal;
}

interface Task {
  readonly hold: Hold;
  readonly work: Work;
  readonly accepted: Accepted;
  readonly adapter: string;
}

type Attempt = AnswerOutcome | 'again';

/** One message: handled, delivered, tried again where that makes sense. */
export function createAnswering(options: AnsweringOptions): Answering {
  const { limits, holds, logger, metrics, store, turns } = options;
  const inSlot = createSlots(limits.concurrency);
  const alone = createSlots(1);
  const wait = createWait({ firstMs: limits.retryMs, signal: options.signal });

  const timed = async <T>(name: string, adapter: string, run: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    try {
      return await run();
    } finally {
      metrics.observe(name, (performance.now() - start) / 1_000, name === 'deliver' ? { adapter } : {});
    }
  };

  const failed = (error: unknown, task: Task, event: string): AppError => {
    const found = asAppError(error);
    metrics.count('errors', { code: found.code });
    const { messageId } = task.work.entry;
    logger.warn({ error: found, code: found.code, adapter: task.adapter, message: messageId }, event);
    return found;
  };

  const tooOld = ({ work }: Task): boolean => store.now() - work.entry.acceptedAt > limits.giveUpMs;

  /**
   * After somebody else's attempt. Attempts are counted while they last, so that a fatal message is not tried for ever;
   * one at a time, so that what ends the process is the message that is counted.
   */
  const handleAgain = async (task: Task): Promise<Reply> => {
    const { message, address } = task.accepted;
    const { messageId } = task.work.entry;
    const begun = await store.beginHandling(messageId);
    if (begun > maximumHandlings) {
      const error = new AppError('internal', `given up after ${begun - 1} interrupted attempts`);
      return options.apologize(message, failed(error, task, 'message given up'));
    }
    const reply = await options.handle(message, address);
    await store.endHandling(messageId);
    return reply;
  };

  const handle = (task: Task): Promise<Reply> =>
    task.work.repeated ? alone(() => handleAgain(task)) : options.handle(task.accepted.message, task.accepted.address);

  /** The bot's answer; an apology where there is none. */
  const compose = async (task: Task): Promise<Reply | 'stopped'> => {
    const { message } = task.accepted;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await turns.next();
        return await inSlot(() => timed('handle', task.adapter, () => handle(task)));
      } catch (error) {
        const found = failed(error, task, 'message not handled');
        const away = found.code === 'store-unavailable' && !tooOld(task);
        if (!away && attempt >= maximumHandles) return options.apologize(message, found);
        if (!(await wait(attempt))) return 'stopped';
      }
    }
  };

  const attempt = async (task: Task, reply: Reply, delivery: Delivery): Promise<Attempt> => {
    const { message, address } = task.accepted;
    try {
      if (!(await holds.confirm(task.hold))) return 'lost';
      const outgoing = { message, address, reply, delivery };
      await inSlot(() => timed('deliver', task.adapter, () => options.deliver(outgoing)));
      return 'answered';
    } catch (error) {
      const { code } = failed(error, task, 'answer not delivered');
      if (code === 'platform-refused') return 'refused';
      const worthIt = code === 'platform-unreachable' || code === 'store-unavailable';
      return worthIt && !tooOld(task) ? 'again' : 'failed';
    }
  };

  const deliver = async (task: Task, reply: Reply): Promise<AnswerOutcome> => {
    const key = deliveryKey(task.work.entry.messageId);
    for (let tries = 1; ; tries += 1) {
      const outcome = await attempt(task, reply, { key, repeated: task.work.repeated || tries > 1 });
      if (outcome !== 'again') return outcome;
      metrics.count('delivery_retries', { adapter: task.adapter });
      if (!(await wait(tries))) return 'stopped';
    }
  };

  const perform = async (task: Task): Promise<AnswerOutcome> => {
    const reply = await compose(task);
    if (reply === 'stopped') return 'stopped';
    const outcome = await deliver(task, reply);
    if (outcome !== 'answered') return outcome;
    const seconds = (store.now() - task.work.entry.acceptedAt) / 1_000;
    metrics.count('answers', { adapter: task.adapter, kind: reply.kind });
    metrics.observe('answer', seconds, { adapter: task.adapter });
    logger.info({ adapter: task.adapter, message: task.work.entry.messageId, kind: reply.kind, seconds }, 'answered');
    return outcome;
  };

  return {
    async answer(hold, work) {
      const adapter = work.entry.conversationId.split(':', 1)[0] ?? '';
      try {
        const accepted = work.accepted ?? readPayload(work.entry.payload);
        return await perform({ hold, work, accepted, adapter });
      } catch (error) {
        metrics.count('errors', { code: 'internal' });
        logger.error({ error, adapter, message: work.entry.messageId }, 'message dropped');
        return 'failed';
      }
    },
  };
}
