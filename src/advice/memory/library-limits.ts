import type { Implementation, Workload } from '../../estimator/workload.ts';

/** Where fused attention is one argument away: `attn_implementation="sdpa"`. MMSegmentation 1.2.2 is eager everywhere (physics.md §6). */
const FUSED_ATTENTION: ReadonlySet<Implementation> = new Set(['transformers']);

/**
 * Libraries with a switch for checkpointing: `with_cp` (OpenMMLab), `gradient_checkpointing_enable()`, `use_checkpointing()`
 * (milesial). smp 0.6.0, torchvision 0.28, ultralytics 8.4.190 and detectron2 have none (package sources, 2026-11-30).
 */
const CHECKPOINTING: ReadonlySet<Implementation> = new Set(['mmseg', 'mmdetection', 'transformers', 'milesial']);

/**
 * Heads with a globally pooled branch through BatchNorm: with one image it sees one value per channel and raises
 * (truth/libraries.md; heads of mmseg 1.2.2).
 */
const POOLED_BATCH_NORM =
  /^(deeplabv3|deeplabv3plus|pspnet|upernet|pan|psanet|icnet|apcnet|dmnet|bisenetv1|bisenetv2|stdc|ddrnet|pidnet|fastscnn|fast-scnn|encnet|ppliteseg|pp-liteseg|autodeeplab|panoptic-deeplab|beit|data2vec)$/;
/** Split attention normalises its globally pooled gates in every block. */
const POOLED_BACKBONE = /resnest/;

/** Smallest micro-batch that trains at all. */
export function smallestBatch(workload: Workload): number {
  const { norm, model } = workload;
  const usesBatchNorm = norm === null || norm === 'batch';
  const pooled = POOLED_BATCH_NORM.test(model.architecture) || POOLED_BACKBONE.test(model.backbone ?? '');
  return usesBatchNorm && pooled ? 2 : 1;
}

export const canFuseAttention = (workload: Workload): boolean => FUSED_ATTENTION.has(workload.model.implementation);
export const canCheckpoint = (workload: Workload): boolean => CHECKPOINTING.has(workload.model.implementation);
