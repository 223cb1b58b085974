import { builtInModels, type NameMeaning } from '../../../catalog/models.ts';
import { lookUp } from '../look-up.ts';
import { normalText } from './normal-text.ts';

export interface HeldModel {
  readonly model?: string | undefined;
  readonly backbone?: string | undefined;
}

interface Family {
  readonly template: string;
  /** Typed size → canonical size. */
  readonly sizes: ReadonlyMap<string, string>;
}

/** What may stand around a size in a message about nothing else: "换成L的呢", "what about the large one?". */
const AROUND =
  /换成|换|改成|改用|改|用|试试|试|那个|那|看看|再|就|的|呢|吗|吧|版本|版|型号|型|什么样|怎么样|what|how|about|try|use|switch|change|with|the|one|to|and|variant|version|model|size|instead|it|please|[^a-z0-9]/g;
/** Sizes that nothing else in such messages looks like. */
const UNMISTAKABLE = /^[bw]\d+$/;

/**
 * A backbone from a size without its family, read beside what is held: "b3 呢" after SegFormer, "换成L的" after SegNeXt,
 * "w48" after HRNet. Undefined where the text names no size of the held family.
 */
export function refineVariant(text: string, held: HeldModel): string | undefined {
  const family = familyOf(held);
  if (family === undefined) return undefined;
  const message = normalText(text).text;
  const alone = message.replaceAll(AROUND, ' ').trim();
  for (const [typed, size] of family.sizes) {
    const said = alone === typed || (UNMISTAKABLE.test(typed) && standsAlone(message, typed));
    if (said) return family.template.replace('{v}', size);
  }
  return undefined;
}

function familyOf({ model, backbone }: HeldModel): Family | undefined {
  const known = backbone ?? defaultBackbone(model);
  if (known === undefined) return undefined;
  const plain = known.replace(/\/(?:8|14|16|32)$/, '');
  const sizes = new Map<string, string>();
  let template: string | undefined;
  for (const { is, v } of builtInModels().aliases.names) {
    if (v === undefined || !expands(is, Object.keys(v), plain)) continue;
    template ??= is.backbone;
    if (is.backbone !== template) continue;
    for (const [size, typed] of Object.entries(v)) {
      for (const way of typed) sizes.set(/^\d$/.test(way) ? `b${way}` : way, size);
    }
  }
  return template === undefined ? undefined : { template, sizes };
}

function expands({ backbone }: NameMeaning, sizes: readonly string[], known: string): boolean {
  return backbone?.includes('{v}') === true && sizes.some((size) => backbone.replace('{v}', size) === known);
}

function defaultBackbone(model: string | undefined): string | undefined {
  const row = builtInModels().rows.find(({ architecture, rank }) => architecture === model && rank === 0);
  return row?.defaultBackbone ?? undefined;
}

function standsAlone(message: string, typed: string): boolean {
  const at = message.indexOf(typed);
  if (at < 0) return false;
  const before = message[at - 1] ?? ' ';
  const after = message[at + typed.length] ?? ' ';
  return !/[a-z0-9.]/.test(before) && !/[a-z0-9.]/.test(after);
}

/** Families whose sizes are said without their name ("segformer b2", "unet++ b3"). */
const VARIANT_FAMILIES: Readonly<Record<string, string>> = {
  segformer: 'mit-',
  unet: 'efficientnet-',
  unetplusplus: 'efficientnet-',
  manet: 'efficientnet-',
  linknet: 'efficientnet-',
  deeplabv3: 'efficientnet-',
  deeplabv3plus: 'efficientnet-',
  fpn: 'efficientnet-',
};

/** "b5" said first, its family afterwards. */
export function completeVariant(variant: string, model: string): string | undefined {
  const family = lookUp(VARIANT_FAMILIES, model);
  return family === undefined ? undefined : `${family}${variant}`;
}
