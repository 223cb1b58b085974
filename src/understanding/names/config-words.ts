import type { MentionFields } from './mention.ts';
import type { NameVocabulary } from './vocabulary.ts';

type Recipe = Partial<MentionFields>;

/** Sizes that belong to pre-training, not to the run: `in22k-384x384-pre`, `pretrain_224x224_1K`. */
const PRETRAINING =
  /in2?1k[_-]\d+x\d+[_-]pre|in22k[_-]\d+x\d+[_-]pre|pretrain_\d+x\d+(?:_(?:1|22|21)k)?|in(?:1|21|22)k/g;
const BATCH = /(?<![0-9a-z])(\d{1,3})xb(\d{1,4})(?![0-9a-z])/;
/** Before MMSegmentation 1.0: GPUs × images per GPU. "64x64" is a size: nobody's recipe has 64 GPUs. */
const OLD_BATCH = /(?<![0-9a-z.])([1-9]|1[0-6])x(\d{1,2})(?![0-9a-z])/;
const SIZE = /(?<!\d)(\d{2,4})x(\d{2,4})(?!\d)/g;
/** detectron2 projects write the images per step over all GPUs. */
const TOTAL_BATCH = /_bs(\d{1,3})_\d+k/;
/** PaddleSeg: data set, then width × height (the reverse of MMSegmentation), then iterations. */
export const PADDLE =
  /_(?:cityscapes|ade20k|voc12aug|pascal_?voc12(?:aug)?|pascal_context|coco_?stuff|camvid)_\d{3,4}x\d{3,4}(?:_[\w.]{1,40})?_\d+k$/;
const ITERATIONS = /(?<![0-9a-z.])(\d{1,4})k(?![0-9a-z])/;
const MIN_SIDE = 32;

/** What the rest of an MMSegmentation config name says, in any of its three generations. `name` is in lower case. */
export function readConfigWords(name: string, vocabulary: NameVocabulary): Recipe {
  const text = name.replaceAll(PRETRAINING, '~');
  const dataset = findDataset(text, vocabulary);
  const iterations = ITERATIONS.exec(text)?.[1];
  return {
    ...readSize(text),
    ...readBatch(text),
    ...readPrecision(text),
    ...readTraining(text),
    ...dataset,
    ...(iterations === undefined ? {} : { iterations: Number(iterations) * 1000 }),
  };
}

function readSize(text: string): Recipe {
  for (const [, first, second] of text.matchAll(SIZE)) {
    const [height, width] = PADDLE.test(text) ? [second, first] : [first, second];
    const sides = { imageHeight: Number(height), imageWidth: Number(width) };
    if (sides.imageHeight >= MIN_SIDE && sides.imageWidth >= MIN_SIDE) return sides;
  }
  return {};
}

function readBatch(text: string): Recipe {
  const match = BATCH.exec(text) ?? OLD_BATCH.exec(text);
  const total = TOTAL_BATCH.exec(text)?.[1];
  if (total !== undefined) return { batchSize: Number(total), batchScope: 'total' };
  if (match === null) return {};
  const [gpus, batchSize] = [Number(match[1]), Number(match[2])];
  return gpus > 0 && batchSize > 0 ? { gpus, batchSize, batchScope: 'per_gpu' } : {};
}

function readPrecision(text: string): Recipe {
  if (/(?<![a-z0-9])(?:amp|fp16)(?![a-z0-9])/.test(text)) return { precision: 'amp' };
  return /(?<![a-z0-9])bf16(?![a-z0-9])/.test(text) ? { precision: 'bf16' } : {};
}

function readTraining(text: string): Recipe {
  const optimizer = /(?<![a-z])(adamw|adam|sgd)(?![a-z])/.exec(text)?.[1];
  const dice = /ce-[\d.]+-dice-[\d.]+|ce_dice|dice_ce/.test(text);
  return {
    ...(optimizer === 'adamw' || optimizer === 'adam' || optimizer === 'sgd' ? { optimizer } : {}),
    ...(dice ? { loss: 'cross-entropy+dice' } : {}),
  };
}

/** The data set that a name ends in, with its classes. */
export function findDataset(text: string, { datasets }: NameVocabulary): Recipe {
  const plain = text.replaceAll('_', '-');
  const found = datasets
    .filter(({ say }) => standsAlone(plain, say.replaceAll('_', '-')))
    .toSorted((one, other) => other.say.length - one.say.length)[0];
  if (found === undefined) return {};
  return {
    ...(found.dataset === null ? {} : { dataset: found.dataset }),
    ...(found.numClasses === null ? {} : { numClasses: found.numClasses }),
  };
}

function standsAlone(text: string, word: string): boolean {
  const at = text.indexOf(word);
  if (at < 0) return false;
  // "cityscapes512x1024" is one published spelling: a size may follow at once
  const after = text.slice(at + word.length, at + word.length + 9);
  return !/[a-z0-9]/.test(text[at - 1] ?? '') && (!/^[a-z0-9]/.test(after) || /^\d{3,4}x\d{3,4}/.test(after));
}
