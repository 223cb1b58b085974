import { conversation } from './en/conversation.ts';
import { failures } from './en/failures.ts';
import { money } from './en/money.ts';
import { questions } from './en/questions.ts';
import { scope } from './en/scope.ts';
import { values } from './en/values.ts';

/**
 * English cues, as fragments of regular expressions over lower-case text, by topic. Every other language has the same
 * keys, so the compiler lists what a new one lacks. Words get boundaries where they begin or end with a letter.
 */
export const en = { ...conversation, ...questions, ...failures, ...money, ...scope, ...values };
