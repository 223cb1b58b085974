import { implementationSchema } from '../../catalog/model-schema.ts';
import { builtInModels, type ModelSpec } from '../../catalog/models.ts';
import { type ModelDefaults, type Resolution, resolveModel } from '../../catalog/resolve-model.ts';
import { AppError } from '../errors.ts';
import { LeastRecent } from '../estimator/least-recent.ts';
import type { Implementation } from '../estimator/workload.ts';
import { parseModelName } from '../understanding/names/find-mentions.ts';
import type { ModelMention } from '../understanding/names/mention.ts';
import type { WorkloadFields } from './fields.ts';

export interface ModelName {
  /** As a person writes it: plain name, config name, constructor, hub id. */
  readonly model: string;
  readonly implementation?: string | null | undefined;
  readonly backbone?: string | null | undefined;
}

export interface NamedModel {
  readonly spec: ModelSpec;
  readonly defaults: ModelDefaults;
  /** What else the name says about the run. */
  readonly fields: WorkloadFields;
  readonly dataset: string | undefined;
  readonly alternatives: readonly ModelSpec[];
  readonly assumed: readonly string[];
}

/** Other ways to write a library. */
const LIBRARY_NAMES: Readonly<Record<string, Implementation>> = {
  mmsegmentation: 'mmseg',
  segmentation_models_pytorch: 'smp',
  'segmentation-models-pytorch': 'smp',
  hf: 'transformers',
  huggingface: 'transformers',
  mmdet: 'mmdetection',
};

/** Names kept: in a conversation every turn asks for the same one, and most people ask for the same few. */
const NAMES_KEPT = 500;
/** What people paste as a name can be long; nobody asks for that twice. */
const LONGEST_KEPT = 200;

function remembered<T extends object>(make: (name: ModelName) => T): (name: ModelName) => T {
  const known = new LeastRecent<string, T>(NAMES_KEPT);
  return (name) => {
    if (name.model.length > LONGEST_KEPT) return make(name);
    const key = JSON.stringify([name.model, name.implementation, name.backbone]);
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = make(name);
    known.set(key, made);
    return made;
  };
}

/**
 * One network out of a name.
 *
 * @throws AppError `unknown-model`, `unknown-backbone`, `unsupported-combination`, each with what is near.
 */
export const resolveNamed = remembered((name): NamedModel => {
  const mention = parseModelName(name.model);
  if (mention === undefined) throw unknownName(name.model);
  const implementation = libraryOf(name.implementation) ?? mention.implementation;
  const backbone = name.backbone == null ? {} : backboneOf(name.backbone);
  const resolution = resolveModel({ ...mention, ...backbone, implementation }, builtInModels());
  if (resolution.kind !== 'model') throw unresolved(resolution, name.model);
  const { spec, defaults, alternatives, assumed } = resolution;
  return { spec, defaults, alternatives, assumed, fields: fieldsOf(mention), dataset: mention.dataset };
});

/** The same name in the other libraries that have it. */
export const resolveElsewhere = remembered((name): readonly NamedModel[] =>
  resolveNamed(name).alternatives.flatMap(({ implementation }) => {
    try {
      return [resolveNamed({ ...name, implementation })];
    } catch (error) {
      if (error instanceof AppError && error.code !== 'internal') return [];
      throw error;
    }
  }),
);

/** The same network of the same library on another backbone; undefined where the library does not build it. */
export function variantOf({ implementation, architecture }: ModelSpec, backbone: string): ModelSpec | undefined {
  const resolution = resolveModel({ architecture, implementation, backbone }, builtInModels());
  return resolution.kind === 'model' ? resolution.spec : undefined;
}

function libraryOf(text: string | null | undefined): Implementation | undefined {
  if (text == null) return undefined;
  const name = text.trim().toLowerCase();
  const library = LIBRARY_NAMES[name] ?? implementationSchema.options.find((known) => known === name);
  if (library === undefined) {
    throw new AppError('unknown-model', `no library called ${name}`, {
      details: { name, nearest: implementationSchema.options },
    });
  }
  return library;
}

/** A backbone by any of its names, canonical and as the encoder of segmentation_models_pytorch. */
function backboneOf(text: string): { backbone: string; encoder?: string } {
  const { backbone, encoder } = parseModelName(text) ?? {};
  // a canonical name whose parts are names too ("r50-vit-b/16") stands for itself
  if (backbone !== text && builtInModels().rows.some(({ backbones }) => backbones.includes(text))) {
    return { backbone: text };
  }
  return encoder === undefined ? { backbone: backbone ?? text } : { backbone: backbone ?? text, encoder };
}

function fieldsOf(mention: ModelMention): WorkloadFields {
  const { precision } = mention;
  return {
    imageHeight: mention.imageHeight,
    imageWidth: mention.imageWidth,
    batchSize: mention.batchSize,
    numClasses: mention.numClasses,
    inputChannels: mention.inputChannels,
    baseChannels: mention.baseChannels,
    precision: precision === 'amp' ? 'fp16' : precision,
    optimizer: mention.optimizer,
    loss: mention.loss,
    attention: mention.attention,
    auxiliaryHead: mention.auxiliaryHead,
    outputStride: mention.outputStride,
  };
}

const SHOWN_CHARACTERS = 80;

function unknownName(typed: string): AppError {
  const name = typed.slice(0, SHOWN_CHARACTERS);
  return new AppError('unknown-model', `no network called ${name}`, { details: { name } });
}

function unresolved(resolution: Exclude<Resolution, { kind: 'model' }>, typed: string): AppError {
  if (resolution.kind === 'ambiguous') {
    const nearest = resolution.candidates.map(({ architecture, backbone }) =>
      [architecture, backbone].filter(Boolean).join(' '),
    );
    return new AppError('unknown-model', 'the name could be several networks', { details: { name: typed, nearest } });
  }
  const { what, name, nearby, reason, rule } = resolution;
  const details = { name: name === '' ? typed : name, nearest: nearby, ...(rule === undefined ? {} : { rule }) };
  switch (what) {
    case 'architecture':
      return new AppError('unknown-model', `no network called ${details.name}`, { details });
    case 'backbone':
      return new AppError('unknown-backbone', `no backbone for it: ${details.name}`, { details });
    case 'combination':
      return new AppError('unsupported-combination', reason ?? `${details.name} cannot be built`, { details });
  }
}
