import { type Candidate, choose } from './candidates.ts';
import { lookUp } from './look-up.ts';
import { findImplementation, findModelMentions } from './names/find-mentions.ts';
import type { ModelMention } from './names/mention.ts';
import { mentionSlots } from './names/mention-slots.ts';
import { scanNames } from './names/name-trie.ts';
import { refineVariant } from './names/refine-variant.ts';
import { defaultVocabulary } from './names/vocabulary.ts';
import { erase, FILLER, type Reading, type Span } from './reading.ts';
import type { Alternative, Ambiguity, Slots } from './understanding.ts';

export interface ModelReading {
  readonly slots: Slots;
  readonly ambiguities: readonly Ambiguity[];
  readonly unknownNames: readonly string[];
  /** A known network changed ("flatten-swin-t"), as typed. */
  readonly otherVersion: string | null;
  /** Networks and backbones in the order of the text, as typed. */
  readonly typed: readonly string[];
  /** Networks that were left open beside the chosen one: "swin-t 或 swin-s". */
  readonly alternatives: readonly Alternative[];
  /** A configuration name was pasted: what it says yields to what the person says beside it. */
  readonly recipe: boolean;
}

const NOTHING: ModelReading = {
  slots: {},
  ambiguities: [],
  unknownNames: [],
  otherVersion: null,
  typed: [],
  alternatives: [],
  recipe: false,
};

/** Confidences of src/understanding/names/mention.ts. */
const UNSURE = 0.5;
const UNKNOWN = 0.3;

/** Sizes without a family (b0 … b5) and the families that have them. */
const VARIANT_FAMILIES = ['segformer', 'efficientnet'] as const;
const BARE_VARIANT = /^b[0-7]$/;
const FAMILY_OF_MODEL: Readonly<Record<string, string>> = { segformer: 'mit' };

/** "b3" beside a held b2 of the same family; the family comes from the held backbone or from the network. */
function refine(variant: string, held: Slots): string | null {
  const family = /^(.+)-b\d$/.exec(held.backbone ?? '')?.[1] ?? lookUp(FAMILY_OF_MODEL, held.model ?? '');
  return family === undefined ? null : `${family}-${variant}`;
}

const SIZES: Readonly<Record<string, string>> = {
  tiny: 't',
  small: 's',
  base: 'b',
  large: 'l',
  t: 't',
  s: 's',
  b: 'b',
  l: 'l',
  xl: 'xl',
  xlarge: 'xl',
  微型: 't',
  小: 's',
  大: 'l',
};
const SIZED = /^(.+?)-(t|s|b|l|xl)(\/\d+)?$/;
const SIZE_SAID =
  /(?:^|换成?|换回|改成?|用|还是|选|是|回|try|about|to|with|那|试试|来个|the)\s?(?:the )?(tiny|small|base|xlarge|large|xl|[tsbl])\s?(?:的|版本?|version|one|size|呢|variant)?\s?(?:呢|吗|吧|好了|instead|then|[?,.;!]|$)/;

/** "换成 L 的", "the large one": another size of the backbone that is held. */
function resized(text: string, held: Slots): string | null {
  const parts = SIZED.exec(held.backbone ?? '');
  const size = SIZES[SIZE_SAID.exec(text)?.[1] ?? ''];
  if (parts === null || size === undefined) return null;
  return `${parts[1]}-${size}${parts[3] ?? ''}`;
}

const LETTER = /[a-z]/;

/** Any other size of the held family, by the catalogue's own spellings; a bare number may answer a question. */
function refined(text: string, held: Slots): string | undefined {
  return LETTER.test(text) ? refineVariant(text, held) : undefined;
}

const SIZED_MODEL = /^(yolo(?:v8|11))[nsmlx](-seg)$/;
/** One letter alone, "用 m", "m 的", "the l one": too little unless a size is what the held network differs by. */
const SIZE_LETTER =
  /^ ?(?:就|改成|换成?|用|要|选|试试|the|use|try|take|make it|switch to)? ?([nsmlx]) ?(?:的|版|型|号|吧|呢|one|size|version|model|please)* ?[?!.,]*$/;

/** Another size of the held network, where its name is family, letter and task. */
function otherSize(text: string, held: Slots): Pick<Slots, 'model'> {
  const [, family, task] = SIZED_MODEL.exec(held.model ?? '') ?? [];
  const [, size] = SIZE_LETTER.exec(text) ?? [];
  return family === undefined || size === undefined ? {} : { model: `${family}${size}${task}` };
}

/** Longer messages mention libraries for other reasons. */
const LIBRARY_SWITCH = 40;

/** "smp 版呢", "what about torchvision's": the held network of another library. */
function heldLibrary({ rest }: Reading, held: Slots): Pick<Slots, 'implementation'> {
  if (held.model === undefined || rest.length > LIBRARY_SWITCH) return {};
  const implementation = findImplementation(rest);
  return implementation === undefined ? {} : { implementation };
}

