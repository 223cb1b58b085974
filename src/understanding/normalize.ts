import { englishToDigits, toArabicNumerals } from './numbers.ts';
import { correctKeywords } from './spelling.ts';

/** Longer messages are read at both ends: the question and the last line of a traceback stand there. */
const MAX_READ = 24_000;

export interface Normalized {
  /** Lower case; what the rules read. */
  readonly text: string;
  /** Same positions with the case kept, for names that are held as pasted. */
  readonly cased: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
};

function clip(text: string): string {
  return text.length <= MAX_READ ? text : `${text.slice(0, MAX_READ / 2)}\n${text.slice(-MAX_READ / 2)}`;
}

const MARKUP = /[<&`]/;

/** Mentions, links and entities that chat platforms leave in plain text. */
function stripMarkup(text: string): string {
  if (!MARKUP.test(text)) return text;
  return text
    .replace(/<(?:https?:|mailto:|tel:)[^|<>\s]{0,2000}\|([^<>]{0,500})>/g, '$1')
    .replace(/<[@#!][^<>]{1,200}>/g, ' ')
    .replace(/&(?:lt|gt|amp|quot|nbsp|#39);/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/`+/g, ' ');
}

const SEPARATE: Readonly<Record<string, string>> = {
  '²': '^2 ',
  '³': '^3 ',
  '，': ', ',
  '、': ', ',
  '。': '. ',
  '；': '; ',
  '“': '"',
  '”': '"',
  '„': '"',
  '‘': "'",
  '’': "'",
  '–': '-',
  '—': '-',
  '‐': '-',
  '‑': '-',
  '‒': '-',
  '−': '-',
  '…': '... ',
  İ: 'i',
  ı: 'i',
};
const GLUED = new RegExp(`[${Object.keys(SEPARATE).join('')}]`, 'g');

/** NFKC would glue these to their neighbours (512² → 5122, 4，512 → 4,512). */
function separate(text: string): string {
  // "3、4 千" is a range, no list
  return text.replace(/([1-9])、(?=[1-9] ?[百千万])/g, '$1-').replace(GLUED, (sign) => SEPARATE[sign] ?? sign);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const PLAIN = /^[\x00-\x7f]*$/;

/** One form for signs that look alike. */
function foldSigns(text: string): string {
  return PLAIN.test(text) ? text : separate(text).normalize('NFKC');
}

/** Invisible characters, controls, and the filler that marks what was already read. */
const INVISIBLE =
  /[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufff9-\ufffd\ue000-\uf8ff]|[\ufe00-\ufe0f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** A single space stays as it is, so it is not matched: it is what most texts are full of. */
const WIDE_GAP = /[\t\u00a0\u1680\u3000][ \t\u00a0\u1680\u3000]*| [ \t\u00a0\u1680\u3000]+/g;

/** 512*1024, 8*A100. */
function unifyStars(text: string): string {
  if (!text.includes('*')) return text;
  return text.replace(/(\d) ?\* ?(?=[\da-z])/gi, '$1x').replace(/([a-z]) ?\* ?(?=\d{1,3}(?!\d))/gi, '$1 x');
}

/** One spelling of "times": 512×1024, 512 ✘ 1024, 512*1024, 512乘1024, 1024 by 1024, 8*A100. */
function unifyTimes(text: string): string {
  const crossed = text.replace(/[×✕✖✗✘╳⨯⨉]/g, 'x');
  return unifyStars(crossed)
    .replace(/(\d) ?(?:乘以?|by) ?(?=\d)/gi, '$1x')
    .replace(/(\d) ?[xX] ?(?=\d)/g, '$1x')
    .replace(/\*/g, ' ')
    .replace(/ {2,}/g, ' ');
}

/** More digits than anything that is counted here. */
const MOST_ZEROS = 15;

/** 1e5 iterations, 8e4 steps; a power beyond all sense stays a number that can be refused. */
function spellPowers(text: string): string {
  return text.replace(/(?<![\w.])(\d{1,3}(?:\.\d)?)e\+?(\d{1,4})(?![\w.])/gi, (_all, number: string, power: string) =>
    String(Math.round(Number(number) * 10 ** Math.min(Number(power), MOST_ZEROS))),
  );
}

/** A YAML list of two numbers as the pair that it is: `IMAGE_SIZE:` with `- 1024` and `- 512` below. */
function inlinePairs(text: string): string {
  return text.replace(
    /:[ \t]*\n[ \t]*-[ \t]*(\d{1,5})[ \t]*\n[ \t]*-[ \t]*(\d{1,5})(?=[ \t]*(?:\n(?![ \t]*-)|$))/g,
    ': ($1, $2)',
  );
}

/** Brings a message into the one form that every rule reads. Linear in its length. */
export function normalize(message: string): Normalized {
  const clean = foldSigns(stripMarkup(clip(message).toWellFormed()));
  const visible = clip(clean)
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(INVISIBLE, '')
    .replace(CONTROLS, ' ')
    .replace(WIDE_GAP, ' ')
    // blank lines say nothing, and rules that look past white space would walk thousands of them again and again
    .replace(/\n ?(?:\n ?)+/g, '\n');
  const cased = englishToDigits(
    toArabicNumerals(spellPowers(unifyTimes(inlinePairs(correctKeywords(visible))))),
  ).trim();
  const text = cased.toLowerCase();
  return text.length === cased.length ? { text, cased } : { text, cased: text };
}
