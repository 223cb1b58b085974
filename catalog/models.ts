import type { Implementation, ModelSpec, OptionValue } from '../src/estimator/workload.ts';
import aliasesJson from './aliases.json' with { type: 'json' };
import {
  type AliasesFile,
  aliasesFileSchema,
  type ModelRow,
  type ModelsFile,
  modelsFileSchema,
  type NameMeaning,
  type Recipe,
} from './model-schema.ts';
import modelsJson from './models.json' with { type: 'json' };

export type { AliasesFile, Implementation, ModelRow, ModelSpec, NameMeaning, OptionValue, Recipe };

/*
 * The vocabulary of `ModelSpec`, which networks are built from. `options` holds only what differs from the row's own
 * `options` in models.json (the library's defaults), so two specs of one network are equal.
 *
 * mmseg         architecture  ann apcnet bisenetv1 bisenetv2 ccnet cgnet danet ddrnet deeplabv3 deeplabv3plus dmnet
 *                             dnlnet dpt emanet encnet erfnet fast-scnn fastfcn fcn gcnet icnet isanet knet lraspp
 *                             mask2former maskformer nonlocal ocrnet pidnet pointrend psanet pspnet segformer
 *                             segmenter segnext semantic-fpn setr stdc unet upernet
 *               backbone      resnet18|34|50|101|152, resnest50|101|200, mobilenet-v2, mobilenet-v3-large|small,
 *                             hrnet-w18-small|w18|w32|w40|w48|w64, mit-b0…b5, swin-t|s|b|l, convnext-t|s|b|l|xl,
 *                             vit-t|s|b|l/16, deit-t|s|b/16, beit-b|l, twins-pcpvt-s|b|l, twins-svt-s|b|l,
 *                             poolformer-s12|s24|s36|m36|m48, mscan-t|s|b|l, stdc1|2, pidnet-s|m|l, ddrnet-23[-slim],
 *                             unet-s5-d16; null for bisenetv2, cgnet, erfnet, fast-scnn
 *               options       stem 'v1c' | 'v1' (r50b, rsb) | 'v1s' (128 stem channels); outputStride 8|16|32;
 *                             multiGrid [1,2,4]; dilation 6 (fcn-d6); window 7|12 (Swin); neck 'mln' and finalNorm
 *                             (ViT-UPerNet); pretraining 'mae'; maskSize 97|66 (PSANet); numQueries;
 *                             head: setr naive|pup|mla, segmenter mask|fcn|linear, knet upernet|fcn|pspnet|deeplabv3,
 *                             unet fcn|pspnet|deeplabv3, fastfcn psp|aspp|enc; auxiliaryConvs 2 (SETR naive, ADE20K)
 * smp           architecture  unet unetplusplus manet linknet fpn pspnet deeplabv3 deeplabv3plus pan upernet segformer dpt
 *               backbone      the encoder verbatim: resnet34, efficientnet-b3, tu-convnext_tiny, mit_b0 …
 *               options       constructor arguments in camelCase: encoderDepth, decoderChannels, decoderAttentionType …
 * torchvision   architecture  fcn deeplabv3 lraspp maskrcnn; backbone resnet50 resnet101 mobilenet-v3-large
 *               options       auxiliaryHead; maskrcnn: version 'v1'|'v2', pretrained, pretrainedBackbone,
 *                             trainableBackboneLayers, minSize, maxSize
 * transformers  architecture  segformer upernet mask2former maskformer oneformer beit data2vec dpt mobilenet-v2
 *                             mobilevit mobilevitv2 eomt sam
 *               options       imageSize (where parameters depend on it), window, outputStride, numQueries,
 *                             decoderHiddenSize, depthMultiplier
 * detectron2, mmdetection     maskrcnn mask2former maskformer panoptic-fpn pointrend semantic-fpn
 * ultralytics   yolov8n-seg yolov8s-seg … yolov8x-seg, yolo11n-seg … yolo11x-seg; no separate backbone
 * milesial      unet          options.bilinear; base channels and norm are fields of the workload
 * original      unet (options.padded false: the paper's 572 → 388), transunet (r50-vit-b/16), swin-unet
 */

/** Parsed, cross-checked and frozen catalogue of networks and their names. */
export interface ModelCatalog {
  readonly rows: readonly ModelRow[];
  readonly recipes: readonly Recipe[];
  readonly refused: ModelsFile['refused'];
  readonly nearest: Readonly<Record<string, string>>;
  readonly libraryNames: ModelsFile['libraryNames'];
  /** Row → its backbones with groups written out. */
  readonly backbonesOf: ReadonlyMap<ModelRow, readonly string[]>;
  readonly aliases: AliasesFile;
}

let builtIn: ModelCatalog | undefined;

/** The catalogue that ships with the program. */
export function builtInModels(): ModelCatalog {
  builtIn ??= parseModels(modelsJson, aliasesJson);
  return builtIn;
}

/** @throws ZodError, or Error with the row at fault, when a file does not hold together. */
export function parseModels(models: unknown, aliases: unknown): ModelCatalog {
  const file = modelsFileSchema.parse(models);
  const names = aliasesFileSchema.parse(aliases);
  const backbonesOf = new Map<ModelRow, readonly string[]>();
  for (const row of file.rows) backbonesOf.set(row, writtenOut(row, file.backbones));
  const catalog: ModelCatalog = {
    rows: file.rows,
    recipes: file.recipes,
    refused: file.refused,
    nearest: table(file.nearest),
    libraryNames: table(
      Object.fromEntries(Object.entries(file.libraryNames).map(([library, names]) => [library, table(names)])),
    ),
    backbonesOf,
    aliases: names,
  };
  checkRows(catalog);
  return catalog;
}

/** Looked up by what people type: "constructor" must find nothing. */
function table<Value>(rows: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.assign(Object.create(null), rows);
}

function writtenOut(row: ModelRow, groups: ModelsFile['backbones']): readonly string[] {
  return row.backbones.flatMap((name) => groups[name] ?? [name]);
}

function checkRows(catalog: ModelCatalog): void {
  const seen = new Set<string>();
  for (const row of catalog.rows) {
    const id = `${row.implementation}/${row.architecture}`;
    if (seen.has(id)) throw new Error(`models.json: ${id} twice`);
    seen.add(id);
    if (row.defaultBackbone !== null && !matchesAny(row.defaultBackbone, catalog.backbonesOf.get(row) ?? [])) {
      throw new Error(`models.json: ${id} lacks its default backbone`);
    }
  }
  for (const [name, target] of Object.entries(catalog.nearest)) {
    if (!catalog.rows.some(({ architecture }) => architecture === target)) {
      throw new Error(`models.json: nearest of ${name} has no row`);
    }
  }
}

/** Whether one of the patterns is the name; a trailing `*` matches any ending. */
export function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
}
