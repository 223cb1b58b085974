import type { Implementation, OptionValue } from '../../../catalog/models.ts';

/** A network as somebody wrote it, with everything else that the name carries. Absent: the words do not say. */
export interface ModelMention {
  /** Canonical slot name (`deeplabv3plus`); in lower case as typed where no table has it; null when only a backbone was said. */
  readonly architecture: string | null;
  readonly backbone: string | null;
  /** Library, only when the words decide it. */
  readonly implementation?: Implementation;
  /** A size without its family ("b5"): see `refineVariant`. */
  readonly variant?: string;
  /** The encoder as segmentation_models_pytorch spells it. */
  readonly encoder?: string;
  /** A hub id, as written. */
  readonly checkpoint?: string;
  /** Built from a configuration class (`DPTConfig(…)`): the library's own default sizes. */
  readonly configured?: boolean;
  /** In camelCase, only those that the words state. */
  readonly options: Readonly<Record<string, OptionValue>>;
  /** Lower-case words of a config name or hub id, which recipes are recognised by. */
  readonly words: readonly string[];
  readonly imageHeight?: number;
  readonly imageWidth?: number;
  readonly batchSize?: number;
  readonly batchScope?: 'per_gpu' | 'total';
  readonly gpus?: number;
  readonly numClasses?: number;
  readonly inputChannels?: number;
  /** First width of a U-Net. */
  readonly baseChannels?: number;
  readonly precision?: 'fp32' | 'fp16' | 'bf16' | 'amp';
  readonly optimizer?: 'sgd' | 'adam' | 'adamw';
  /** Id in catalog/datasets.json. */
  readonly dataset?: string;
  readonly attention?: 'eager' | 'sdpa';
  readonly iterations?: number;
  readonly loss?: 'cross-entropy' | 'dice' | 'bce' | 'cross-entropy+dice' | 'dice+bce';
  readonly outputStride?: 8 | 16 | 32;
  readonly auxiliaryHead?: boolean;
  /** The name as typed, where it is a known one changed: `otherVersion`. */
  readonly changed?: string;
  /** The text as typed, and where it stands: [start, end) in UTF-16 units. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** What kind of name it was: a recipe carries more than a plain name. */
  readonly form: 'config' | 'constructor' | 'hub' | 'plain';
  /** 1: spelled as in a table; 0.8: letters were forgiven; 0.6: a backbone's family without its size, the usual one taken; 0.5: several things may be meant; 0.3: in no table. */
  readonly confidence: number;
  /** Canonical names of what else may be meant, best first. */
  readonly alternatives: readonly string[];
}

export type MentionFields = Omit<ModelMention, 'text' | 'start' | 'end'>;
