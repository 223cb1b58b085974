import type { OptionValue } from '../../../catalog/models.ts';
import { lookUp } from '../look-up.ts';
import { argument, commonArguments, countOf, optionArguments, textOf } from './call-arguments.ts';
import { combineGroup } from './combine.ts';
import { hubName } from './hub-names.ts';
import type { MentionFields, ModelMention } from './mention.ts';
import { scanNames } from './name-trie.ts';
import { type PythonCall, type PythonValue, visitCalls } from './python-call.ts';
import type { NameVocabulary, SearchLimits } from './vocabulary.ts';
import { readWrittenName } from './written-names.ts';

interface CallContext {
  readonly source: string;
  readonly vocabulary: NameVocabulary;
}

type Reader = (call: PythonCall, context: CallContext) => MentionFields | null;

/** Classes of transformers, before `For…Segmentation` or `Model`. DeepLabV3 is what its mobile networks are called. */
const TRANSFORMERS: Readonly<Record<string, { architecture: string | null; backbone?: string }>> = {
  AutoModel: { architecture: null },
  Segformer: { architecture: 'segformer' },
  UperNet: { architecture: 'upernet' },
  Mask2Former: { architecture: 'mask2former' },
  MaskFormer: { architecture: 'maskformer' },
  OneFormer: { architecture: 'oneformer' },
  Beit: { architecture: 'beit' },
  Data2VecVision: { architecture: 'data2vec' },
  DPT: { architecture: 'dpt' },
  MobileNetV2: { architecture: 'deeplabv3', backbone: 'mobilenet-v2' },
  MobileViT: { architecture: 'deeplabv3', backbone: 'mobilevit-s' },
  MobileViTV2: { architecture: 'deeplabv3', backbone: 'mobilevitv2-1.0' },
  Eomt: { architecture: 'eomt' },
  Sam: { architecture: 'sam' },
  Sam2: { architecture: 'sam2' },
  CLIPSeg: { architecture: 'clipseg' },
  SegGpt: { architecture: 'seggpt' },
  Detr: { architecture: 'detr' },
};
const TRANSFORMERS_CLASS =
  /^(\w+?)(?:For(?:Semantic|Instance|Universal|Image|Panoptic)?Segmentation|Model|ImageSegmentation)(?:\.from_(?:pretrained|config))?$/;
const SMP = /^(?:smp|segmentation_models_pytorch|sm)\.(\w+)$/;
const SMP_CLASS =
  /^(?:Unet|UnetPlusPlus|MAnet|Linknet|FPN|PSPNet|DeepLabV3|DeepLabV3Plus|PAN|UPerNet|Segformer|DPT|create_model)$/;
const TORCHVISION = /^(?:fcn_resnet|deeplabv3_|lraspp_|maskrcnn_)\w+$/;

/** Names worth reading the arguments of. */
const WANTED =
  /(?:^|\.)(?:\w*(?:segmentation|model|unet|segnet|u2netp?|transformersys)(?:\.from_\w+)?|\w+plus(?:plus)?|manet|linknet|fpn|pspnet|deeplabv3|pan|upernet|segformer|dpt|load|(?:fcn_resnet|deeplabv3_|lraspp_|maskrcnn_)\w+)$|^(?:smp|sm|segmentation_models_pytorch)\./i;

/** Constructors in pasted code, with their arguments. */
export function findConstructors(source: string, { vocabulary, most }: SearchLimits): ModelMention[] {
  const mentions: ModelMention[] = [];
  visitCalls(
    source,
    (callee) => mentions.length < most && WANTED.test(callee),
    (call) => {
      const fields = readConstructor(call, { source, vocabulary });
      if (fields === null) return false;
      const { start, end } = call;
      mentions.push({ ...fields, text: source.slice(start, end), start, end });
      return true;
    },
  );
  return mentions;
}

