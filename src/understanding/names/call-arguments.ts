import type { OptionValue } from '../../../catalog/models.ts';
import type { MentionFields } from './mention.ts';
import type { PythonCall, PythonValue } from './python-call.ts';

type Fields = Partial<MentionFields>;

const CLASSES = ['classes', 'num_classes', 'n_classes', 'num_labels', 'nclass', 'n_class', 'out_channels'];
const CHANNELS = ['in_channels', 'n_channels', 'num_channels', 'in_ch', 'in_chans'];
/** First width of a U-Net, as its repositories call it. */
const WIDTHS = [
  'base_channels',
  'base_c',
  'init_features',
  'base_filters',
  'start_filters',
  'features_start',
  'base_ch',
];
const SIDES = ['image_size', 'img_size', 'input_size', 'crop_size'];
/** Keywords that name weights, labels or devices: nothing that memory depends on. */
const IGNORED =
  /weights$|^(?:encoder_name|arch|pretrained|progress|id2label|label2id|ignore_mismatched_sizes|config|activation|aux_params|device|torch_dtype|cache_dir|revision|source|trust_repo|force_reload|verbose|attn_implementation|auxiliary|aux_loss|use_auxiliary_head|return_dict|token)$/;

/** Argument by keyword, else by place. */
export function argument(call: PythonCall, names: readonly string[], place?: number): PythonValue | undefined {
  const keyword = names.map((name) => call.keywords.get(name)).find((value) => value !== undefined);
  return keyword ?? (place === undefined ? undefined : call.positional[place]);
}

export function textOf(value: PythonValue | undefined): string | undefined {
  return value?.kind === 'literal' && typeof value.value === 'string' ? value.value : undefined;
}

export function countOf(value: PythonValue | undefined): number | undefined {
  if (value?.kind !== 'literal' || typeof value.value !== 'number') return undefined;
  return Number.isInteger(value.value) && value.value > 0 ? value.value : undefined;
}

/** Like `countOf`, and what is none stays as it is: whoever sizes it says what is possible. */
function statedCount(value: PythonValue | undefined): number | undefined {
  return value?.kind === 'literal' && typeof value.value === 'number' ? value.value : undefined;
}

/** What any constructor's keywords say of the run, whatever the library calls them. */
export function commonArguments(call: PythonCall): Fields {
  const numClasses = statedCount(argument(call, CLASSES));
  const inputChannels = statedCount(argument(call, CHANNELS));
  const baseChannels = countOf(argument(call, WIDTHS));
  const attention = textOf(call.keywords.get('attn_implementation'));
  const auxiliary = argument(call, ['aux_loss', 'use_auxiliary_head']);
  return {
    ...(numClasses === undefined ? {} : { numClasses }),
    ...(inputChannels === undefined ? {} : { inputChannels }),
    ...(baseChannels === undefined ? {} : { baseChannels }),
    ...sidesOf(argument(call, SIDES)),
    ...(attention === 'eager' || attention === 'sdpa' ? { attention } : {}),
    ...(auxiliary?.kind === 'literal' && typeof auxiliary.value === 'boolean'
      ? { auxiliaryHead: auxiliary.value }
      : {}),
  };
}

function sidesOf(value: PythonValue | undefined): Fields {
  if (value?.kind !== 'literal') return {};
  const sides = Array.isArray(value.value) ? value.value : [value.value, value.value];
  const [height, width] = sides;
  if (!isSide(height) || !isSide(width)) return {};
  return { imageHeight: height, imageWidth: width };
}

function isSide(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 16 && value <= 16384;
}

/** All other keywords as options in camelCase; the catalogue row decides which of them tell variants apart. */
export function optionArguments(call: PythonCall): Readonly<Record<string, OptionValue>> {
  const options: Record<string, OptionValue> = {};
  for (const [name, value] of call.keywords) {
    if (value.kind !== 'literal' || IGNORED.test(name) || CLASSES.includes(name) || CHANNELS.includes(name)) continue;
    options[camelCase(SIDES.includes(name) ? 'image_size' : name)] = value.value;
  }
  return options;
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