function askVariant(typed: string): Ambiguity {
  const candidates = VARIANT_FAMILIES.map((family) => ({
    label: family === 'segformer' ? `SegFormer ${typed.toUpperCase()}` : `EfficientNet-${typed.toUpperCase()}`,
    say: family === 'segformer' ? `segformer ${typed}` : `efficientnet-${typed}`,
  }));
  return { slot: 'model', typed, candidates };
}

/** As many as every platform shows as buttons. */
const CANDIDATES_ASKED = 5;

function askAlternatives(mention: ModelMention): Ambiguity {
  const first = mention.architecture ?? mention.backbone;
  const names = [...(first === null ? [] : [first]), ...mention.alternatives];
  return {
    slot: 'model',
    typed: mention.text,
    candidates: [...new Set(names)].slice(0, CANDIDATES_ASKED).map((name) => ({ label: name, say: name })),
  };
}

function candidatesOf(mentions: readonly ModelMention[]): readonly Candidate<ModelMention>[] {
  return mentions.map((mention, index) => ({
    value: mention,
    // of "b1，是 b2" the last one is meant
    start:
      mention.variant === undefined || mention.architecture !== null
        ? mention.start
        : mention.end - mention.variant.length,
    end: mention.end,
    rank: (mention.architecture === null ? 3.5 : mention.form === 'plain' ? 5 : 6) - index * 0.01,
  }));
}

/** A backbone by itself, or one that is named like its own network ("stdc1") right behind the chosen one. */
function isPartner(mention: ModelMention, chosen: ModelMention): boolean {
  if (mention === chosen || mention.backbone === null) return false;
  if (mention.architecture === null) return true;
  const gap = mention.start - chosen.end;
  return mention.backbone.startsWith(mention.architecture) && gap >= 0 && gap <= 3;
}

/** The chosen network, completed by a backbone that stands elsewhere in the message. */
function combine(chosen: ModelMention, mentions: readonly ModelMention[]): Slots {
  const slots = mentionSlots(chosen);
  if (chosen.architecture === null || slots.backbone !== undefined) return slots;
  const partner = mentions.find((mention) => isPartner(mention, chosen));
  return partner === undefined ? slots : { ...mentionSlots(partner), ...slots };
}

function readVariant(mention: ModelMention, held: Slots): Pick<ModelReading, 'slots' | 'ambiguities'> {
  const typed = mention.variant ?? '';
  const backbone = refine(typed, held);
  if (backbone !== null) return { slots: { backbone }, ambiguities: [] };
  return { slots: { backbone: typed }, ambiguities: [askVariant(typed)] };
}

/** Networks that are built on HRNet, whose widths are said without its name ("ocrnet w48"). */
const ON_HRNET = new Set(['ocrnet', 'hrnet', 'fcn']);
const WIDTH = /(?<![a-z\d-])w(18s?|32|40|48|64)(?![\da-z])/;

/** "ocrnet w48", or "w32 呢" beside a held HRNet. */
function withWidth(reading: Reading, slots: Slots, held: Slots): Slots {
  const found = WIDTH.exec(reading.rest);
  const width = found?.[1];
  const model = slots.model ?? held.model ?? '';
  const heldWidth = slots.model === undefined && held.backbone?.startsWith('hrnet') === true;
  if (found === null || width === undefined || slots.backbone !== undefined || !(ON_HRNET.has(model) || heldWidth))
    return slots;
  // "w48" would be read as a picture 48 pixels wide
  erase(reading, [{ start: found.index, end: found.index + found[0].length }]);
  return { ...slots, backbone: `hrnet-w${width.replace('18s', '18-small')}` };
}

/** A network named after its size was held ("b5", then "segformer"): the size joins its family. */
function joinHeldVariant(slots: Slots, held: Slots): Slots {
  if (slots.model === undefined || slots.backbone !== undefined || !BARE_VARIANT.test(held.backbone ?? ''))
    return slots;
  const family = lookUp(FAMILY_OF_MODEL, slots.model) ?? 'efficientnet';
  return { ...slots, backbone: `${family}-${held.backbone}` };
}

/** "hr48" beside a held OCRNet on HRNet: another width of what it stands on, no other network; the FPN of a held Mask R-CNN is its neck. */
function onHeldHead(slots: Slots, typed: string, held: Slots): Slots {
  if (slots.model === 'fpn' && held.model === 'maskrcnn') return without(slots, 'model');
  const otherHead = held.model !== undefined && held.model !== 'hrnet' && held.backbone?.startsWith('hrnet') === true;
  if (slots.model !== 'hrnet' || !otherHead || !/^hr-?\d/i.test(typed)) return slots;
  return without(slots, 'model');
}

function without(slots: Slots, name: keyof Slots): Slots {
  const { [name]: _dropped, ...rest } = slots;
  return rest;
}

const SHARED = /都|均|同样|一样|both|each|same backbone|(?<![a-z])with(?![a-z])/;

