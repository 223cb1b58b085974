import { describe, expect, it } from 'vitest';
import { NOISES } from './noise.ts';
import { score } from './score.ts';
import { readTranscripts } from './transcript.ts';

const reported = readTranscripts('../fixtures/cases/conversations.jsonl');
const flows = readTranscripts('../fixtures/cases/flows.jsonl');
const own = readTranscripts('./transcripts.jsonl');

describe('conversations', () => {
  it.each([
    ['reported by practitioners', reported],
    ['slot-filling flows', flows],
    ['our own', own],
  ])('understands those %s', (_name, transcripts) => {
    const { slotF1, joint, intent, differences } = score(transcripts);
    expect(differences).toEqual([]);
    expect(Math.min(slotF1, joint, intent)).toBe(1);
  });

  it('has at least 150 of our own, half of them with Chinese', () => {
    expect(own.length).toBeGreaterThanOrEqual(150);
    const chinese = own.filter(({ turns }) => turns.some(({ user }) => /[\u4e00-\u9fff]/.test(user)));
    expect(chinese.length / own.length).toBeGreaterThanOrEqual(0.5);
  });

  it('notices what is wrong: the scorer itself can fail', () => {
    const [first] = flows;
    if (first === undefined) throw new Error('no flows');
    const broken = {
      ...first,
      turns: first.turns.map(({ user }) => ({ user, expect: { slots: { batchSize: 7 }, intent: 'price' } })),
    };
    const { joint, intent } = score([broken]);
    expect([joint, intent]).toEqual([0, 0]);
  });
});

/** Joint accuracy may fall by at most five points. */
const ALLOWED_FALL = 0.05;

describe('the same conversations written otherwise', () => {
  const all = [...reported, ...flows, ...own];
  const clean = score(all).joint;

  it.each(Object.entries(NOISES))('%s', (_name, noise) => {
    let changed = 0;
    const { joint, differences } = score(all, (user, turn) => {
      const noisy = noise(user, user.length + turn);
      if (noisy !== user) changed += 1;
      return noisy;
    });
    expect(changed).toBeGreaterThan(10);
    expect(joint, differences.join('\n')).toBeGreaterThanOrEqual(clean - ALLOWED_FALL);
  });
});
