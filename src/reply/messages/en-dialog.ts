import type { ErrorCode } from '../../errors.ts';

/** Figures of a refusal, as text. */
type RefusalDetails = Readonly<Record<string, string>>;

/** What a question says on the first, second and third try: reason, examples, default. */
export type Attempts = readonly [string, string, string];

type Sentence = (typed: string, names: string) => string;
type ErrorSentence = (details: Readonly<Record<string, string>>) => string;

const errors: Readonly<Record<ErrorCode, ErrorSentence>> = {
  'invalid-input': () => 'I could not read that. Say it like "segformer b2, 512x512, batch 8, budget 10 CNY/h".',
  'unknown-model': ({ name, nearest }) =>
    `I do not know a network called "${name ?? '?'}".${nearest ? ` Nearest that I can size: ${nearest}.` : ''} Name another one, or the one it is built on.`,
  'unknown-backbone': ({ name, nearest }) =>
    `I do not know the backbone "${name ?? '?'}" for this network.${nearest ? ` It comes with: ${nearest}.` : ''} Pick one of them.`,
  'unsupported-combination': () => 'That combination cannot be trained. Change one of the two and I size it again.',
  'unknown-gpu': ({ name, nearest }) =>
    `I do not know the card "${name ?? '?'}".${nearest ? ` Did you mean ${nearest}?` : ''} Its memory is enough too, as in "a 24 GB card".`,
  'out-of-range': ({ field, limit }) =>
    `${field ? `${field} is` : 'That figure is'} outside what can be trained${limit ? ` (${limit})` : ''}. Check the number and say it again.`,
  'too-large': () => 'That message is too long for me. Paste only the error text or the command, under 100 KB.',
  'invalid-config': ({ names }) =>
    `The configuration is incomplete${names ? `: ${names}` : ''}. Set what is missing and start again.`,
  'invalid-catalog': () => 'The catalogue cannot be read. The operator finds file, row and field in the log.',
  'store-unavailable': () => 'My memory of conversations cannot be reached right now. Please try again in a minute.',
  'platform-refused': () => 'The platform refused the message. The operator finds the reason in the log.',
  'platform-unreachable': () => 'The platform cannot be reached right now. The answer follows when it is back.',
  overloaded: ({ seconds }) => `That is more than I can answer at once. Try again in ${seconds ?? '60'} seconds.`,
  internal: () => 'Something went wrong on my side; it is in the log. Say it once more, or start over with "reset".',
};

