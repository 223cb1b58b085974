/** East Asian wide and full-width forms, and emoji, take two columns (Unicode UAX #11, UTS #51). */
const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]/u;
const INVISIBLE = /[\p{Mn}\p{Me}\p{Cf}]/u;

export function characterWidth(character: string): number {
  if (INVISIBLE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Columns that a text takes in a terminal; it must hold no escape sequences. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

export function padColumns(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}

/** At most so many columns, an ellipsis for what is cut off. */
export function clipColumns(text: string, columns: number): string {
  if (text.length <= columns && displayWidth(text) <= columns) return text;
  let clipped = '';
  let width = 1;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns) break;
    clipped += character;
  }
  return `${clipped}…`;
}

/** Breaks at spaces, or between wide characters, so that no line is wider than `columns`. */
export function wrapColumns(text: string, columns: number): readonly string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, columns));
}

function wrapLine(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const piece of text.match(/\s+|[\u2E80-\uFFEF]|[^\s\u2E80-\uFFEF]+/gu) ?? ['']) {
    if (line !== '' && displayWidth(line) + displayWidth(piece) > columns) {
      lines.push(line.trimEnd());
      line = piece.trimStart();
    } else {
      line += piece;
    }
  }
  return [...lines, line.trimEnd()];
}

/** Control characters could move the cursor or colour the screen: a terminal shows none that came from outside. */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, ' ');
}
