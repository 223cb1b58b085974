import type { en } from './en.ts';
import { conversation } from './zh/conversation.ts';
import { failures } from './zh/failures.ts';
import { money } from './zh/money.ts';
import { questions } from './zh/questions.ts';
import { scope } from './zh/scope.ts';
import { values } from './zh/values.ts';

/** Chinese cues; the keys are those of the English file. */
export const zh = { ...conversation, ...questions, ...failures, ...money, ...scope, ...values } satisfies Readonly<
  Record<keyof typeof en, readonly string[]>
>;
