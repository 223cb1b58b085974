import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Fit } from '../../src/advice/recommendation.ts';
import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import { decideTurn } from '../../src/turn/take-turn.ts';
import { answerPorts } from '../contracts/golden-replies.ts';
import { readJsonl } from './transcript.ts';

const truth = z.object({
  outcome: z.string().nullish(),
  turn: z.number(),
  gpuMemoryGiB: z.number().nullish(),
  measuredGiB: z.number().nullish(),
  estimatorPoint: z.boolean(),
});
const reported = z.object({
  id: z.string(),
  turns: z.array(z.object({ user: z.string() })),
  truth: truth.optional(),
  moreTruths: z.array(truth).optional(),
});

/** A run whose model, size and batch are known, with what it met: a failure, a success, a measured peak. */
interface Point {
  readonly name: string;
  readonly users: readonly string[];
  readonly outcome: string | null;
  readonly cardGiB: number | null;
  readonly measuredGiB: number | null;
}

const points = readJsonl(new URL('../fixtures/cases/conversations.jsonl', import.meta.url), reported).flatMap(
  ({ id, turns, truth: first, moreTruths = [] }): readonly Point[] =>
    [first, ...moreTruths].flatMap((one) =>
      one?.estimatorPoint === true
        ? {
            name: `${id} turn ${one.turn + 1}`,
            users: turns.slice(0, one.turn + 1).map(({ user }) => user),
            outcome: one.outcome ?? null,
            cardGiB: one.gpuMemoryGiB ?? null,
            measuredGiB: one.measuredGiB ?? null,
          }
        : [],
    ),
);

/** Runs that were not those of today's libraries: what happened there is not what the estimate is of. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'conv-009 turn 2': 'another network: the nested U-Net of its own repository, 64 to 1024 channels; smp’s is estimated',
  'conv-039 turn 1': 'measured with 150 classes and an old torch; the message names no data set',
  'conv-087 turn 1': 'measured with cudnn.benchmark, whose workspaces do not have to fit',
  'conv-121 turn 1': 'measured with 150 classes and an old torch; the message names no data set',
};

/** Memory of the cards that are rented out. */
const RENTED_GIB = [16, 24, 32, 40, 48, 80];
/** Tables print GB from MiB (test/fixtures/cases/README.md). */
const TOLERANCE = 0.05;

interface Heard {
  readonly state: DialogState;
  readonly fit: Fit | null;
}

function say(state: DialogState, user: string): Heard {
  const { state: after, facts } = decideTurn(state, user, answerPorts);
  return { state: after, fit: facts.recommendation?.own ?? facts.recommendation?.named[0] ?? null };
}

function play(users: readonly string[]): Heard {
  return users.reduce<Heard>(({ state }, user) => say(state, user), { state: initialState('zh'), fit: null });
}

/** The verdict on the run as it was described, before any change that would save it. */
const fitsAsAsked = ({ status, changes }: Fit): boolean => status !== 'does-not-fit' && changes.length === 0;

function verdictOn(memoryGiB: number, { state, fit }: Heard): boolean {
  const judged = fit ?? say(state, `我有 ${memoryGiB}G 显存的卡，能跑吗`).fit;
  if (judged === null) throw new Error(`no verdict on ${memoryGiB} GiB`);
  return fitsAsAsked(judged);
}

/** Whether a measured peak leaves no doubt about a card of that label. */
function provedBy(measuredGiB: number, memoryGiB: number): boolean | null {
  if (measuredGiB * (1 - TOLERANCE) > memoryGiB) return false;
  return measuredGiB * (1 + TOLERANCE) < memoryGiB * 0.9 ? true : null;
}

describe('runs that people reported', () => {
  it('are enough to judge by', () => {
    expect(points.length).toBeGreaterThan(20);
    expect(Object.keys(EXCEPTIONS).filter((name) => !points.some((point) => point.name === name))).toEqual([]);
  });

  const usual = points.filter(({ name }) => EXCEPTIONS[name] === undefined);

  it.each(usual.filter(({ cardGiB }) => cardGiB !== null))('$name: $outcome on $cardGiB GiB', (point) => {
    expect(verdictOn(point.cardGiB ?? 0, play(point.users))).toBe(point.outcome === 'fits');
  });

  it.each(usual.filter(({ measuredGiB }) => measuredGiB !== null))('$name: $measuredGiB GiB measured', (point) => {
    const { state } = play(point.users);
    const cards = RENTED_GIB.map((memoryGiB) => ({ memoryGiB, proved: provedBy(point.measuredGiB ?? 0, memoryGiB) }));
    const nearest = [cards.findLast(({ proved }) => proved === false), cards.find(({ proved }) => proved === true)];
    for (const card of nearest) {
      if (card !== undefined)
        expect(verdictOn(card.memoryGiB, { state, fit: null }), `${card.memoryGiB} GiB`).toBe(card.proved);
    }
  });

  it.each(Object.entries(EXCEPTIONS))('%s is judged otherwise: %s', (name) => {
    const point = points.find((one) => one.name === name);
    if (point?.cardGiB == null) throw new Error(`no card in ${name}`);
    expect(point.outcome).toBe('oom');
    expect(verdictOn(point.cardGiB, play(point.users))).toBe(true);
  });
});
