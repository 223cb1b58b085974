import { createHash } from 'node:crypto';
import { z } from 'zod';

import type { RecentEstimate } from '../../adapters/adapter.ts';
import { implementationSchema } from '../../catalog/model-schema.ts';
import type { Comparison, MeasurementRecord } from '../advice/measurement.ts';
import { slotsSchema } from '../dialog/state-schema.ts';
import type { Estimate } from '../estimator/estimate-result.ts';
import type { IncomingMessage } from '../message.ts';
import { slotsText } from '../reply/choices.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Slots } from '../understanding/understanding.ts';

/** Without 0/O and 1/I, which people confuse when they type a code. */
const CODE_LETTERS = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
const CODE_LENGTH = 4;
const MAXIMUM_TRIES = 8;
const LIST_LIMIT = 10_000;
const DAY_MS = 24 * 60 * 60_000;

const record = z.object({ messageId: z.string(), slots: slotsSchema, at: z.number() });
const recent = z.object({ estimateCode: z.string(), verdict: z.string(), say: z.string(), at: z.number() });

export interface NewEstimate {
  readonly message: IncomingMessage;
  readonly slots: Slots;
  readonly now: number;
  readonly retentionDays: number;
}

/**
 * Keeps what an answer is about, for quotes and buttons, under a new code; a message that is answered again after a
 * crash gets the same one.
 */
export async function keepEstimate(store: StateStore, estimate: NewEstimate): Promise<string> {
  const { message, slots, now } = estimate;
  const { conversationId, messageId } = message;
  const value = { messageId, slots, at: now };
  let code = '';
  for (let attempt = 0; attempt < MAXIMUM_TRIES; attempt += 1) {
    code = codeOf(`${conversationId} ${messageId} ${attempt}`);
    if (await store.setIfAbsent(keyOf(code), value, optionsOf(estimate))) return code;
    if (record.safeParse((await store.get(keyOf(code)))?.value).data?.messageId === messageId) break;
  }
  await store.set(keyOf(code), value, optionsOf(estimate));
  return code;
}

function keyOf(code: string): string {
  return `estimate/${code}`;
}

function optionsOf({ message, now, retentionDays }: NewEstimate) {
  return { expiresAt: now + retentionDays * DAY_MS, userId: message.userId };
}

function codeOf(text: string): string {
  const digest = createHash('sha256').update(text).digest();
  return [...digest.subarray(0, CODE_LENGTH)].map((byte) => CODE_LETTERS[byte % CODE_LETTERS.length] ?? '').join('');
}

/** Adds the answer to the person's list of recent estimates. */
export async function listEstimate(
  store: StateStore,
  estimate: NewEstimate & { readonly code: string; readonly verdict: string },
): Promise<void> {
  const { message, slots, now, code, verdict } = estimate;
  const entry = { estimateCode: code, verdict, say: slotsText(slots), at: now };
  await store.set(`recent/${message.userId}/${code}`, entry, optionsOf(estimate));
}

/** Slots of an earlier answer; undefined when the code is unknown or forgotten. */
export async function slotsOfEstimate(store: StateStore, code: string): Promise<Slots | undefined> {
  return record.safeParse((await store.get(keyOf(code)))?.value).data?.slots;
}

export async function listRecent(store: StateStore, userId: string, limit: number): Promise<readonly RecentEstimate[]> {
  const entries = await store.list(`recent/${userId}/`, limit);
  return entries.flatMap(({ value }) => recent.safeParse(value).data ?? []);
}

const optionValue = z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.number())]);
const model = z.object({
  implementation: implementationSchema,
  architecture: z.string(),
  backbone: z.string().nullable(),
  options: z.record(z.string(), optionValue),
});
const measurement = z.object({
  gpu: z.string().nullable(),
  kind: z.enum(['device', 'allocated', 'time']),
  measured: z.number(),
  estimated: z.number(),
  at: z.number(),
  workload: z.object({ model }),
});

/** Keeps told figures without anything about the person. */
export async function keepMeasurements(
  store: StateStore,
  code: string,
  told: { comparisons: readonly Comparison[]; estimate: Estimate; gpu: string | null; now: number },
): Promise<void> {
  const { comparisons, estimate, gpu, now } = told;
  for (const { kind, measured, estimated } of comparisons) {
    const value = { workload: estimate.workload, gpu, kind, measured, estimated, at: now };
    await store.set(`measurement/${code}-${kind}`, value);
  }
}

/** Every kept measurement, newest first. */
export async function listMeasurements(store: StateStore): Promise<readonly MeasurementRecord[]> {
  const entries = await store.list('measurement/', LIST_LIMIT);
  return entries.flatMap(({ value }) => measurement.safeParse(value).data ?? []);
}

const feedbackValue = z.object({ helpful: z.boolean(), at: z.number() });

/** How many answers were said to help, and not to. */
export async function countFeedback(store: StateStore): Promise<{ helpful: number; notHelpful: number }> {
  const entries = await store.list('feedback/', LIST_LIMIT);
  const kept = entries.flatMap(({ value }) => feedbackValue.safeParse(value).data ?? []);
  const helpful = kept.filter((one) => one.helpful).length;
  return { helpful, notHelpful: kept.length - helpful };
}

/** Whether an answer helped: what the operator reads in the report. */
export async function keepFeedback(store: StateStore, code: string, helpful: boolean, now: number): Promise<void> {
  await store.set(`feedback/${code}`, { helpful, at: now });
}
