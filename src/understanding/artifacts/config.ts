import { lookUp } from '../look-up.ts';
import { matchesOf } from '../matches.ts';
import type { Slots } from '../understanding.ts';

/** Decode heads by the class names of MMSegmentation 1.2.2 (mmseg/models/decode_heads) and PaddleSeg 2.10 (paddleseg/models), lower case. */
const HEADS: Readonly<Record<string, string>> = {
  psphead: 'pspnet',
  aspphead: 'deeplabv3',
  depthwiseseparableaspphead: 'deeplabv3plus',
  fcnhead: 'fcn',
  uperhead: 'upernet',
  segformerhead: 'segformer',
  ocrhead: 'ocrnet',
  nlhead: 'nonlocal',
  dahead: 'danet',
  cchead: 'ccnet',
  gchead: 'gcnet',
  annhead: 'ann',
  apchead: 'apcnet',
  dnlhead: 'dnlnet',
  dmhead: 'dmnet',
  enchead: 'encnet',
  emahead: 'emanet',
  isahead: 'isanet',
  psahead: 'psanet',
  fpnhead: 'semantic-fpn',
  pointhead: 'pointrend',
  lraspphead: 'lraspp',
  setruphead: 'setr',
  setrmlahead: 'setr',
  dpthead: 'dpt',
  stdchead: 'stdc',
  segmentermasktransformerhead: 'segmenter',
  iterativedecodehead: 'knet',
  mask2formerhead: 'mask2former',
  maskformerhead: 'maskformer',
  lighthamhead: 'segnext',
  ddrhead: 'ddrnet',
  pidhead: 'pidnet',
  ppliteseg: 'pp-liteseg',
  deeplabv3p: 'deeplabv3plus',
  maskrcnn: 'maskrcnn',
  panopticfpn: 'panoptic-fpn',
};

