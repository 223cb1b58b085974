import type { DeviationReason } from '../../advice/measurement.ts';

/** Figures as the advice hands them over; numbers are rounded for reading before they come here. */
export type Values = Readonly<Record<string, string>>;
export type Sentence = (values: Values) => string;

/** What each tip says; its saving and its effect on time stand behind it. */
const tips = {
  amp: ({ precision }: Values) => `Mixed precision ${precision ?? 'fp16'}`,
  sdpa: () => 'Fused attention (SDPA)',
  checkpointing: () => 'Gradient checkpointing',
  accumulation: ({ microBatch, steps, batchNorm }: Values) =>
    `Micro-batch ${microBatch} × ${steps} accumulation steps${batchNorm === 'no' ? '' : `; BatchNorm then sees only ${microBatch}`}`,
  'output-stride': () => 'Output stride 16 instead of 8, slightly coarser edges',
  'smaller-crop': ({ imageHeight, imageWidth }: Values) => `Crop ${imageHeight}×${imageWidth}`,
  'frozen-backbone': () => 'Freeze the backbone, fine-tune the head only',
  'auxiliary-head': () => 'Drop the auxiliary head',
  'lighter-variant': ({ to, metric, accuracyFrom, accuracyTo, dataset }: Values) =>
    `${to}: published ${metric} ${accuracyTo} instead of ${accuracyFrom} on ${dataset}`,
  'low-resolution-loss': ({ classes }: Values) =>
    `Compute the loss on logits at 1/4 size (${classes} classes make them large)`,
  'set-to-none': () => 'zero_grad(set_to_none=True)',
  'fused-optimizer': () => 'Fused optimizer (fused=True), fewer temporaries in the step',
  'expandable-segments': ({ reservedGiB, afterGiB }: Values) =>
    `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: reserved ${reservedGiB} → ${afterGiB} GiB`,
  'sliding-validation': ({ wholeGiB, slidingGiB }: Values) =>
    `Validate with sliding windows: ${wholeGiB} → ${slidingGiB} GiB, otherwise validation needs more than training`,
  'channels-last': () => 'channels_last under AMP',
  workers: ({ workers, vcpuPerGpu }: Values) =>
    `num_workers=${workers} per process (${vcpuPerGpu} vCPU per GPU), persistent_workers=True, pin_memory=True`,
  dali: () => 'DALI for decoding and augmenting large JPEG input',
  'local-cache': ({ diskGB }: Values) => `${diskGB} GB of data: NAS or OSS (ossfs) with a local cache`,
  spot: () => 'Spot costs less but can be reclaimed: save checkpoints to a disk that stays',
  'spot-checkpoints': () => 'Spot: save checkpoints to a disk that stays; warning comes 5 minutes before',
  release: () => 'Release the machine after the run (AutoReleaseTime); a stopped one may still cost',
  subscription: ({ thresholdHours }: Values) =>
    `Subscription pays from ${thresholdHours} h a month, below that pay-as-you-go is cheaper`,
  'pai-dlc': ({ hours }: Values) => `Long run (about ${hours} h): PAI-DLC resumes by itself after a failure`,
  'ddp-or-accumulation': ({ gpus }: Values) =>
    `These ${gpus} cards have no P2P: one card with accumulation may be nearly as fast`,
  'cudnn-benchmark': () => 'Little room: keep torch.backends.cudnn.benchmark = False, its first steps need far more',
  'zero-helps-little': ({ percent }: Values) =>
    `ZeRO would save only ${percent} % here: nearly everything is activations`,
} satisfies Readonly<Record<string, Sentence>>;

