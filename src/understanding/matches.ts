/**
 * Every match of a global pattern. `matchAll` would copy the pattern at every call, which costs more than the search
 * itself; where nothing matches, nothing is made.
 */
export function matchesOf(pattern: RegExp, text: string): readonly RegExpExecArray[] {
  pattern.lastIndex = 0;
  let match = pattern.exec(text);
  if (match === null) return NONE;
  const found: RegExpExecArray[] = [];
  for (; match !== null; match = pattern.exec(text)) {
    found.push(match);
    if (match[0] === '') pattern.lastIndex += 1;
  }
  return found;
}

const NONE: readonly RegExpExecArray[] = [];