/** "pspnet 和 deeplabv3+ 都用 r50": the backbone is that of every network of the message. */
function shareBackbone(slots: Slots, mentions: readonly ModelMention[], text: string): Slots {
  if (slots.backbone !== undefined || mentions.length < 2 || !SHARED.test(text)) return slots;
  const backbone = mentions.map((mention) => mentionSlots(mention).backbone).find((name) => name !== undefined);
  return backbone === undefined ? slots : { ...slots, backbone };
}

/** A word as near to one network as to another. */
function isUnsure({ architecture, backbone, alternatives }: ModelMention): boolean {
  return architecture === null && backbone === null && alternatives.length > 0;
}

/** Not inside what was already read, and a bare size stands as one word: "-b 4" is a batch. */
function isMeant(reading: Reading, mention: ModelMention): boolean {
  const { architecture, backbone, text } = mention;
  if (nameSpans(mention).every((span) => reading.rest.slice(span.start, span.end).includes(FILLER))) return false;
  return architecture !== null || backbone !== null || isUnsure(mention) || /(?<![a-z])[a-z]-?\d$/i.test(text);
}

/** Longer plain mentions have other words between head and backbone. */
const TIGHT = /^[a-z\d+\-_/ ]{1,24}$/i;

/** What the name itself occupies: arguments of a constructor and words between head and backbone stay for their own rules. */
function nameSpans({ form, text, start, end }: ModelMention): readonly Span[] {
  const open = text.indexOf('(');
  if (form === 'constructor' && open > 0) return [{ start, end: start + open }];
  if (form !== 'plain' || TIGHT.test(text)) return [{ start, end }];
  const parts = scanNames(defaultVocabulary().trie, text.toLowerCase());
  return parts.length === 0
    ? [{ start, end }]
    : parts.map((part) => ({ start: start + part.start, end: start + part.end }));
}

/** A mention as it is named: without the words between head and backbone, a bare size with its family. */
function typedName(mention: ModelMention, chosen: ModelMention): string {
  const { text, start, variant, architecture } = mention;
  if (architecture === null && variant !== undefined && chosen.architecture !== null)
    return `${chosen.architecture} ${variant}`;
  const names = nameSpans(mention).map((span) => text.slice(span.start - start, span.end - start));
  return names.join(' ').toLowerCase();
}

const EITHER = /^[\s,]*(?:或者?|还是|or|\/|、)[\s]*(?:an? )?$/;

function openBeside(text: string, chosen: ModelMention, mentions: readonly ModelMention[]): readonly Alternative[] {
  return mentions.flatMap((other) => {
    const [left, right] = other.start < chosen.start ? [other, chosen] : [chosen, other];
    if (other === chosen || !EITHER.test(text.slice(left.end, right.start))) return [];
    return [{ taken: typedName(chosen, chosen), other: typedName(other, chosen) }];
  });
}

/** Networks of the message: the one that is meant, and what else was named. */
export function readModel(reading: Reading, held: Slots): ModelReading {
  const mentions = findModelMentions(reading.cased).filter((mention) => isMeant(reading, mention));
  const unsure = mentions.filter(isUnsure);
  const chosen = choose(reading, candidatesOf(mentions.filter((mention) => !isUnsure(mention))))?.value;
  erase(reading, mentions.flatMap(nameSpans));
  if (chosen === undefined) {
    const backbone =
      resized(reading.text, held) ?? withWidth(reading, {}, held).backbone ?? refined(reading.text, held);
    const asks = unsure.map(askAlternatives);
    const library = { ...heldLibrary(reading, held), ...otherSize(reading.text, held) };
    return backbone === undefined
      ? { ...NOTHING, slots: library, ambiguities: asks }
      : { ...NOTHING, slots: { ...library, backbone }, typed: [backbone] };
  }
  const typed = mentions.map((mention) => typedName(mention, chosen));
  const common = {
    typed,
    alternatives: openBeside(reading.text, chosen, mentions),
    recipe: chosen.form === 'config',
    unknownNames: unknownNames(mentions),
    otherVersion: mentions.find(({ changed }) => changed !== undefined)?.changed?.toLowerCase() ?? null,
  };
  if (chosen.architecture === null && chosen.backbone === null) return { ...common, ...readVariant(chosen, held) };
  const open = chosen.alternatives.length > 0 && chosen.confidence <= UNSURE;
  const asks = open ? [askAlternatives(chosen)] : chosen.architecture === null ? unsure.map(askAlternatives) : [];
  const named = onHeldHead(shareBackbone(combine(chosen, mentions), mentions, reading.text), chosen.text, held);
  const slots = withWidth(reading, joinHeldVariant(named, held), held);
  return { ...common, slots, ambiguities: asks };
}

function unknownNames(mentions: readonly ModelMention[]): readonly string[] {
  return mentions.filter(({ confidence }) => confidence <= UNKNOWN).map(({ text }) => text.toLowerCase());
}
