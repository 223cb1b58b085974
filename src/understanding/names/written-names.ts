import { matchesOf } from '../matches.ts';
import { combineGroup } from './combine.ts';
import { configName } from './config-names.ts';
import { PADDLE } from './config-words.ts';
import { hubIdOf, hubName, isHubId } from './hub-names.ts';
import type { MentionFields, ModelMention } from './mention.ts';
import { scanNames } from './name-trie.ts';
import type { NameVocabulary, SearchLimits } from './vocabulary.ts';

/** A token of names joined by `_`, `-`, `/`: at most this long is looked at. */
const TOKEN = /[A-Za-z0-9][\w.\-+/\\]{2,255}/g;
const CONFIG_MARK = /(?<!\d)\d{2,4}x\d{2,4}(?!\d)|(?<![0-9a-z])\d{1,4}k(?![0-9a-z])|(?<![0-9a-z])\d+xb\d+/;
/** Shorthand that only MMSegmentation's names have. */
const CONFIG_PART =
  /(?:^|_)[rs](?:18|34|50|101|152)[bs]?-d(?:8|16|32)|_(?:hr18s?|hr48|mit-b\d|vit-[tbsl]\d*|s5-d16|m-v[23])/;
const TORCHVISION =
  /^(?:fcn_resnet(?:50|101)|deeplabv3_(?:resnet(?:50|101)|mobilenet_v3_large)|lraspp_mobilenet_v3_large|maskrcnn_resnet50_fpn(?:_v2)?)$/;
const DETECTRON =
  /(?:^|_)[rx]_(?:50|101)(?:_32x8d)?_(?:fpn|c4|dc5)(?:_|$)|^(?:maskformer2?|oneformer)_\w*_bs\d+_\d+(?:k|ep)|^panoptic_fpn_r_/;
/** Its schedules are counted in epochs (`75e_coco`) or multiples of twelve (`1x_coco`); MMSegmentation's in iterations. */
const MMDETECTION =
  /_(?:fpn|r\d+|caffe)_.*(?:_1x|_2x|_3x|poly).*_coco|mask-rcnn_|8xb2-lsj|[_-]\d+e_(?:coco|lvis|cityscapes)/;

/** Config names, hub ids and library names that stand in a text as one token each. */
export function findWrittenNames(text: string, { vocabulary, most }: SearchLimits): ModelMention[] {
  const mentions: ModelMention[] = [];
  for (const match of matchesOf(TOKEN, text)) {
    if (mentions.length >= most) break;
    const token = match[0].replace(/[.\-+/\\]+$/, (tail) => (tail.startsWith('+') ? tail : ''));
    const fields = readWrittenName(token, vocabulary);
    if (fields === null) continue;
    mentions.push({ ...fields, text: token, start: match.index, end: match.index + token.length });
  }
  return mentions;
}

/** Null where the token is not such a name. */
export function readWrittenName(token: string, vocabulary: NameVocabulary): MentionFields | null {
  if (!/[_\-/.]/.test(token)) return null;
  const id = hubIdOf(token);
  if (isHubId(id.toLowerCase(), vocabulary)) return hubName(id, vocabulary);
  const base = baseName(token);
  const last = base.split('.').at(-1) ?? '';
  if (TORCHVISION.test(last)) return torchvisionName(last, vocabulary);
  if (DETECTRON.test(base)) return configName(base, { implementation: 'detectron2', vocabulary });
  if (!base.includes('_')) return null;
  if (MMDETECTION.test(base)) return configName(base, { implementation: 'mmdetection', vocabulary });
  if (PADDLE.test(base)) return configName(base, { implementation: undefined, vocabulary });
  const config = CONFIG_MARK.test(base) || CONFIG_PART.test(base);
  return config ? configName(base, { implementation: 'mmseg', vocabulary }) : null;
}

/** Last part of a path, without its ending; NVlabs' own SegFormer configs join their parts by points. */
function baseName(token: string): string {
  const path = token.toLowerCase().replaceAll('\\', '/');
  const base =
    path
      .replace(/\.(?:py|ya?ml|json|pth)$/, '')
      .split('/')
      .at(-1) ?? '';
  return /^segformer\.b\d\./.test(base) ? base.replaceAll('.', '_') : base;
}

function torchvisionName(name: string, vocabulary: NameVocabulary): MentionFields | null {
  const combined = combineGroup(scanNames(vocabulary.trie, name), vocabulary);
  if (combined === null) return null;
  return {
    architecture: combined.architecture,
    backbone: combined.backbone,
    implementation: 'torchvision',
    options: name.endsWith('_v2') ? { version: 'v2' } : {},
    words: [],
    form: 'plain',
    confidence: 1,
    alternatives: [],
  };
}