const READERS: readonly Reader[] = [readSmp, readTransformers, readTorchvision, readHubLoad, readTimm, readClassic];

function readConstructor(call: PythonCall, context: CallContext): MentionFields | null {
  for (const reader of READERS) {
    const fields = reader(call, context);
    if (fields !== null) return fields;
  }
  return null;
}

function readSmp(call: PythonCall, context: CallContext): MentionFields | null {
  const last = call.callee.split('.').at(-1) ?? '';
  const prefixed = SMP.exec(call.callee)?.[1];
  const bare = SMP_CLASS.test(last) && (call.keywords.has('encoder_name') || call.keywords.has('encoder_weights'));
  if (prefixed === undefined && !bare) return null;
  if (prefixed !== undefined && !/^[A-Z]|^create_model$/.test(prefixed)) return null;
  const created = last === 'create_model';
  const name = created ? (textOf(argument(call, ['arch'], 0)) ?? '') : last;
  const known = soleArchitecture(name, context.vocabulary);
  const encoder = encoderOf(argument(call, ['encoder_name'], created ? 1 : 0), context);
  const depth = countOf(argument(call, ['encoder_depth'], created ? undefined : 1));
  const classes = created ? countOf(call.positional[4]) : undefined;
  return plainFields({
    architecture: known ?? name.toLowerCase(),
    confidence: known === undefined ? UNKNOWN : KNOWN,
    backbone: encoder === undefined ? null : canonicalEncoder(encoder, context.vocabulary),
    implementation: 'smp',
    ...(encoder === undefined ? {} : { encoder }),
    ...(classes === undefined ? {} : { numClasses: classes }),
    ...commonArguments(call),
    options: {
      ...optionArguments(call),
      ...activationOf(call),
      ...(depth === undefined ? {} : { encoderDepth: depth }),
    },
  });
}

/** An activation after the head is one more full-size tensor. */
function activationOf(call: PythonCall): Readonly<Record<string, OptionValue>> {
  const activation = textOf(call.keywords.get('activation'));
  return activation === undefined || activation === 'identity' ? {} : { activation };
}

/** `encoder_name=ENCODER`: looked up where the same text sets it. */
function encoderOf(value: PythonValue | undefined, { source }: CallContext): string | undefined {
  if (value?.kind !== 'name') return textOf(value);
  const name = value.name.split('.').at(-1) ?? '';
  return new RegExp(`\\b${name}\\s*[=:]\\s*["']([\\w.-]+)["']`).exec(source)?.[1];
}

/** Slot name of an smp encoder: `mit_b2` → `mit-b2`, `tu-convnext_tiny` → `convnext-t`; unknown ones as they are. */
function canonicalEncoder(encoder: string, vocabulary: NameVocabulary): string {
  const plain = encoder
    .toLowerCase()
    .replace(/^(?:tu-|timm-)/, '')
    .replace(/\.[a-z].*$/, '');
  const hits = scanNames(vocabulary.trie, plain);
  const [hit] = hits;
  const backbone = hit?.start === 0 ? combineGroup(hits, vocabulary)?.backbone : undefined;
  return backbone ?? plain;
}

function soleArchitecture(name: string, { trie }: NameVocabulary): string | undefined {
  const lower = name.toLowerCase();
  const hit = scanNames(trie, lower).find(({ start, end }) => start === 0 && end === lower.length);
  return hit?.meaning.architecture;
}

