import type { IncomingMessage } from '../../src/message.ts';
import type { Reply } from '../../src/reply/reply.ts';
import type { AdapterContext } from '../adapter.ts';
import { createOrder } from '../in-order.ts';
import { chosenSay, isNumber, offered } from '../numbered-choices.ts';
import type { Seal } from '../seal.ts';
import { escapeMarkdown } from './limits.ts';
import * as inbound from './receive.ts';
import type { DingtalkMessage } from './render.ts';

/** Longer than any redelivery was seen to take (a minute). */
const toldOnceMs = 15 * 60_000;
/** Chinese unless the person writes English: the platform does not tell a language. */
const platformLocale = 'zh';
const bareMention = '帮助';

export interface DeskOptions {
  readonly context: AdapterContext;
  readonly seal: Seal;
  readonly send: (address: inbound.DingtalkAddress, message: DingtalkMessage) => Promise<void>;
  /** How long the numbered choices of an answer stay known. */
  readonly keepMs: number;
}

/** Takes robot messages in: to the inbox, or a word of our own where there is nothing to answer. */
export class Desk {
  readonly #options: DeskOptions;
  /** Messages of one conversation reach the inbox in the order in which they came. */
  readonly #inOrder = createOrder();

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** Whether the message is kept or needs nothing more; false asks for another delivery. */
  async receive(data: unknown): Promise<boolean> {
    const { logger, metrics } = this.#options.context;
    const message = inbound.readRobotMessage(data);
    if (message === undefined) {
      logger.warn({}, 'unreadable robot message');
      return true;
    }
    if (inbound.isOverQuota(message)) {
      metrics.count('errors', { code: 'platform-refused' });
      logger.error({ code: 'platform-refused', reason: '20001' }, 'monthly quota of the organisation is used up');
      return true;
    }
    const keeping = this.#inOrder(inbound.conversationOf(message), () => this.#take(message));
    return keeping.then(
      () => true,
      (error: unknown) => {
        logger.error({ error }, 'message not kept');
        return false;
      },
    );
  }

  /** Keeps the choices of an answer, so that their numbers can be typed. */
  async offer(conversationId: string, reply: Reply): Promise<void> {
    const { context, keepMs } = this.#options;
    const { choices, kind, estimateCode } = reply;
    const value = { question: kind === 'question', says: choices.map(({ say }) => say), estimateCode };
    await context.store.set(keyOf(conversationId), value, { expiresAt: context.now() + keepMs });
  }

  async #take(message: inbound.RobotMessage): Promise<void> {
    const { context, seal } = this.#options;
    const address = inbound.addressOf(message, seal.close);
    const text = inbound.spokenText(message);
    if (text === undefined) return this.#tellOnce(message, 'textOnly');
    const outcome = await context.accept({ address, message: await this.#incoming(message, text) });
    if (outcome === 'overloaded') await this.#tellOnce(message, 'overloaded');
  }

  async #incoming(message: inbound.RobotMessage, text: string): Promise<IncomingMessage> {
    const conversationId = inbound.conversationOf(message);
    const chosen = isNumber(text) ? await this.#chosen(conversationId, text) : undefined;
    const estimateCode = inbound.quotedCode(message) ?? chosen?.estimateCode;
    return {
      messageId: inbound.messageIdOf(message),
      conversationId,
      userId: inbound.userIdOf(message),
      text: chosen?.say ?? (text === '' ? bareMention : text),
      locale: platformLocale,
      receivedAt: this.#options.context.now(),
      ...(estimateCode === undefined ? {} : { estimateCode }),
    };
  }

  async #chosen(conversationId: string, text: string) {
    const kept = await this.#options.context.store.get(keyOf(conversationId));
    const choices = offered.safeParse(kept?.value).data;
    const say = choices === undefined ? undefined : chosenSay(text, choices);
    return choices === undefined || say === undefined ? undefined : { say, estimateCode: choices.estimateCode };
  }

  /** A courtesy without the inbox, once per message: that it failed is only noted. */
  async #tellOnce(message: inbound.RobotMessage, which: 'textOnly' | 'overloaded'): Promise<void> {
    const { context, send, seal } = this.#options;
    const options = { expiresAt: context.now() + toldOnceMs };
    if (!(await context.store.setIfAbsent(`dingtalk/told/${inbound.messageIdOf(message)}`, true, options))) return;
    const words = context.texts(platformLocale)[which];
    const courtesy = { title: words, text: escapeMarkdown(words), buttons: [], plain: words };
    void send(inbound.addressOf(message, seal.close), courtesy).catch((error: unknown) => {
      context.logger.info({ error }, 'courtesy failed');
    });
  }
}

const keyOf = (conversationId: string): string => `dingtalk/choices/${conversationId}`;