export const enDialog = {
  errors,
  refused: {
    'multiple-of': ({ multipleOf, height, width }: RefusalDetails) =>
      `This network takes sides in multiples of ${multipleOf}, not ${height}×${width}. Which size instead?`,
    'square-multiple-of': ({ multipleOf, height, width }: RefusalDetails) =>
      `This network takes square images with sides in multiples of ${multipleOf}, not ${height}×${width}. Which size instead?`,
    square: ({ height, width }: RefusalDetails) =>
      `This network takes square images only, not ${height}×${width}. Which size instead?`,
    'fixed-size': ({ side }: RefusalDetails) =>
      `This network takes images of ${side}×${side} only. Shall I take those?`,
    'at-least': ({ minimumSide }: RefusalDetails) =>
      `This network needs sides of at least ${minimumSide} px. Which size instead?`,
    'two-classes': () => 'The library computes no loss for a single class: count the background too. How many classes?',
    'needs-auxiliary-head': () =>
      'That library computes no loss for this network without its auxiliary head: it raises. Leave the head on.',
    'no-checkpointing': () =>
      'This network has no gradient checkpointing in that library: it raises. Say "without checkpointing" and I go on.',
    'output-stride': ({ outputStride }: RefusalDetails) =>
      `This network is not built at output stride ${outputStride}. Which one instead, 8, 16 or 32?`,
    'cannot-dilate': ({ nearest }: RefusalDetails) =>
      `This encoder cannot be dilated, so the head cannot stand on it.${nearest ? ` It can on ${nearest}.` : ''} Name another backbone or head.`,
    'no-mit': ({ nearest }: RefusalDetails) =>
      `smp refuses MiT encoders for this decoder.${nearest ? ` It takes ${nearest}.` : ''} Name another backbone, or use smp.Unet or smp.Segformer.`,
    'vit-needs-dpt': () =>
      'In smp a plain ViT encoder works with DPT only. Use smp.DPT, or name a backbone with a pyramid (ResNet, Swin, ConvNeXt).',
    'encoder-depth': ({ depth, least }: RefusalDetails) =>
      `An encoder depth of ${depth} does not go with it: ${least ?? '1'} to 5. Change encoder_depth and paste it again.`,
    widths: ({ count, depth }: RefusalDetails) =>
      `${count} widths do not go with ${depth} levels: there has to be one for each. Change the list and paste it again.`,
    option: ({ option, known }: RefusalDetails) => `${option} is one of ${known}. Change it and paste it again.`,
    'unequal-sizes': ({ logits, target }: RefusalDetails) =>
      `The output has ${logits}, the labels ${target}: the loss would raise. Change the upsampling or the depth.`,
  },

  fieldNames: {
    imageHeight: 'the image height',
    imageWidth: 'the image width',
    batchSize: 'the batch size',
    numClasses: 'the number of classes',
    inputChannels: 'the number of input channels',
    baseChannels: 'the width of the first level',
    gpus: 'the number of GPUs',
    gpu: 'the card',
    other: 'that value',
  },
  limits: {
    imageHeight: '16 to 16,384 pixels',
    imageWidth: '16 to 16,384 pixels',
    batchSize: '1 to 4,096 images per GPU',
    numClasses: '1 to 100,000',
    inputChannels: '1 to 1,024',
    baseChannels: '1 to 1,024',
    gpus: '1 to 1,024',
  },

  ask: {
    model: [
      'Which model do you want to train? Memory differs up to fivefold between networks.',
      'Which model? For example "deeplabv3+ resnet50", "segformer b2", a config name, or a line like smp.Unet("resnet34").',
      'I need a model to size anything. Shall I take DeepLabV3+ with ResNet-50, the one most people start with?',
    ] satisfies Attempts,
    imageHeight: [
      'How large are the training images (the crop)? Memory grows with the number of pixels.',
      'Image size, for example "512x512", "1024 by 512" or "crop 769". The crop that goes into the network counts, not the original picture.',
      'Without a size I would take 512×512. All right?',
    ] satisfies Attempts,
    batchSize: [
      'How many images per GPU and step (batch size)? Activations grow with it almost in proportion.',
      'Batch size, for example "8", "4 per GPU" or "total 16 on 4 cards".',
      'Without a batch size I would take 4 per GPU. All right?',
    ] satisfies Attempts,
    budget: [
      'What may it cost? Then I pick the instance.',
      'Budget, for example "15 CNY/h", "5,000 a month", "$2/h" or "2,000 in total"; "no limit" works too.',
      'Without a budget I take the cheapest per image. All right?',
    ] satisfies Attempts,
    gpu: [
      'Which card do you have? Its name or its memory.',
      'Your card, for example "RTX 3090", "4 × 2080 Ti" or "a 24 GB card".',
      'Tell me only how much memory it has, in GB.',
    ] satisfies Attempts,
    other: [
      'Which one do you mean?',
      'Please name it once more, for example as it is written in your config.',
      'I can take the default here. All right?',
    ] satisfies Attempts,
  },
  memoryFirst: (verdict: string) => `${verdict}.`,
  resume: (question: string) => `To go on: ${question}`,
  confirm: [
    (typed: string, candidates: string) => `By "${typed}", do you mean ${candidates}?`,
    (typed: string, candidates: string) =>
      `"${typed}" is still open, and memory differs a lot: ${candidates}? Reply with the name, or "the first".`,
    (typed: string, first: string) => `Unless you say otherwise I take ${first} for "${typed}". All right?`,
  ] satisfies readonly [Sentence, Sentence, Sentence],
  alternative: (taken: string, other: string, needs: string) =>
    `Two runs: this is ${taken}${needs === '' ? '' : `, the other needs ${needs}`}. Say "${other}" for its machine and price.`,
  leftOpen: (taken: string) => `Taking ${taken}; say so if it is another one.`,
  or: ' or ',
  unifiedMemory: (card: string, memory: number | null, cuda: boolean) =>
    `${card} has no memory of its own: ${memory === null ? 'it' : `the ${memory} GB`} is shared with the system and the data loader, so keep several GB free${cuda ? '.' : '; and it has no CUDA, for which these figures are.'}`,
  otherVersion: (name: string) =>
    `These figures are for the published network, which “${name}” changes: one step of yours and torch.cuda.max_memory_allocated() show by how much.`,
  withoutCuda: (card: string) =>
    `${card} has no CUDA, for which these figures are: with its own software stack memory and time can differ, so test a short run.`,
  rented: (machine: string, sum: string) => `${machine}: ${sum}.`,
  share: (total: number, gpus: number, each: string) => `Total batch ${total} on ${gpus} GPUs is ${each} per GPU.`,

  greet:
    'Hello! Tell me what you want to train and I say how big a GPU it needs, which Alibaba Cloud instance to rent and what it costs.',
  welcome: "You're welcome: go on whenever you like.",
  help: {
    title: 'I size GPUs for training segmentation models',
    intro: 'Give me model, image size, batch size and budget, in one message or one by one:',
    items: [
      '"deeplabv3+ resnet50, 512x1024, 2 per GPU, budget 15 CNY/h": memory, instance, price',
      '"does it fit on an A10?", "largest batch on a T4?", "A10 or V100?"',
      'then change anything: "batch 8", "turn on AMP", "what about segformer b2", "budget 5,000/month", "undo"',
      'paste an out-of-memory error, a config name, a training command or an nvidia-smi table',
      'tell me what nvidia-smi really showed, and I compare',
    ],
  },
  declined: {
    inference:
      'I size training only: inference keeps no activations and needs far less. I can tell you what training that model takes.',
    llm: 'Language models are outside what I know. I size training of image segmentation networks.',
    '3d': 'I do not size 3-D volumes: my networks are 2-D. If you train on slices, tell me slice size and batch.',
    detection:
      'I do not size pure detectors. Instance segmentation I can do (YOLOv8-seg, YOLO11-seg, Mask R-CNN): tell me model, image size and batch.',
    'other-cloud':
      'I only know the instances of Alibaba Cloud. The memory figure holds on any cloud: tell me model, size and batch.',
    buying: 'I cannot buy anything for you. I give you the order command and you run it.',
    unclear:
      'I did not understand that. Tell me model, image size and batch size, for example "unet 512x512 batch 8", or say "help".',
  },
  aside: {
    'other-cloud':
      'Other clouds: the memory figure holds there too, the instances and prices are those of Alibaba Cloud.',
    'other-currency': 'Budgets are read in CNY and USD only: convert it and tell me again.',
    buying: 'I do not buy for you: ask for the order command and run it yourself.',
  },
  closed: {
    reset: 'Forgotten. What do you want to train?',
    undo: 'Back to the state before the last change.',
    'nothing-to-undo': 'There is nothing to take back. What do you want to train?',
  },
  held: (text: string) => `Holding: ${text}`,
  unsupported: {
    checkpointing:
      'This library has no switch for gradient checkpointing here, so the figures stay: use AMP, a smaller batch or another library.',
    sdpa: 'Fused attention is not to be had here (no attention, or fixed by the library), so the figures stay.',
  },
  unknownGpuAside: (name: string) =>
    `I do not know the card "${name}", so I left it out; its memory in GB is enough for me.`,
};

export type DialogMessages = typeof enDialog;
