/** [start, end) in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export function overlaps({ start, end }: Span, spans: readonly Span[]): boolean {
  return spans.some((span) => start < span.end && span.start < end);
}

export function gapBetween(text: string, one: Span, other: Span): string {
  return one.end <= other.start ? text.slice(one.end, other.start) : text.slice(other.end, one.start);
}

/** The text with spans made unreadable, every index staying where it was. */
export function blankOut(text: string, spans: readonly Span[]): string {
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    if (start < from) continue;
    pieces.push(text.slice(from, start), '\u0000'.repeat(end - start));
    from = end;
  }
  return [...pieces, text.slice(from)].join('');
}
