import type { IncomingMessage } from '../../src/message.ts';
import type { Reply } from '../../src/reply/reply.ts';
import type { AdapterContext } from '../adapter.ts';
import { createDesk } from '../desk.ts';
import { chosenSay, isNumber, offered } from '../numbered-choices.ts';
import type { Seal } from '../seal.ts';
import { createShelf } from '../shelf.ts';
import type { Parcel } from './deliver.ts';
import { escapeMarkdown } from './limits.ts';
import { type RobotMessage, readRobotMessage } from './receive.ts';

/** Longer than any redelivery was seen to take (a minute). */
const toldOnceMs = 15 * 60_000;
/** Chinese unless the person writes English: the platform does not tell a language. */
const platformLocale = 'zh';
const bareMention = '帮助';

export interface DeskOptions {
  readonly context: AdapterContext;
  readonly seal: Seal;
  readonly send: (parcel: Parcel) => Promise<void>;
  /** How long the numbered choices of an answer stay known. */
  readonly keepMs: number;
}

export interface Desk {
  /** Resolves once the message is kept or needs nothing more. @throws AppError when it has to be delivered again. */
  receive(data: unknown): Promise<void>;
  /** Keeps the choices of an answer, so that their numbers can be typed. */
  offer(conversationId: string, reply: Reply): Promise<void>;
}

/** Takes robot messages in: to the inbox, or a word of our own where there is nothing to answer. */
export function createRobotDesk({ context, seal, send, keepMs }: DeskOptions): Desk {
  const { store, logger, metrics, now } = context;
  const { inOrder, turnsAway, courtesy } = createDesk(context);
  const choicesOf = createShelf(context, { name: 'dingtalk/choices', shape: offered, lifeMs: keepMs });

  /** A courtesy without the inbox, once per message: that it failed is only noted. */
  const tellOnce = async ({ messageId, address }: RobotMessage, which: 'textOnly' | 'overloaded'): Promise<void> => {
    const options = { expiresAt: now() + toldOnceMs };
    if (!(await store.setIfAbsent(`dingtalk/told/${messageId}`, true, options))) return;
    const words = context.texts(platformLocale)[which];
    const message = { title: words, text: escapeMarkdown(words), buttons: [], plain: words };
    void courtesy(which, () => send({ address, message }));
  };

  /** A bare number stands for a choice of the last answer, and is about that one. */
  const incoming = async (robot: RobotMessage, text: string): Promise<IncomingMessage> => {
    const { messageId, conversationId, userId, quotedCode } = robot;
    const choices = isNumber(text) ? await choicesOf.find(conversationId) : undefined;
    const say = choices && chosenSay(text, choices);
    const estimateCode = quotedCode ?? (say === undefined ? undefined : choices?.estimateCode);
    const message = { messageId, conversationId, userId, locale: platformLocale, receivedAt: now() } as const;
    const code = estimateCode === undefined ? {} : { estimateCode };
    return { ...message, ...code, text: say ?? (text || bareMention) };
  };

  const take = async (robot: RobotMessage): Promise<void> => {
    if (robot.text === undefined) return tellOnce(robot, 'textOnly');
    const message = await incoming(robot, robot.text);
    if (await turnsAway({ address: robot.address, message })) await tellOnce(robot, 'overloaded');
  };

  return {
    async receive(data) {
      const robot = readRobotMessage(data, seal.close);
      if (robot === undefined) {
        logger.warn({}, 'unreadable robot message');
      } else if (robot.isOverQuota) {
        metrics.count('errors', { code: 'platform-refused' });
        const fields = { code: 'platform-refused', reason: '20001' };
        logger.error(fields, 'monthly quota of the organisation is used up');
      } else {
        await inOrder(robot.conversationId, () => take(robot));
      }
    },
    async offer(conversationId, { choices, kind, estimateCode }) {
      const value = { question: kind === 'question', says: choices.map(({ say }) => say), estimateCode };
      await choicesOf.put(conversationId, value);
    },
  };
}
