import { builtInModels, type Implementation, type ModelCatalog } from '../../../catalog/models.ts';
import { type Resolution, resolveModel } from '../../../catalog/resolve-model.ts';
import { canonicalName } from './canonical-name.ts';
import { parseModelName } from './find-mentions.ts';
import type { ModelMention } from './mention.ts';

/** Said beside the name; wins over what the name says. */
export interface NameFields {
  readonly implementation?: Implementation | undefined;
  readonly backbone?: string | undefined;
}

export interface ReadName {
  /** What the name itself carries (size, batch, classes …); undefined where nothing was recognised. */
  readonly mention: ModelMention | undefined;
  readonly resolution: Resolution;
}

/** The network that `model`, `implementation` and `backbone` of one estimate line mean. */
export function readModelName(
  text: string,
  fields: NameFields = {},
  catalog: ModelCatalog = builtInModels(),
): ReadName {
  const mention = parseModelName(text);
  const backbone = fields.backbone === undefined ? undefined : canonicalBackbone(fields.backbone);
  if (mention === undefined) return { mention, resolution: unknownName(text) };
  const { encoder: _encoder, ...withoutEncoder } = mention;
  const query = {
    ...(backbone === undefined ? mention : { ...withoutEncoder, backbone, encoder: fields.backbone }),
    ...(fields.implementation === undefined ? {} : { implementation: fields.implementation }),
  };
  return { mention, resolution: resolveModel(query, catalog) };
}

function canonicalBackbone(text: string): string {
  return canonicalName(text)?.backbone ?? text.trim().toLowerCase();
}

function unknownName(text: string): Resolution {
  const name = text.trim().toLowerCase().slice(0, 80);
  return { kind: 'unknown', what: 'architecture', name, nearby: [], reason: null };
}
