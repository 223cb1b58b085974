import { z } from 'zod';
import type { AdapterContext, Address, SurfaceTexts } from './adapter.ts';
import { createAnswers, type KeptAnswer } from './answers.ts';
import { controlNames } from './controls.ts';
import { createDesk } from './desk.ts';
import { formFields, readFields } from './form.ts';
import type { Reaction } from './intake.ts';
import { createShelf } from './shelf.ts';
import type { Press, Said, Stage, Written } from './stage.ts';
import { clip } from './text.ts';
import { createThreads } from './threads.ts';

const longestText = 20_000;
const recentShown = 10;

export interface ReceptionOptions<Place extends Address> {
  readonly context: AdapterContext;
  readonly stage: Stage<Place>;
  /** Of the adapter: what is kept lies under it. */
  readonly name: string;
  /** How long threads and answers stay known. */
  readonly lifeMs: number;
}

const isHelp = (text: string): boolean => /^(help|h|\?|？|帮助)$/iu.test(text);

/** What happens when people write, type commands, fill the form and press buttons: the same on every platform that has them. */
export function createReception<Place extends Address>({ context, stage, name, lifeMs }: ReceptionOptions<Place>) {
  const { turnsAway, courtesy, inOrder } = createDesk(context);
  const threads = createShelf(context, { name: `${name}/thread`, shape: z.string(), lifeMs });
  const answers = createAnswers(context, `${name}/answer`, lifeMs);
  const resolveThread = createThreads(threads);
  const textsFor = async (place: Place): Promise<SurfaceTexts> => context.texts((await stage.localeOf(place)) ?? 'en');

  const tell = (place: Place, pick: (texts: SurfaceTexts) => string): Promise<unknown> =>
    courtesy('whisper', async () => stage.tell(place, pick(await textsFor(place))));

  /** Does something that the person waits for, and tells when it fails. */
  const attempt = async (place: Place, what: string, work: () => Promise<unknown>): Promise<void> => {
    if (!(await courtesy(what, work))) await tell(place, ({ failed }) => failed);
  };

  /** To the inbox; that it is full is told to the asker. */
  const say = async ({ place, text, key, estimateCode }: Said<Place>): Promise<Reaction> => {
    const { tenant, conversationId, userId } = stage.identify(place);
    const about = estimateCode ? { estimateCode } : {};
    const who = { messageId: `${tenant}:${key}`, conversationId, userId };
    const message = { ...who, text: clip(text, longestText), receivedAt: context.now(), ...about };
    const isFull = await turnsAway({ address: place, message });
    return isFull ? { afterwards: () => tell(place, ({ overloaded }) => overloaded) } : {};
  };

  const form = async (place: Place, trigger: string): Promise<void> => {
    const prefill = context.prefill(stage.identify(place).conversationId);
    const texts = await textsFor(place);
    await stage.openForm(place, trigger, { texts, fields: formFields(texts, await prefill) });
  };
  const openForm = (place: Place, trigger: string): Reaction => ({
    afterwards: () => attempt(place, 'form', () => form(place, trigger)),
  });

  const giveFeedback = async (place: Place, code: string, isHelpful: boolean): Promise<void> => {
    await context.feedback(stage.identify(place).userId, code, isHelpful);
    await tell(place, ({ thanks }) => thanks);
  };

  /** Shares an answer that only the asker saw, else shows its details. */
  const showAnswer = async (place: Place, { name, code, trigger }: Press): Promise<void> => {
    const kept = await answers.find(stage.identify(place).channelKey, code);
    const shared = name === controlNames.share ? kept?.shared : undefined;
    if (shared !== undefined && (await stage.share(place, shared))) return;
    await stage.openDetails(place, trigger, { texts: await textsFor(place), parts: kept?.details ?? [] });
  };

  return {
    openForm,

    /** What the buttons under an answer need, which is out. */
    keep: (place: Place, code: string | undefined, kept: KeptAnswer): Promise<void> =>
      answers.keep(stage.identify(place), code, kept),

    /** Where the app was removed. */
    async forget(tenant: string): Promise<void> {
      await Promise.all([threads.dropAll(`${tenant}/`), answers.dropAll(`${tenant}/`)]);
    },

    /** Threads do not wait for each other. */
    async message(written: Written<Place>): Promise<Reaction> {
      const { ts, threadTs, text, hasFiles } = written;
      const identity = stage.identify(written.place);
      const { channelKey, isDirect } = identity;
      const root = threadTs ?? ts;
      return inOrder(isDirect ? channelKey : `${channelKey}/${root}`, async () => {
        const thread = await resolveThread({ ...identity, ...written });
        if (thread === undefined) return {};
        const place = stage.inThread(written.place, root, thread);
        if (text !== '' || !hasFiles) return say({ ...written, place });
        return { afterwards: () => tell(place, ({ textOnly }) => textOnly) };
      });
    },

    /** Help, the form where nothing was typed, or a question. */
    async command({ place, text, key }: Said<Place>, trigger: string): Promise<Reaction> {
      if (text === '') return openForm(place, trigger);
      if (!isHelp(text)) return say({ place, text, key });
      const { help, helpInThreads } = await textsFor(place);
      return { response: stage.responses.help(`${help}\n${helpInThreads}`) };
    },

    async form(place: Place, key: string, typed: Parameters<typeof readFields>[0]): Promise<Reaction> {
      const read = readFields(typed, await textsFor(place));
      if ('errors' in read) return { response: stage.responses.corrections(read.errors) };
      return say({ place, text: read.text, key });
    },

    /** `here`: the message that the control stands in; `anew`: the same person without it. */
    async press(press: Press, here: Place, anew: Place): Promise<Reaction> {
      const { name, value: text, code, key, trigger } = press;
      if (name.startsWith(controlNames.choice)) return say({ place: here, text, key, estimateCode: code });
      if (name === controlNames.again) return say({ place: anew, text, key });
      if (name === controlNames.openForm) return openForm(anew, trigger);
      if (code === '') return {};
      if (name === controlNames.feedback) return { afterwards: () => giveFeedback(here, code, text === 'up') };
      return { afterwards: () => attempt(here, name, () => showAnswer(here, press)) };
    },

    /** Somebody looks at our page, or opens the direct messages. */
    async opened(place: Place, page: 'home' | 'messages'): Promise<Reaction> {
      const show = async (): Promise<void> => {
        const texts = await textsFor(place);
        if (page === 'messages') return void (await stage.showPrompts(place, texts.suggestedPrompts));
        const recent = await context.recentEstimates(stage.identify(place).userId, recentShown);
        await stage.showHome(place, { texts, recent });
      };
      return { afterwards: () => courtesy(page, show) };
    },
  };
}

export type Reception<Place extends Address> = ReturnType<typeof createReception<Place>>;