function readTransformers(call: PythonCall, { vocabulary }: CallContext): MentionFields | null {
  const name = call.callee.replace(/^(?:\w+\.)+(?=[A-Z])/, '');
  const family = TRANSFORMERS_CLASS.exec(name)?.[1];
  const known = family === undefined ? undefined : lookUp(TRANSFORMERS, family);
  if (known === undefined) return null;
  const first = argument(call, ['pretrained_model_name_or_path', 'config'], 0);
  const checkpoint = textOf(first);
  const config = first?.kind === 'call' ? first.call : undefined;
  const hub = checkpoint === undefined ? null : hubName(checkpoint, vocabulary);
  const architecture = known.architecture ?? hub?.architecture ?? null;
  if (architecture === null) return null;
  const said = { ...hub, ...(config === undefined ? {} : commonArguments(config)), ...commonArguments(call) };
  return plainFields({
    ...said,
    architecture,
    backbone:
      hub?.backbone ??
      (config === undefined ? (known.backbone ?? null) : (configBackbone(config) ?? known.backbone ?? null)),
    implementation: 'transformers',
    ...(checkpoint === undefined ? { configured: true } : { checkpoint }),
    options: {
      ...hub?.options,
      ...(config === undefined ? {} : optionArguments(config)),
      ...optionArguments(call),
    },
  });
}

/** Published MiT depths (SegFormer paper, table 6): a configuration is recognised by them. */
const MIT_DEPTHS: Readonly<Record<string, string>> = {
  '2,2,2,2': 'mit-b0',
  '3,4,6,3': 'mit-b2',
  '3,4,18,3': 'mit-b3',
  '3,8,27,3': 'mit-b4',
  '3,6,40,3': 'mit-b5',
};
const MIT_B1_WIDTH = 64;

function configBackbone(config: PythonCall): string | undefined {
  if (!config.callee.endsWith('SegformerConfig')) return undefined;
  const depths = config.keywords.get('depths');
  const widths = config.keywords.get('hidden_sizes');
  if (depths?.kind !== 'literal' || !Array.isArray(depths.value)) return undefined;
  const mit = MIT_DEPTHS[depths.value.join(',')];
  const first = widths?.kind === 'literal' && Array.isArray(widths.value) ? widths.value[0] : undefined;
  return mit === 'mit-b0' && first === MIT_B1_WIDTH ? 'mit-b1' : mit;
}

function readTorchvision(call: PythonCall, { vocabulary }: CallContext): MentionFields | null {
  const name = call.callee.split('.').at(-1) ?? '';
  if (!TORCHVISION.test(name)) return null;
  const written = readWrittenName(name, vocabulary);
  if (written === null) return null;
  return plainFields({
    ...written,
    ...commonArguments(call),
    options: { ...written.options, ...optionArguments(call), ...weightsOf(call) },
  });
}

/**
 * torchvision freezes and picks FrozenBatchNorm by its weights: `weights_backbone` has a default, `weights` has none.
 * Weights of a segmentation model bring its auxiliary head along (torchvision 0.28, models/segmentation).
 */
function weightsOf(call: PythonCall): Readonly<Record<string, OptionValue>> {
  const isNone = (value: PythonValue | undefined): boolean => value?.kind === 'literal' && value.value === null;
  const isFalse = (value: PythonValue | undefined): boolean => value?.kind === 'literal' && value.value === false;
  const backbone = argument(call, ['weights_backbone', 'pretrained_backbone']);
  const weights = argument(call, ['weights', 'pretrained']);
  const auxiliary = call.keywords.get('aux_loss');
  const trained = weights !== undefined && !isNone(weights) && !isFalse(weights);
  return {
    ...(isNone(backbone) || isFalse(backbone) ? { pretrainedBackbone: false } : {}),
    ...(trained ? { pretrained: true, auxiliaryHead: true } : {}),
    ...(auxiliary?.kind === 'literal' ? { auxiliaryHead: auxiliary.value } : {}),
  };
}

function readHubLoad(call: PythonCall, { vocabulary }: CallContext): MentionFields | null {
  if (!call.callee.endsWith('hub.load')) return null;
  const name = textOf(call.positional[1]) ?? '';
  const written = readWrittenName(name, vocabulary);
  if (written !== null) {
    return plainFields({ ...written, ...commonArguments(call), options: { ...written.options, ...weightsOf(call) } });
  }
  const repository = (textOf(call.positional[0]) ?? '').toLowerCase();
  if (!repository.includes('unet') && !name.startsWith('unet')) return null;
  const implementation = repository.startsWith('milesial') ? ({ implementation: 'milesial' } as const) : {};
  return plainFields({
    architecture: 'unet',
    backbone: null,
    ...implementation,
    ...commonArguments(call),
    options: {},
  });
}

