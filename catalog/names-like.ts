const LEAST_ALIKE = 0.4;

/** Names that share most letter pairs with one (Dice coefficient), best first. */
export function namesLike(name: string, names: readonly string[]): readonly string[] {
  const pairs = letterPairs(name);
  const scored = names.map((other) => {
    const others = letterPairs(other);
    const shared = [...others].filter((pair) => pairs.has(pair)).length;
    return { other, score: (2 * shared) / Math.max(1, pairs.size + others.size) };
  });
  const near = scored.filter(({ score }) => score >= LEAST_ALIKE).toSorted((one, two) => two.score - one.score);
  return near.map(({ other }) => other);
}

function letterPairs(name: string): ReadonlySet<string> {
  const letters = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  return new Set([...letters].slice(1).map((letter, index) => `${letters[index] ?? ''}${letter}`));
}

/** Names that begin with the same word; all of them where none does. */
export function familyOf(name: string, names: readonly string[]): readonly string[] {
  const family = /^[a-z]+/.exec(name)?.[0] ?? '';
  const same = names.filter((other) => family !== '' && other.startsWith(family));
  return same.length > 0 ? same : names;
}
