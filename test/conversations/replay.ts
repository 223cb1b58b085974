import { type Catalog, loadCatalog } from '../../catalog/index.ts';
import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { takeTurn } from '../../src/dialog/policy.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import { heardIn } from '../../src/turn/take-turn.ts';
import { understand } from '../../src/understanding/understand.ts';
import type { Intent, Slots, Understanding } from '../../src/understanding/understanding.ts';

export interface TurnHeard {
  readonly user: string;
  readonly understanding: Understanding;
  readonly intent: Intent;
  /** Everything held after the turn. */
  readonly slots: Slots;
}

let catalog: Catalog | undefined;

export function testCatalog(): Catalog {
  catalog ??= loadCatalog();
  return catalog;
}

export function hear(state: DialogState, user: string): { readonly state: DialogState; readonly heard: TurnHeard } {
  const understanding = understand(user, heardIn(state), testCatalog());
  const turn = takeTurn(state, understanding);
  return {
    state: turn.state,
    heard: { user, understanding, intent: understanding.intent, slots: turn.state.slots },
  };
}

/** Plays a conversation through understanding and dialog. */
export function replay(users: readonly string[]): readonly TurnHeard[] {
  let state = initialState('zh');
  return users.map((user) => {
    const turn = hear(state, user);
    state = turn.state;
    return turn.heard;
  });
}