function readTimm(call: PythonCall, { vocabulary }: CallContext): MentionFields | null {
  const name = call.callee === 'timm.create_model' ? textOf(argument(call, ['model_name'], 0)) : undefined;
  if (name === undefined) return null;
  return plainFields({ architecture: null, backbone: canonicalEncoder(name, vocabulary), options: {} });
}

const CLASSIC: Readonly<Record<string, Pick<MentionFields, 'architecture' | 'implementation'>>> = {
  swinunet: { architecture: 'swin-unet', implementation: 'original' },
  swintransformersys: { architecture: 'swin-unet', implementation: 'original' },
  transunet: { architecture: 'transunet', implementation: 'original' },
  unet: { architecture: 'unet' },
  unetplusplus: { architecture: 'unetplusplus' },
  nestedunet: { architecture: 'unetplusplus' },
  attentionunet: { architecture: 'attention-unet' },
  attunet: { architecture: 'attention-unet' },
  u2net: { architecture: 'u2net' },
  u2netp: { architecture: 'u2net' },
  segnet: { architecture: 'segnet' },
};

/** Argument names that only one repository's U-Net has. */
const MILESIAL = ['n_channels', 'n_classes', 'bilinear'];
const MONAI = ['spatial_dims', 'dimensions', 'num_res_units', 'up_kernel_size'];

/** Repositories' own classes; milesial's and MONAI's U-Nets are known by their argument names. */
function readClassic(call: PythonCall): MentionFields | null {
  const name = (call.callee.split('.').at(-1) ?? '').toLowerCase().replaceAll('_', '');
  const known = CLASSIC[name];
  if (known === undefined) return null;
  const has = (keyword: string): boolean => call.keywords.has(keyword);
  const monai = (name === 'unet' || name === 'attentionunet') && (MONAI.some(has) || call.callee.startsWith('monai.'));
  if (monai && countOf(argument(call, ['spatial_dims', 'dimensions'], 0)) === 3) return volumetric(call);
  const places = countsByPlace(call, name, monai);
  return plainFields({
    ...known,
    backbone: null,
    ...(name === 'unet' && MILESIAL.some(has) ? { implementation: 'milesial' } : {}),
    ...(monai ? { implementation: 'monai' } : {}),
    ...(places.channels === undefined ? {} : { inputChannels: places.channels }),
    ...(places.classes === undefined ? {} : { numClasses: places.classes }),
    ...commonArguments(call),
    options: { ...(name === 'u2netp' ? { small: true } : {}), ...optionArguments(call) },
  });
}

/** Channels and classes without a keyword; MONAI has the number of dimensions before them. */
function countsByPlace(call: PythonCall, name: string, monai: boolean): { channels?: number; classes?: number } {
  if (!/^u2?netp?$/.test(name) && !monai) return {};
  const first = monai && !call.keywords.has('spatial_dims') ? 1 : 0;
  const [channels, classes] = call.positional.slice(first, first + 2).map(countOf);
  return { ...(channels === undefined ? {} : { channels }), ...(classes === undefined ? {} : { classes }) };
}

function volumetric(call: PythonCall): MentionFields {
  return plainFields({ ...commonArguments(call), architecture: 'unet3d', backbone: null, options: {} });
}

const KNOWN = 1;
const UNKNOWN = 0.3;

type Said = Partial<MentionFields> & Pick<MentionFields, 'architecture' | 'backbone' | 'options'>;

function plainFields(said: Said): MentionFields {
  return { words: [], alternatives: [], confidence: KNOWN, ...said, form: 'constructor' };
}
