import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonMembers, type Member } from '../../../catalog/refresh/json-members.ts';

async function* pieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

async function membersOf(text: string, size = 7): Promise<readonly Member[]> {
  const found: Member[] = [];
  for await (const member of jsonMembers(pieces(text, size), 'big')) found.push(member);
  return found;
}

describe('members of a streamed document', () => {
  test('any document, cut anywhere, gives what JSON.parse gives', async () => {
    const big = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 });
    const head = fc.dictionary(
      fc.string().filter((key) => key !== 'big'),
      fc.jsonValue(),
      { maxKeys: 3 },
    );
    await fc.assert(
      fc.asyncProperty(
        head,
        big,
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(0, 2),
        async (outer, inner, size, indent) => {
          const text = JSON.stringify({ ...outer, big: inner, tail: 1 }, null, indent);
          const whole = JSON.parse(text);
          const found = await membersOf(text, size);
          const inside = found.filter((member) => member.inside).map(({ key, value }) => [key, value]);
          const outside = found.filter((member) => !member.inside).map(({ key, value }) => [key, value]);
          expect(inside).toEqual(Object.entries(whole.big));
          expect(outside).toEqual(Object.entries(whole).filter(([key]) => key !== 'big'));
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each([
    '',
    '[]',
    '{"big": {"a": 1}',
    '{"big": {"a": {"b": 1}',
    '{"a" 1}',
    '{"a": tru}',
    '{a: 1}',
    '"text"',
    '{"big": {"a": 1,',
  ])('rejects %j', async (text) => {
    await expect(membersOf(text)).rejects.toMatchObject({ code: 'invalid-catalog' });
  });

  test('a member that never ends is given up before it fills the memory', async () => {
    async function* endless(): AsyncGenerator<string> {
      yield '{"big": {"a": "';
      for (;;) yield 'x'.repeat(65_536);
    }
    const read = async () => {
      for await (const _ of jsonMembers(endless(), 'big'));
    };
    await expect(read()).rejects.toMatchObject({ code: 'invalid-catalog' });
  });
});
