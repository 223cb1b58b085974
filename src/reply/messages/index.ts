import type { Locale } from '../../message.ts';
import { type AnswerMessages, en } from './en.ts';
import { type AdviceMessages, enAdvice } from './en-advice.ts';
import { type DialogMessages, enDialog } from './en-dialog.ts';
import { enTips, type TipMessages } from './en-tips.ts';
import { zh } from './zh.ts';
import { zhAdvice } from './zh-advice.ts';
import { zhDialog } from './zh-dialog.ts';
import { zhTips } from './zh-tips.ts';

/** Everything the bot can say in one language. */
export interface Words {
  readonly locale: Locale;
  readonly answer: AnswerMessages;
  readonly dialog: DialogMessages;
  readonly advice: AdviceMessages;
  readonly tips: TipMessages;
}

const words: Readonly<Record<Locale, Words>> = {
  en: { locale: 'en', answer: en, dialog: enDialog, advice: enAdvice, tips: enTips },
  zh: { locale: 'zh', answer: zh, dialog: zhDialog, advice: zhAdvice, tips: zhTips },
};

export function wordsOf(locale: Locale): Words {
  return words[locale];
}