/** An auxiliary head is no second model, and an FCN head beside another one is auxiliary. */
function headOf(text: string): string | undefined {
  if (/mask_on: ?true|mask_rcnn|maskrcnn/.test(text) && /roi_heads|resnets:|rcnn/.test(text)) return 'maskrcnn';
  // detectron2's project for Mask2Former keeps the name of its predecessor
  if (text.includes('multiscalemaskedtransformerdecoder')) return 'mask2former';
  const main = text.replace(/auxiliary_head\s*=?[\s\S]{0,400}/, '');
  const heads = Array.from(main.matchAll(/type\s*[=:]\s*["']?([a-z0-9]+)/g), (match) =>
    lookUp(HEADS, match[1] ?? ''),
  ).filter((head) => head !== undefined);
  return heads.find((head) => head !== 'fcn') ?? heads[0];
}

const MIT_BY_LAYERS: Readonly<Record<string, string>> = {
  '2,2,2,2': 'mit-b1',
  '3,4,6,3': 'mit-b2',
  '3,4,18,3': 'mit-b3',
  '3,8,27,3': 'mit-b4',
  '3,6,40,3': 'mit-b5',
};
const SWIN_BY_WIDTH: Readonly<Record<string, string>> = { '96': 'swin-t', '128': 'swin-b', '192': 'swin-l' };

function numbersOf(text: string, key: string): string | undefined {
  const list = new RegExp(`\\b${key}\\s*[=:]\\s*[\\[(]([\\d,\\s]{1,40})[\\])]`).exec(text)?.[1];
  return list?.replace(/\s/g, '').replace(/,$/, '');
}

function numberOf(text: string, key: string): string | undefined {
  return new RegExp(`\\b${key}\\s*[=:]\\s*["']?(\\d{1,4})`).exec(text)?.[1];
}

/** The backbone that a `type` and its arguments spell out. */
function backboneOf(text: string): string | undefined {
  const type = /backbone\s*[=:]\s*(?:dict\()?[\s\S]{0,60}?type\s*[=:]\s*["']?([a-z0-9_]+)/.exec(text)?.[1];
  if (type === undefined) return /swin/.test(text) ? swinOf(text) : depthOf(text);
  if (/^resnetv?1?[cd]?$/.test(type)) return ifDefined(numberOf(text, 'depth'), (depth) => `resnet${depth}`);
  if (type === 'mixvisiontransformer') {
    const layers = numbersOf(text, 'num_layers');
    return numberOf(text, 'embed_dims') === '32'
      ? 'mit-b0'
      : layers === undefined
        ? undefined
        : lookUp(MIT_BY_LAYERS, layers);
  }
  if (type === 'swintransformer') return swinOf(text);
  if (type === 'hrnet') return hrnetOf(text);
  return type
    .replace(/_vd$/, '')
    .replace(/_/g, '-')
    .replace(/^mixvisiontransformer-/, 'mit-')
    .replace(/^swintransformer-/, 'swin-');
}

function swinOf(text: string): string | undefined {
  const width = lookUp(SWIN_BY_WIDTH, numberOf(text, 'embed_dims') ?? '');
  return width === 'swin-t' && numbersOf(text, 'depths') === '2,2,18,2' ? 'swin-s' : width;
}

/** detectron2: `RESNETS: DEPTH: 101`. */
function depthOf(text: string): string | undefined {
  return ifDefined(/resnets:\s+depth: ?(\d{2,3})/.exec(text)?.[1], (depth) => `resnet${depth}`);
}

function hrnetOf(text: string): string | undefined {
  const width = /num_channels\s*=\s*\((\d{2}),\s*\d/.exec(text)?.[1];
  return width === undefined ? undefined : `hrnet-w${width}`;
}

function ifDefined<T, R>(value: T | undefined, then: (value: T) => R): R | undefined {
  return value === undefined ? undefined : then(value);
}

/** Stem stride 4 times the stages' strides. */
function strideOf(text: string): Slots['outputStride'] | undefined {
  const strides = numbersOf(text, 'strides')?.split(',').map(Number);
  const product = strides?.reduce((all, stride) => all * stride, 4);
  return product === 8 || product === 16 || product === 32 ? product : undefined;
}

const PYTHON_CONFIG = /\bdict\(|\bmodel\s*=\s*dict|_base_\s*=|\btype\s*=\s*["']/;
/** A key and its value; a value of several words is what somebody says ("A: which card …"). */
const YAML_LINE = /^[ \t]*-?[ \t]*[a-z_][a-z0-9_.]*:(?:[ \t]+(?![^\n#]*[a-z]{2,} [a-z]{2,} [a-z]{2,})\S[^\n]*)?$/gm;
const CODE =
  /\bimport torch\b|\bfrom_pretrained\(|\btorchrun\b|\bpython3? [\w./-]+\.py|\bmodel\s*=\s*[\w.]+\(|\bdataloader\(|\btrainingarguments\(|\bsmp\.[a-z]|\bmodels\.segmentation\.|\bdeepspeed\b|\baccelerate launch|\byolo (?:task=)?(?:segment )?(?:mode=)?train\b/;

/** Whether the message carries a configuration or program text. */
export function codeKind(text: string): 'config' | 'code' | null {
  if (PYTHON_CONFIG.test(text) || matchesOf(YAML_LINE, text).length >= 2) return 'config';
  return CODE.test(text) ? 'code' : null;
}

export interface ConfigReading {
  readonly slots: Slots;
  /** In these files a batch size without a scope is one GPU's. */
  readonly batchIsPerGpu: boolean;
  /** Ultralytics splits its batch over the devices. */
  readonly batchIsTotal: boolean;
  /** PaddleSeg writes width before height. */
  readonly widthFirst: boolean;
}

/** Each process of a launcher gets the batch that its command line names. */
const LAUNCHER = /\btorchrun\b|torch\.distributed|nproc_per_node|\baccelerate launch/;
const ULTRALYTICS = /\bultralytics\b|\byolo (?:task=|segment|train)|\byolo\(/;
const PADDLE = /paddle|randompaddingcrop|resizestepscaling|pp_?liteseg|train_dataset:/;

/** What a configuration says by class names and nested arguments; plain keys are read by the slots' own rules. */
export function readConfig(text: string): ConfigReading {
  const model = headOf(text);
  const backbone = backboneOf(text);
  const outputStride = strideOf(text);
  const paddle = PADDLE.test(text);
  return {
    slots: {
      ...(model === undefined ? {} : { model }),
      ...(backbone === undefined ? {} : { backbone }),
      ...(outputStride === undefined ? {} : { outputStride }),
    },
    batchIsPerGpu: paddle || PYTHON_CONFIG.test(text) || LAUNCHER.test(text),
    batchIsTotal: ULTRALYTICS.test(text),
    widthFirst: paddle,
  };
}
