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
