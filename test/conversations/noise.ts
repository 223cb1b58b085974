/** Ways in which the same message is written otherwise; each keeps what it says. Seeded, so that a failure can be repeated. */
export type Noise = (text: string, seed: number) => string;

/** Small generator of fractions from a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Pasted program output is copied, not typed: it carries no slips. */
const PASTED = /memory|mib \/|error|dict\(|[=_{}|]|\n/i;

/** Long names in which people slip; a shorter word with a slip is another word. */
const NAMES =
  /\b(segformer|deeplabv|pspnet|upernet|mask2former|maskformer|bisenetv|resnet|convnext|efficientnet|mobilenet|batch)(?=[^a-z]|$)/gi;

/** One slip of the fingers in one long name: two neighbours swapped, or a letter left out. */
const typo: Noise = (text, seed) => {
  if (PASTED.test(text)) return text;
  const random = randomFrom(seed);
  const names = Array.from(text.matchAll(NAMES));
  const chosen = names[Math.floor(random() * names.length)];
  if (chosen === undefined) return text;
  const word = chosen[0];
  const letters = word.search(/[^a-z]/i) < 0 ? word.length : word.search(/[^a-z]/i);
  const at = 1 + Math.floor(random() * (letters - 3));
  const slipped =
    random() < 0.5
      ? word.slice(0, at) + (word[at + 1] ?? '') + (word[at] ?? '') + word.slice(at + 2)
      : word.slice(0, at) + word.slice(at + 1);
  return text.slice(0, chosen.index) + slipped + text.slice(chosen.index + word.length);
};

const FULL_WIDTH_OFFSET = 0xfee0;

/** As an input method in full-width mode types it. */
const fullWidth: Noise = (text) =>
  PASTED.test(text)
    ? text
    : text.replace(/[!-~]/g, (char) => String.fromCharCode(char.charCodeAt(0) + FULL_WIDTH_OFFSET));

/** Clauses that stand by themselves in another order. */
const reordered: Noise = (text, seed) => {
  const clauses = text.split('，');
  if (clauses.length < 3 || /[换改不那这]|加|还是|再|：|\n|但|只有|。|？.|后|然后/.test(text)) return text;
  const random = randomFrom(seed);
  return clauses
    .map((clause) => ({ clause, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ clause }) => clause)
    .join('，');
};

const UNITS = [' GB', 'GiB', 'g', ' G', 'gb'];

/** 24G written as 24 GB, 24GiB, 24g. */
const units: Noise = (text, seed) => {
  if (PASTED.test(text)) return text;
  const unit = UNITS[seed % UNITS.length] ?? 'G';
  return text.replace(/(\d)\s?GB?\b(?!\w)/g, (_all, digit: string) => `${digit}${unit}`);
};

/** No spaces beside Chinese characters and punctuation. */
const unspaced: Noise = (text) =>
  PASTED.test(text) ? text : text.replace(/(?<=[\u4e00-\u9fff，。？！：；]) +| +(?=[\u4e00-\u9fff，。？！：；])/g, '');

const CHINESE = /[\u4e00-\u9fff]/;

const polite: Noise = (text, seed) => {
  if (PASTED.test(text)) return text;
  const chinese = [`您好，${text}`, `麻烦问一下，${text}，谢谢`, `大佬们，${text} 🙏`, `${text}，多谢！`];
  const english = [`Hi there, ${text}`, `${text}, thanks!`, `Please: ${text}`, `Hey folks, ${text} - thank you`];
  return (CHINESE.test(text) ? chinese : english)[seed % 4] ?? text;
};

const EMOJI = ['😂', '🙏', '🤔', '😭', '🚀', '👍🏽', '🧑‍💻'];

const emoji: Noise = (text, seed) => {
  if (PASTED.test(text)) return text;
  const one = EMOJI[seed % EMOJI.length] ?? '🙂';
  return `${one}${text.replace(/，/g, `${one}，`)} ${one}`;
};

const shouting: Noise = (text) => (PASTED.test(text) ? text : text.toUpperCase());

export const NOISES: Readonly<Record<string, Noise>> = {
  typo,
  fullWidth,
  reordered,
  units,
  unspaced,
  polite,
  emoji,
  shouting,
};
