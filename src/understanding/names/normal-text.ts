/** Text for matching: NFKC, lower case, each character knowing where it came from. */
export interface NormalText {
  readonly text: string;
  /** Index in the source of character i; one entry more than characters. Null: the same index. */
  readonly origins: readonly number[] | null;
}

const PLAIN = /^[\n\r\t\x20-\x7e]*$/;

export function normalText(source: string): NormalText {
  if (PLAIN.test(source) || source.normalize('NFKC') === source) {
    const text = source.toLowerCase();
    if (text.length === source.length) return { text, origins: null };
  }
  const origins: number[] = [];
  let text = '';
  let at = 0;
  for (const character of source) {
    const folded = character.normalize('NFKC').toLowerCase();
    for (let unit = 0; unit < folded.length; unit += 1) origins.push(at);
    text += folded;
    at += character.length;
  }
  origins.push(source.length);
  return { text, origins };
}

export function originOf(normal: NormalText, index: number): number {
  return normal.origins === null ? index : (normal.origins[index] ?? 0);
}
