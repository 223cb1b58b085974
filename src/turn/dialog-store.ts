import { z } from 'zod';

import type { DialogState } from '../dialog/dialog-state.ts';
import { initialState } from '../dialog/reduce.ts';
import { parseDialogState } from '../dialog/state-schema.ts';
import type { ConversationId, IncomingMessage, Locale } from '../message.ts';
import type { StateStore } from '../state/state-store.ts';

/** An open question is forgotten after this time; a conversation with an answer stays as long as estimates do. */
const OPEN_DIALOG_MS = 30 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/** The state before and after the last message: a message that comes again after a crash starts from the one before. */
const stored = z.object({ lastMessageId: z.string(), before: z.unknown(), after: z.unknown() });

export interface LoadedDialog {
  readonly state: DialogState;
  /** Version to name when writing. */
  readonly version: number;
}

export async function loadDialog(store: StateStore, message: IncomingMessage, locale: Locale): Promise<LoadedDialog> {
  const entry = await store.get(dialogKey(message.conversationId));
  const parsed = stored.safeParse(entry?.value).data;
  const repeated = parsed?.lastMessageId === message.messageId;
  const state = parseDialogState(repeated ? parsed?.before : parsed?.after);
  return { state: state ?? initialState(message.locale ?? locale), version: entry?.version ?? 0 };
}

/** The state held for a conversation, for surfaces that only look. */
export async function peekDialog(store: StateStore, conversationId: ConversationId): Promise<DialogState | undefined> {
  const entry = await store.get(dialogKey(conversationId));
  return parseDialogState(stored.safeParse(entry?.value).data?.after);
}

export interface DialogWrite {
  readonly message: IncomingMessage;
  readonly version: number;
  readonly before: DialogState;
  readonly after: DialogState;
  readonly now: number;
  readonly retentionDays: number;
}

/** False when somebody else was faster: load again and decide again. */
export async function saveDialog(store: StateStore, write: DialogWrite): Promise<boolean> {
  const { message, version, before, after, now, retentionDays } = write;
  const lifetime = after.answered ? retentionDays * DAY_MS : OPEN_DIALOG_MS;
  const value = { lastMessageId: message.messageId, before, after };
  const options = { expiresAt: now + lifetime, userId: message.userId };
  const written = await store.compareAndSet(dialogKey(message.conversationId), version, value, options);
  return written !== undefined;
}

export function dialogKey(conversationId: string): string {
  return `dialog/${conversationId}`;
}