/** A wrong belief put right in one line. */
const beliefs = {
  'gn7e-is-a100': ({ family, gpu, a10Family }: Values) => `${family} is ${gpu}; A10 is ${a10Family}`,
  'gn6v-is-16gb': ({ family, memoryGB, largerFamily, largerMemoryGB }: Values) =>
    `${family} is V100 with ${memoryGB} GB; the ${largerMemoryGB} GB one is ${largerFamily}`,
  'gn8i-is-no-family': ({ family, a100Family, nearFamily, nearGpu }: Values) =>
    `There is no family ${family}: A100 80 GB is ${a100Family}, ${nearFamily} is ${nearGpu}`,
  'gn9y-is-no-family': ({ family, h20Family }: Values) => `There is no family ${family}: H20 is ${h20Family}`,
  'gn7-is-a100-40gb': ({ family, gpu, a10Family }: Values) => `${family} is ${gpu}; A10 is ${a10Family}`,
  'gn7s-is-a30': ({ family, gpu, h20Family }: Values) => `${family} is ${gpu}; H20 is ${h20Family}`,
  'gn8v-is-h20': ({ family, gpu }: Values) => `${family} is ${gpu}`,
  'gn7i-c8g1-4xlarge-is-no-type': ({ smaller, larger }: Values) =>
    `ecs.gn7i-c8g1.4xlarge does not exist: there are ${smaller} and ${larger}`,
  'h20-is-not-domestic': ({ vendor, domestic }: Values) =>
    `H20 is made by ${vendor}, not a domestic accelerator; the domestic one is ${domestic}, price through sales`,
  'vgpu-does-not-train': ({ driver, cuda }: Values) =>
    `vGPU slices are no training machines: driver ${driver} stops at CUDA ${cuda}, too old for current PyTorch`,
  't4-is-not-cheapest': ({ t4CnyPerHour, a10CnyPerHour, region }: Values) =>
    `T4 is not the cheapest: ¥${t4CnyPerHour}/h against ¥${a10CnyPerHour}/h for an A10 in ${region}, which is also faster`,
  'subscription-needs-480-hours': ({ thresholdHours, percent }: Values) =>
    `Subscription saves ${percent} % only for a machine on all month; below ${thresholdHours} h it costs more`,
  'spot-has-no-fixed-discount': ({ api }: Values) => `Spot has no fixed discount: the price moves, ask ${api}`,
  'pl3-is-rarely-needed': ({ level, maximumMBps, minimumGiB }: Values) =>
    `ESSD ${level} is enough up to ${maximumMBps} MB/s; PL3 starts at ${minimumGiB} GiB and is rarely needed`,
  'system-disk-dot-category': ({ wrong, right }: Values) => `RunInstances calls it ${right}, not ${wrong}`,
  'image-ids-change': ({ api }: Values) => `Image ids change: look one up with ${api} instead of copying it`,
  'eas-serves': ({ training, serving }: Values) => `${serving} is for serving; ${training} is for training`,
  'amp-does-not-halve': ({ resnetPercent, segformerPercent, swinPercent }: Values) =>
    `AMP does not halve memory: about −${resnetPercent} % with ResNet, −${segformerPercent} % with SegFormer, −${swinPercent} % with Swin`,
  'gpu-memory-does-not-add-up': () =>
    'Memory of several cards does not add up: each holds a whole copy; only the batch per card gets smaller',
  'zero-saves-little': ({ percent }: Values) =>
    `ZeRO saves under ${percent} % of a segmentation model: activations stay where they are`,
  'accumulation-saves-by-micro-batch': () =>
    'Accumulation saves memory only through the smaller micro-batch, not by itself',
  'no-bf16-before-ampere': ({ gpus }: Values) => `${gpus} have neither bf16 nor TF32: use fp16 with loss scaling`,
  'family-is': ({ family, gpu }: Values) => `${family} is ${gpu}`,
  'family-is-so': ({ family, gpu }: Values) => `Yes, ${family} is ${gpu}`,
  'family-unknown': ({ family }: Values) => `There is no family ${family} in the catalogue`,
  'type-unknown': ({ instanceType, types }: Values) => `There is no ${instanceType}; similar ones: ${types}`,
  'amp-is': () =>
    'AMP is mixed precision: most of forward and backward in 16 bits, weights and optimizer in 32; it saves activations and is faster',
  'checkpointing-is': () =>
    'Gradient checkpointing keeps only the input of each section and computes the rest again in backward: time for memory',
  'accumulation-is': () =>
    'Gradient accumulation adds up the gradients of several small batches before one step: memory is that of the small batch',
  'spot-is': ({ minutes }: Values) =>
    `Spot instances are idle capacity at a moving price that can be taken back with ${minutes} minutes' notice; pay-as-you-go has a list price and stays`,
  'region-is-closing': ({ region }: Values) => `${region} is being shut down: better take another region`,
  'ram-is-not-vram': () => 'Host memory does not add to GPU memory: a training step has to fit on the card',
  'a10-has-no-nvlink': ({ gpu, family }: Values) =>
    `${gpu} (${family}) has no NVLink and no P2P: PCIe through the host`,
} satisfies Readonly<Record<string, Sentence>>;

const reasons: Readonly<Record<DeviationReason, string>> = {
  'cached-memory': 'PyTorch keeps freed memory in its cache; max_memory_allocated() is the true need',
  'varying-sizes': 'varying input sizes fill the cache',
  'first-iterations': 'cudnn.benchmark in the first steps',
  'other-process': 'another process on the card',
  'validation-included': 'a validation pass was included',
  'context-of-old-torch': 'the CUDA context of torch before 2.0 is larger',
  'output-kept': 'the loop keeps the output alive through backward',
  'other-library-version': 'another library or version of the network',
  'smaller-input': 'the input or batch was smaller',
  'data-loading': 'data loading is the bottleneck',
  'faster-kernels': 'kernels or layout better than assumed (channels_last, compile)',
};

export const enTips = {
  tips,
  beliefs,
  reasons,
  /** Where a correction comes from. */
  sourced: (fact: string, source: string, date: string) => `${fact}. (${source}, ${date})`,
};

type SameSentences<Sentences> = Readonly<Record<keyof Sentences, Sentence>>;

export interface TipMessages {
  readonly tips: SameSentences<typeof tips>;
  readonly beliefs: SameSentences<typeof beliefs>;
  readonly reasons: typeof reasons;
  readonly sourced: typeof enTips.sourced;
}
