import type { IncomingMessage, Locale } from '../src/message.ts';
import type { AdapterContext, Address, RecentEstimate, SurfaceTexts } from './adapter.ts';
import type { AnswerOwner, Answers, KeptAnswer } from './answers.ts';
import { controlNames } from './controls.ts';
import { createDesk } from './desk.ts';
import { type FormField, formFields, readFields } from './form.ts';
import type { Reaction } from './intake.ts';
import type { Shelf } from './shelf.ts';
import { clip } from './text.ts';
import { createThreads, type Heard } from './threads.ts';

const longestText = 20_000;
const recentShown = 10;

/** What a person said, by whatever surface. */
export interface Said<Place> {
  readonly place: Place;
  readonly text: string;
  /** Unique per event within the tenant, and the same again for a redelivery. */
  readonly key: string;
  /** Of the answer that it is about. */
  readonly estimateCode?: string;
}

/** A message that was written where we listen. */
export interface Written<Place> extends Said<Place>, Pick<Heard, 'ts' | 'threadTs' | 'mentionsUs' | 'addressesOther'> {
  readonly hasFiles: boolean;
}

/** A pressed control. */
export interface Press {
  readonly name: string;
  readonly value: string;
  /** Of the answer that it stands under; empty elsewhere. */
  readonly code: string;
  readonly key: string;
  readonly trigger: string;
}

/** Who is where, in our ids. */
export interface Identity extends AnswerOwner, Pick<Heard, 'user' | 'isDirect'> {
  readonly conversationId: IncomingMessage['conversationId'];
  /** `<adapter>:<tenant>` */
  readonly tenant: string;
}

/** What a platform can show to one person. `Place` is its address: where, by whom, and how an answer goes back. */
export interface Stage<Place extends Address> {
  identify(place: Place): Identity;
  /** The place of the same person in a thread; `thread` is its part of the conversation. */
  inThread(place: Place, root: string, thread: string): Place;
  localeOf(place: Place): Promise<Locale | undefined>;
  /** To this person alone. */
  tell(place: Place, text: string): Promise<unknown>;
  /** The same as body of an acknowledgement, and what to correct in a form. */
  responses: { help(text: string): unknown; corrections(errors: Readonly<Record<string, string>>): unknown };
  /** `trigger`: what the platform wants to see for opening a view. */
  openForm(place: Place, trigger: string, form: Form): Promise<unknown>;
  openDetails(place: Place, trigger: string, details: Details): Promise<unknown>;
  /** Shows an answer to the whole channel; false where that does not go any more. */
  share(place: Place, shared: NonNullable<KeptAnswer['shared']>): Promise<boolean>;
  showHome(place: Place, home: Home): Promise<unknown>;
  /** In the direct messages: what could be asked. */
  showPrompts(place: Place, prompts: SurfaceTexts['suggestedPrompts']): Promise<unknown>;
}

export interface Form {
  readonly texts: SurfaceTexts;
  readonly fields: readonly FormField[];
}

export interface Details {
  readonly texts: SurfaceTexts;
  readonly parts: KeptAnswer['details'];
}

export interface Home {
  readonly texts: SurfaceTexts;
  readonly recent: readonly RecentEstimate[];
}

export interface ReceptionOptions<Place extends Address> {
  readonly context: AdapterContext;
  readonly stage: Stage<Place>;
  readonly answers: Answers;
  readonly threads: Shelf<string>;
}

const isHelp = (text: string): boolean => /^(help|h|\?|？|帮助)$/iu.test(text);

/** What happens when people write, type commands, fill the form and press buttons: the same on every platform that has them. */
export function createReception<Place extends Address>({ context, stage, answers, threads }: ReceptionOptions<Place>) {
  const { turnsAway, courtesy, inOrder } = createDesk(context);
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
