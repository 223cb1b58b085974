import type { Workload } from './workload.ts';

/** How far the allocated peak may be off, and why. */
export interface Uncertainty {
  /** Relative, of the allocated peak. */
  readonly relative: number;
  /** Why it is as wide as it is; plain English for scripts and logs. */
  readonly reason: string;
}

/*
 * Widths come from the rows that were checked (docs/estimator.md): 111 measured trainings of MMSegmentation, fp32 within
 * 1–2 %, networks of small maps up to 14 % off, 16-bit ConvNeXt 6 % low; everything else agrees with traces only, which
 * leave out cuDNN's choice of algorithm.
 */
const MEASURED: Uncertainty = { relative: 0.03, reason: 'traced to the byte and within 2 % of measured trainings' };
const TRACED: Uncertainty = { relative: 0.04, reason: 'traced to the byte; no measured training of this library' };
const HALF: Uncertainty = {
  relative: 0.06,
  reason: 'few measured 16-bit trainings; cuDNN workspaces are not modelled',
};
const DATA_DEPENDENT: Uncertainty = { relative: 0.06, reason: 'memory depends on the objects in the images' };
/** Ten masks an object are trained at once: trainings on crowded pictures run out of memory there (ultralytics #17961, #10107). */
const FULLEST_BATCH: Uncertainty = {
  relative: 0.15,
  reason: 'the batch with most objects decides, and no training of this library was measured',
};
const STRUCTURE: Uncertainty = {
  relative: 0.08,
  reason: 'built from the published structure; neither traced nor measured',
};
const SMALL: Uncertainty = {
  relative: 0.14,
  reason: 'small maps: fixed workspaces of the convolution library weigh more',
};

/** `cudnn.benchmark` and `torch.compile` are both on (nnunetv2 2.8.1: run_training.py, nnUNetTrainer._do_i_compile). */
const TUNED: Uncertainty = {
  relative: 0.2,
  reason: 'nnU-Net lets cuDNN try algorithms and compiles the network by default; neither is modelled',
};

/** Below this allocated peak fixed costs dominate: the measured 64² and 128² U-Nets (0.7–1.0 GB) were 3–14 % low. */
const SMALL_BYTES = 1.25 * 2 ** 30;

/** Libraries that were not traced: no installable package at the time (2026-11). */
const UNTRACED: ReadonlySet<Workload['model']['implementation']> = new Set(['detectron2', 'mmdetection']);

const PER_OBJECT: ReadonlySet<string> = new Set([
  'maskrcnn',
  'mask2former',
  'maskformer',
  'oneformer',
  'eomt',
  'panoptic-fpn',
  'knet',
]);

/** Every cause that applies; the widest one counts. */
export function uncertaintyOf(w: Workload, allocatedPeak: number): Uncertainty {
  const causes = [w.model.implementation === 'mmseg' ? MEASURED : TRACED];
  if (w.precision !== 'fp32') causes.push(HALF);
  if (PER_OBJECT.has(w.model.architecture)) causes.push(DATA_DEPENDENT);
  if (w.model.implementation === 'ultralytics') causes.push(FULLEST_BATCH);
  if (UNTRACED.has(w.model.implementation)) causes.push(STRUCTURE);
  if (w.model.architecture === 'nnunet') causes.push(TUNED);
  if (allocatedPeak < SMALL_BYTES) causes.push(SMALL);
  return causes.reduce((widest, cause) => (cause.relative > widest.relative ? cause : widest));
}
