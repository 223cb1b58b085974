import type { Locale } from '../message.ts';

export interface GpuMention {
  /** Canonical card name as people say it ("A10", "RTX 3090", "V100"), absent when only memory was said. */
  readonly name?: string;
  readonly memoryGiB?: number;
  /** `ecs.gn7i-c16g1.4xlarge` */
  readonly instance?: string;
  /** `gn7i` */
  readonly family?: string;
  /** How many of them, where the cards of a list stand in different numbers ("2×A10 or 1×A100"). */
  readonly count?: number;
}

export interface Budget {
  readonly amount: number;
  readonly currency: 'CNY' | 'USD';
  readonly period?: 'hour' | 'day' | 'month' | 'total';
}

/** Slots as the dialog holds them; names as in the machine-readable output. Absent: not said. */
export interface Slots {
  readonly model?: string;
  readonly backbone?: string;
  /** Library, when the words decide it. */
  readonly implementation?: string;
  /** The name as pasted (config name, constructor, hub id), kept because it carries more than `model` and `backbone`. */
  readonly modelText?: string;
  readonly imageHeight?: number;
  readonly imageWidth?: number;
  readonly batchSize?: number;
  readonly batchScope?: 'per_gpu' | 'total';
  readonly gpus?: number;
  readonly gpu?: GpuMention | readonly GpuMention[];
  /** The person owns the card(s) named in `gpu`. */
  readonly owned?: boolean;
  /** Cards that are not wanted: names as people say them ("V100"). */
  readonly avoid?: readonly string[];
  readonly budget?: Budget;
  readonly precision?: 'fp32' | 'fp16' | 'bf16' | 'amp';
  readonly numClasses?: number;
  readonly inputChannels?: number;
  /** Width of a U-Net's first level (64 in the paper). */
  readonly baseChannels?: number;
  readonly optimizer?: 'sgd' | 'adam' | 'adamw';
  readonly region?: string;
  readonly chargeType?: 'PostPaid' | 'Spot' | 'PrePaid';
  readonly outputStride?: 8 | 16 | 32;
  readonly dataset?: string;
  readonly loss?: 'cross-entropy' | 'dice' | 'bce' | 'cross-entropy+dice' | 'dice+bce';
  readonly gradientCheckpointing?: boolean;
  readonly gradientAccumulation?: number;
  readonly frozenBackbone?: boolean;
  /** Batch norms frozen, or said to be trained. */
  readonly norm?: 'batch' | 'frozen';
  readonly auxiliaryHead?: boolean;
  readonly attention?: 'eager' | 'sdpa';
  readonly iterations?: number;
  readonly epochs?: number;
  readonly trainImages?: number;
  readonly deadlineHours?: number;
  readonly hoursPerMonth?: number;
}

export type SlotName = keyof Slots;

export type Intent =
  | 'size'
  | 'fits'
  | 'max_batch'
  | 'max_size'
  | 'compare'
  | 'price'
  | 'oom_report'
  | 'what_if'
  | 'translate'
  | 'measurement'
  | 'undo'
  | 'help'
  | 'reset'
  | 'greeting'
  | 'unknown';

export type ArtifactKind =
  | 'cuda_oom'
  | 'paddle_oom'
  | 'tensorflow_oom'
  | 'cudnn_error'
  | 'nvidia_smi'
  | 'training_log'
  | 'host_oom'
  | 'config'
  | 'code';

export type Diagnosis =
  | 'too_big'
  | 'fragmentation'
  | 'other_process'
  | 'single_allocation'
  | 'first_iteration'
  | 'validation'
  | 'host_memory'
  | 'leak';

/** What was pasted, with the figures found in it (sizes in GiB, 1024-based). */
export interface Artifact {
  readonly kind: ArtifactKind;
  readonly diagnosis: Diagnosis | null;
  readonly gpuIndex?: number;
  readonly triedGiB?: number;
  readonly totalGiB?: number;
  readonly allocatedGiB?: number;
  readonly freeGiB?: number;
  readonly reservedGiB?: number;
  readonly cachedGiB?: number;
  readonly processGiB?: number;
  readonly reservedUnallocatedGiB?: number;
  readonly gpus?: readonly {
    readonly index: number;
    readonly name?: string;
    readonly usedMiB?: number;
    readonly totalMiB?: number;
  }[];
}

