import type { OptionValue } from '../../../catalog/models.ts';
import { lookUp } from '../look-up.ts';
import { canonicalName } from './canonical-name.ts';
import type { ModelMention } from './mention.ts';
import type { NameVocabulary } from './vocabulary.ts';

/** Decode heads of MMSegmentation 1.2.2 (mmseg/models/decode_heads), by the `type` that a config names. */
const HEADS: Readonly<Record<string, string>> = {
  ANNHead: 'ann',
  APCHead: 'apcnet',
  ASPPHead: 'deeplabv3',
  CCHead: 'ccnet',
  DAHead: 'danet',
  DDRHead: 'ddrnet',
  DepthwiseSeparableASPPHead: 'deeplabv3plus',
  DMHead: 'dmnet',
  DNLHead: 'dnlnet',
  DPTHead: 'dpt',
  EMAHead: 'emanet',
  EncHead: 'encnet',
  FCNHead: 'fcn',
  FPNHead: 'semantic-fpn',
  GCHead: 'gcnet',
  ISAHead: 'isanet',
  IterativeDecodeHead: 'knet',
  LightHamHead: 'segnext',
  LRASPPHead: 'lraspp',
  Mask2FormerHead: 'mask2former',
  MaskFormerHead: 'maskformer',
  NLHead: 'nonlocal',
  OCRHead: 'ocrnet',
  PIDHead: 'pidnet',
  PointHead: 'pointrend',
  PSAHead: 'psanet',
  PSPHead: 'pspnet',
  SegformerHead: 'segformer',
  SegmenterMaskTransformerHead: 'segmenter',
  SETRUPHead: 'setr',
  SETRMLAHead: 'setr',
  STDCHead: 'stdc',
  UPerHead: 'upernet',
};
/** Backbones whose config tells the size by a number beside the type: `key` and what its values mean. */
const BACKBONES: Readonly<Record<string, { key: RegExp; sizes: Readonly<Record<string, string>> }>> = {
  ResNet: { key: /depth/, sizes: depths('resnet') },
  ResNetV1c: { key: /depth/, sizes: depths('resnet') },
  ResNetV1d: { key: /depth/, sizes: depths('resnet') },
  ResNeSt: { key: /depth/, sizes: { 50: 'resnest50', 101: 'resnest101', 200: 'resnest200' } },
  SwinTransformer: { key: /embed_dims/, sizes: { 128: 'swin-b', 192: 'swin-l' } },
  VisionTransformer: {
    key: /embed_dims/,
    sizes: { 192: 'vit-t/16', 384: 'vit-s/16', 768: 'vit-b/16', 1024: 'vit-l/16' },
  },
  MobileNetV2: { key: /type/, sizes: { MobileNetV2: 'mobilenet-v2' } },
};
const WINDOW = 1200;

function depths(family: string): Readonly<Record<string, string>> {
  return Object.fromEntries([18, 34, 50, 101, 152].map((depth) => [depth, `${family}${depth}`]));
}

/** The network of a pasted MMSegmentation config (`decode_head=dict(type='PSPHead', …)`), Python or YAML. */
export function findConfigCode(text: string, vocabulary: NameVocabulary): ModelMention | null {
  const head = typeAfter(text, 'decode_head');
  if (head === null) return null;
  const known = lookUp(HEADS, head.type);
  const backbone = typeAfter(text, 'backbone');
  const start = Math.min(head.start, backbone?.start ?? head.start);
  const end = Math.max(head.end, backbone?.end ?? head.end);
  const classes = /num_classes\s*[=:]\s*(\d+)/.exec(text.slice(head.start, head.start + WINDOW))?.[1];
  return {
    architecture: known ?? head.type.toLowerCase(),
    backbone: backbone === null ? null : backboneName(text, backbone, vocabulary),
    implementation: 'mmseg',
    options: headOptions(head.type, backbone?.type),
    words: [],
    ...(classes === undefined ? {} : { numClasses: Number(classes) }),
    text: text.slice(start, end),
    start,
    end,
    form: 'constructor',
    confidence: known === undefined ? 0.3 : 1,
    alternatives: [],
  };
}

interface TypeFound {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

function typeAfter(text: string, section: string): TypeFound | null {
  const start = text.search(new RegExp(`(?<![\\w'"])["']?${section}["']?\\s*[=:]`));
  if (start < 0) return null;
  const match = /["']?type["']?\s*[=:]\s*["']?(?:mm\w+\.)?(\w+)/.exec(sectionAt(text, start));
  const type = match?.[1];
  return match === null || type === undefined ? null : { type, start, end: start + match.index + match[0].length };
}

/** A section with its brackets; a YAML one has none and ends with the window. */
function sectionAt(text: string, start: number): string {
  const window = text.slice(start, start + WINDOW);
  const open = /^[^\n([{]{0,40}[([{]/.exec(window)?.[0].length;
  if (open === undefined) return window;
  let depth = 1;
  for (let at = open; at < window.length; at += 1) {
    if ('([{'.includes(window[at] ?? '')) depth += 1;
    if (')]}'.includes(window[at] ?? '')) depth -= 1;
    if (depth === 0) return window.slice(0, at + 1);
  }
  return window;
}

function backboneName(text: string, { type, start, end }: TypeFound, vocabulary: NameVocabulary): string | null {
  const rule = lookUp(BACKBONES, type);
  const section = text.slice(start, end + WINDOW / 2);
  if (rule !== undefined) {
    const value = new RegExp(`(?:${rule.key.source})["']?\\s*[=:]\\s*["']?(\\w+)`).exec(section)?.[1] ?? '';
    return lookUp(rule.sizes, value) ?? null;
  }
  const arch = /arch["']?\s*[=:]\s*["'](\w+)["']/.exec(section)?.[1] ?? '';
  return canonicalName(`${type} ${arch}`.trim(), vocabulary)?.backbone ?? null;
}

function headOptions(head: string, backbone: string | undefined): Readonly<Record<string, OptionValue>> {
  return {
    ...(backbone === 'ResNet' ? { stem: 'v1' } : {}),
    ...(head === 'SETRMLAHead' ? { head: 'mla' } : {}),
  };
}
