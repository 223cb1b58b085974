import { characterWidth, displayWidth } from '../text.ts';

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
