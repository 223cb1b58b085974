/** Cuts to `limit` UTF-16 units without splitting a character. */
export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/u, '')}…`;
}

/** Cuts to `limit` UTF-8 bytes without splitting a character. */
export function clipBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text.toWellFormed());
  if (bytes.length <= limit) return bytes.toString();
  const cut = new TextDecoder().decode(bytes.subarray(0, limit - 3)).replace(/\uFFFD+$/u, '');
  return `${cut}…`;
}

/** Line breaks, runs of blanks and control characters become one blank. */
export function oneLine(text: string): string {
  const calm = text.toWellFormed().replace(/[\s\p{Cc}]+/gu, ' ');
  return calm.trim();
}

/** The value of a JSON text; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** East Asian wide and full-width forms, and emoji, take two columns (Unicode UAX #11, UTS #51). */
const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]/u;
const NARROW = /^[ -~]*$/;
const INVISIBLE = /[\p{Mn}\p{Me}\p{Cf}]/u;

export function characterWidth(character: string): number {
  if (INVISIBLE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Columns that a text takes in a fixed-width font; it must hold no escape sequences. */
export function displayWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

export function padColumns(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}
