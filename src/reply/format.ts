import type { Locale } from '../message.ts';

const GIB = 1024 ** 3;

/** Bytes as "7.0 GiB", "0.16 GiB", "128 GiB": as many digits as anybody acts on. */
export function gib(bytes: number): string {
  return gibOf(bytes / GIB);
}

export function gibOf(amount: number): string {
  return `${gibNumber(amount)} GiB`;
}

/** The figure without its unit. */
export function gibNumber(amount: number): string {
  const size = Math.abs(amount);
  if (size >= 99.95) return amount.toFixed(0);
  return amount.toFixed(size < 0.95 && size > 0 ? 2 : 1);
}

// Made once: a formatter costs a hundred times what it takes to use it.
const wholeAmount = new Intl.NumberFormat('en-US', { minimumFractionDigits: 0, maximumFractionDigits: 0 });
const centsAmount = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** "¥10.09", "$1.40", "¥5,000": whole amounts without decimals. */
export function money(amount: number, currency: 'CNY' | 'USD'): string {
  const whole = Number.isInteger(amount) || amount >= 1_000;
  const text = (whole ? wholeAmount : centsAmount).format(amount);
  return `${currency === 'CNY' ? '¥' : '$'}${text}`;
}

/** "0.71–1.1", two significant digits; one figure where both ends read the same. */
export function range(low: number, high: number): string {
  const from = significant(low);
  const to = significant(high);
  return from === to ? from : `${from}–${to}`;
}

/** Two significant digits without an exponent: 0.072, 1.9, 34, 1200. */
export function significant(value: number): string {
  if (Number.isInteger(value)) return String(value);
  const digits = Math.max(0, 1 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(6, digits));
}

export function grouped(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

export function percent(ratio: number): string {
  const value = Math.abs(ratio) * 100;
  return `${value < 10 && !Number.isInteger(value) ? value.toFixed(1).replace(/\.0$/, '') : value.toFixed(0)} %`;
}

/** Hours as people say them: minutes below one hour, days above two. */
export function hoursRange([low, high]: readonly [number, number], locale: Locale): string {
  const [divisor, zh, en] = high < 1 ? [1 / 60, '分钟', 'min'] : low > 48 ? [24, '天', 'days'] : [1, '小时', 'h'];
  return `${range(low / divisor, high / divisor)} ${locale === 'zh' ? zh : en}`;
}

/** Longer times are said in days too: a week. */
const HOURS_ALONE = 168;

/** A length of time with its unit: "10 分钟", "4.5 h", "864 h (36 days)". */
export function duration(hours: number, locale: Locale): string {
  if (hours > HOURS_ALONE) {
    const days = significant(Math.round(hours / 24));
    const whole = Math.round(hours);
    return locale === 'zh' ? `${whole} 小时（${days} 天）` : `${whole} h (${days} days)`;
  }
  return hours > 0 && hours < 1
    ? `${significant(Math.max(1, Math.round(hours * 60)))} ${locale === 'zh' ? '分钟' : 'min'}`
    : `${significant(hours)} ${locale === 'zh' ? '小时' : 'h'}`;
}

/** A list as the language writes it: "A、B 和 C", "A, B and C". */
export function joined(items: readonly string[], locale: Locale): string {
  return new Intl.ListFormat(locale === 'zh' ? 'zh-CN' : 'en-GB', { type: 'conjunction' }).format(items);
}

/** Figures of a sentence, each with as many digits as anybody reads. */
export function readable(values: Readonly<Record<string, string | number>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, readableFigure(value)]));
}

function readableFigure(value: string | number): string {
  if (typeof value === 'string' || Number.isInteger(value)) return String(value);
  return String(Number(value.toFixed(Math.abs(value) < 1 ? 2 : Math.abs(value) < 10 ? 2 : 1)));
}