/** Relative changes and clearings that no plain slot value can carry. */
export type SlotChange =
  | { readonly slot: 'batchSize' | 'imageSize' | 'gpus' | 'budget'; readonly multiply: number }
  | { readonly slot: 'imageSize'; readonly swap: true }
  | { readonly slot: SlotName; readonly clear: true };

/** A wrong fact stated by the person (advice.md): the id of the correction in `reply/messages`. */
export type BeliefId = string;

/** A mention that could be one of a few things: asked, never guessed. */
export interface Ambiguity {
  readonly slot: SlotName;
  readonly typed: string;
  readonly candidates: readonly { readonly label: string; readonly say: string }[];
}

/** Two values were left open: the one that is sized, and how to ask for the other. */
export interface Alternative {
  readonly taken: string;
  readonly other: string;
}

/** What one message says, read beside what is already held. Pure data. */
export interface Understanding {
  readonly locale: Locale;
  /** First that applies in the documented order, and all of them. */
  readonly intent: Intent;
  readonly intents: readonly Intent[];
  /** Slots said in this message only. */
  readonly slots: Slots;
  readonly changes: readonly SlotChange[];
  readonly artifact: Artifact | null;
  /** Why it failed, from the words or the pasted figures; set without an artifact too ("一验证就爆"). */
  readonly toldDiagnosis: Diagnosis | null;
  readonly ambiguities: readonly Ambiguity[];
  readonly beliefs: readonly BeliefId[];
  /** Topics outside the product ("inference", "llm", "3d", "detection", "other-cloud", "buying"). */
  readonly outOfScope: readonly string[];
  /** "不知道 / 随便 / default": take the default for what was asked. */
  readonly acceptsDefault: boolean;
  /** Label of the candidate that was taken because the person left the choice open. */
  readonly leftOpen: string | null;
  /** "a whole new request" in an old thread. */
  readonly startsAfresh: boolean;
  /** Measured figures told after an answer (`measurement` intent). */
  readonly measured: {
    readonly deviceGiB?: number;
    readonly allocatedGiB?: number;
    readonly secondsPerIteration?: number;
  } | null;
  /** Two things to compare (`compare` intent): names as typed. */
  readonly compare: readonly string[];
  /** Networks, as typed, that are to stand beside what is compared; empty where a card is. Null: nothing is added. */
  readonly added: readonly string[] | null;
  /** Model or backbone typed that is in no table, in lower case. */
  readonly unknownNames: readonly string[];
  /** A known network changed by its author ("flatten-swin-t"), as typed: sized as published. */
  readonly otherVersion: string | null;
  readonly alternatives: readonly Alternative[];
  /** For how long a price is asked: "一天多少钱". */
  readonly pricedHours: number | null;
  /** A follow-up command that a choice button stands for: details, order command, terraform, explain … */
  readonly command: string | null;
  /** The setup of others ("official: 8 GPUs × 2") that is to be translated to the person's own `gpus`. */
  readonly recipe: Pick<Slots, 'batchSize' | 'batchScope' | 'gpus'> | null;
  /** The total batch is to stay what it was before the number of GPUs was changed. */
  readonly keepsTotal: boolean;
}

/** What understanding may look at beside the text. */
export interface UnderstandingContext {
  readonly held: Slots;
  /** Slot that the bot asked for in its last turn. */
  readonly asked: SlotName | null;
  /** Whether an estimate was already answered in this conversation. */
  readonly answered: boolean;
  readonly lastIntent: Intent | null;
  readonly locale: Locale;
  /** What the bot asked to choose from in its last turn. */
  readonly choice?: Ambiguity;
  /** The bot named a default and asked whether it is all right: a yes takes it. */
  readonly offered?: boolean;
}
