/** A size as error messages print it; two groups: number and unit. */
export const SIZE = '(\\d{1,9}(?:\\.\\d{1,9})?)\\s?(bytes|[kmgt]i?b|[kmg]|b)(?![a-z])';

/** Frameworks print binary units, whatever they call them. */
const GIB_PER_UNIT: Readonly<Record<string, number>> = { k: 2 ** -20, m: 2 ** -10, g: 1, t: 2 ** 10 };

export function toGiB(number: string, unit: string): number {
  return Number(number) * (GIB_PER_UNIT[unit[0] ?? ''] ?? 2 ** -30);
}
