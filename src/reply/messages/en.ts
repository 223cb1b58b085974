import { enActions } from './en-actions.ts';

/** The words of an answer. This file's type is what every other language has to fill. */
export const en = {
  tierNames: { A: 'A starter', B: 'B standard', C: 'C high end' },
  columns: {
    tier: 'Tier',
    instance: 'Instance type',
    gpu: 'GPU',
    result: 'Result',
    price: 'Price/h',
    secondsPerStep: 's/step',
    costPerThousand: '1,000 steps',
    note: '',
  },
  tiersTitle: 'Tiers',
  perHour: '/h',
  period: { hour: '/h', day: '/day', month: '/month', total: ' in total' },
  none: '–',

  status: {
    fits: (free: string) => `fits, ${free} GiB free`,
    fitsWith: (changes: string) => `fits with ${changes}`,
    overBudget: 'over budget',
    priceOnRequest: 'fits, price on request',
    notInRegion: (regions: string) => `sold in ${regions}`,
    priceIn: (region: string, price: string) => `${region} (${price})`,
    noCandidate: (gpus: number, sold: string) =>
      `no type with ${gpus} GPU${gpus === 1 ? '' : 's'}${sold === '' ? '' : `, but ${sold}`}`,
    soldOut: 'sold out right now',
    doesNotFit: (missing: string) => `does not fit, ${missing} GiB short`,
  },
  change: {
    amp: 'AMP',
    sdpa: 'fused attention',
    checkpointing: 'gradient checkpointing',
    microBatch: (size: number) => `micro-batch ${size} + accumulation`,
  },

  verdict: {
    need: (allocated: string, device: string) => `Needs ${allocated} per GPU (nvidia-smi ≈ ${device})`,
    take: (instance: string, gpu: string, price: string) => `take ${instance}: ${gpu}, ${price}`,
    split: (gpus: number, share: string, needed: string) =>
      `shared by ${gpus} GPUs, ${share} images each, ${needed} per GPU`,
    withChanges: (changes: string) => `with ${changes}`,
    subscription: (month: string, hour: string) => `${month} as a subscription (${hour} pay-as-you-go)`,
    withinBudget: (budget: string) => `within your ${budget}`,
    overBudget: (budget: string, instance: string, gpu: string, price: string) =>
      `nothing fits into ${budget}; the best value is ${instance}: ${gpu}, ${price}`,
    overAsIs: (budget: string, instance: string, gpu: string, price: string) =>
      `nothing fits into ${budget}; the cheapest way without changes is ${instance}: ${gpu}, ${price}`,
    cheaperWith: (changes: string, instance: string, price: string) =>
      `; with ${changes} ${instance} costs less, ${price}, still over it`,
    wholeRun: (hours: string, amount: string) => `the whole run about ${hours}, ${amount}`,
    paced: (verdict: string, seconds: string, cost: string | null) =>
      `${verdict}; ${seconds} s per step${cost === null ? '' : `, ${cost} per 1,000`}`,
    notRented: (card: string) => `No listed instance type has ${card}: judged as a card of your own.`,
    runOn: (card: string, hours: string, cost: string | null) =>
      `the whole run takes about ${hours} on ${card}${cost === null ? '' : `, ${cost}`}`,
    pace: (card: string, seconds: string, cost: string | null) =>
      `${card}: ${seconds} s per step${cost === null ? '' : `, ${cost} per 1,000`}`,
    askRun: 'Say how many iterations or epochs ("80k iterations", "100 epochs") for time and cost of the whole run.',
    lasts: (hours: string) => `enough for ${hours}`,
    unpricedOnly: 'only types without a public price hold it; ask sales, see the table',
    deadlineAny: (hours: string, take: string, takes: string) =>
      `nothing is done within ${hours}; the fastest needs about ${takes}: ${take}`,
    deadline: (hours: string, take: string, takes: string) =>
      `nothing is done within ${hours}; the fastest affordable needs about ${takes}: ${take}`,
    nextCount: (gpus: number, take: string) => `no type has ${gpus} GPUs; the next size: ${take}`,
    fellBack: 'live prices do not answer, older ones stand in',
    nothing: 'no single type in the catalogue holds it, see what to change',
    yes: (card: string, needed: string, usable: string, free: string) =>
      `Yes, it fits on ${card}: ${needed} of ${usable} GiB, ${free} GiB to spare`,
    yesWith: (card: string, figures: { asIs: string; changes: string; needed: string; usable: string }) =>
      `Not as it is (${figures.asIs} on this card, it has ${figures.usable} GiB), but with ${figures.changes} it fits on ${card}: ${figures.needed}`,
    no: (card: string, needed: string, usable: string, missing: string) =>
      `No, it does not fit on ${card}: needs ${needed}, has ${usable} GiB, ${missing} GiB short`,
    late: (hours: string, takes: string) => `; but not done within ${hours}: the run takes about ${takes}`,
    tight: 'tight: within the uncertainty of the estimate, keep something in hand',
    better: (card: string, reason: string) => `Take ${card}: ${reason}`,
    neither: (cards: string) => `None of ${cards} holds it as it is`,
    maxBatch: (card: string, batch: number, needed: string, usable: string) =>
      `At most ${batch} per GPU on ${card} (${needed} of ${usable} GiB)`,
    maxBatchNone: (card: string, needed: string, usable: string) =>
      `Not even 1 image fits on ${card}: needs ${needed}, has ${usable} GiB`,
    maxSize: (card: string, size: string, needed: string, usable: string) =>
      `At most about ${size} on ${card} (${needed} of ${usable} GiB)`,
    own: (card: string, result: string) => `Your ${card}: ${result}`,
    again: (text: string) => `Back to before: ${text}`,
  },

  memory: {
    title: 'Where the memory goes',
    kinds: {
      activations: 'activations',
      loss: 'logits and loss',
      parameters: 'weights',
      gradients: 'gradients',
      'optimizer-state': 'optimizer',
      'ddp-buckets': 'DDP buckets',
      workspace: 'workspace',
      data: 'batch and buffers',
      cache: 'allocator cache',
      context: 'CUDA context',
      contextWithNccl: 'CUDA context and NCCL',
    },
    peak: (operation: string, phase: string) => `peak at ${operation} (${phase})`,
    phases: { forward: 'forward', backward: 'backward', step: 'optimizer step' },
    wholeNetwork: 'whole network',
    validation: (peak: string, size: string) => `whole-image validation at ${size} needs ${peak}`,
  },

  sections: {
    change: 'What to change',
    cost: 'Cost',
    host: 'Machine around it',
    details: 'Details',
    order: 'Order command',
    terraform: 'Terraform',
    checkFirst: 'Before buying',
    assumptions: 'Assumptions',
    measured: 'Measured beside estimated',
    figures: 'Figures',
  },

  tip: {
    saves: (amount: string) => `−${amount}`,
    faster: (factor: string) => `${factor}× as fast`,
    slower: (percent: string) => `${percent} slower`,
    upTo: (batch: number, card: string) => `batch up to ${batch} per GPU on ${card}`,
    upToWith: (batch: number, card: string, changes: string) =>
      `with ${changes} batch up to ${batch} per GPU on ${card}`,
  },

  cost: {
    hour: 'per hour',
    month: 'per month',
    monthValue: (payAsYouGo: string, hours: number, subscription: string) =>
      `${payAsYouGo} pay-as-you-go (${hours} h), ${subscription} subscription (480 × the hourly price)`,
    unverified: 'subscription price not checked for this type',
    thousand: 'per 1,000 steps',
    run: 'whole run',
    runValue: (hours: string, amount: string, iterations: string, basis: string) =>
      `${hours}, ${amount} (${iterations} steps${basis})`,
    basis: { stated: '', epochs: ', from the epochs', usual: ', the usual run on this data set' },
    buys: (budget: string, hours: string) => `${budget} buys ${hours} of it`,
    budgetCost: (amount: string, kind: string) => `counts as ${amount} (${kind}) against the budget`,
    spot: 'spot',
    spotValue:
      'see the console for the price of the hour; it can be reclaimed, so keep checkpoints on a disk that stays',
    spotNote:
      'Spot is cheaper still where the console shows it; it can be reclaimed, so keep checkpoints on a disk that stays',
    chargeTypes: { PostPaid: 'pay-as-you-go', Spot: 'spot', PrePaid: 'subscription' },
    threshold: 'Under 480 h a month pay-as-you-go is the cheaper one; release the machine after the run',
    none: 'no price known',
    lowest: (take: string, changes: string) =>
      `Lowest hourly price that holds it: ${take}${changes === '' ? '' : `, ${changes}`}`,
  },

  explain: {
    parameters: 'parameters',
    macs: 'multiply-accumulates, forward',
    saved: 'kept for backward',
    peakForward: 'peak of forward, above weights and input',
    peakBackward: 'peak of backward, above weights and input',
    allocated: 'max_memory_allocated',
    reserved: 'held by the allocator',
    device: 'nvidia-smi',
    uncertainty: 'uncertainty',
    chosen: (instance: string, reason: string, cost: string) => `Why ${instance}: ${reason} (${cost} per 1,000 steps).`,
    reasons: {
      'cheapest-per-image': 'within the budget and with the fewest changes, it trains an image for the least',
      'only-one-within-budget': 'it is the only one within the budget that holds it',
      'nothing-within-budget': 'nothing fits the budget; it needs the fewest changes and costs the least an hour',
      'no-budget-given': 'no budget was given; with the fewest changes it trains an image for the least',
      'nothing-within-deadline': 'nothing is done within the deadline; it is the fastest',
    },
    method:
      'The figure is a replay of one training iteration: every tensor that autograd keeps, until the moment it is freed; the peak is the maximum over time, not a sum.',
  },

  host: {
    cores: 'vCPU per GPU',
    coresValue: (cores: string, workers: string) => `${cores}, num_workers=${workers}`,
    memory: 'host memory',
    memoryValue: (has: string, needs: string, rule: string) =>
      `${has} GiB (needs about ${needs}, rule of thumb ${rule})`,
    disk: 'disk',
    diskPrice: (price: string, date: string) => `, about ${price}/month (${date})`,
    read: (rate: string) => `, reads about ${rate} MB/s`,
    zones: 'zones with stock',
    storage: 'data',
    storageValue: 'over 100 GB: NAS or OSS (ossfs) with a local cache',
    links: 'between the GPUs',
    nvlink: 'NVLink',
    noNvlink: 'PCIe only',
    noP2p: 'no P2P',
    erdma: 'eRDMA for several machines',
    notes: 'Mind',
  },

  assumed: {
    library: (name: string, others: string) => `${name}${others === '' ? '' : ` (${others})`}`,
    other: (name: string, amount: string) => `${name}'s: ${amount}`,
    fields: {
      imageHeight: (value: string) => `input ${value}`,
      batchSize: (value: string) => `batch ${value} per GPU`,
      numClasses: (value: string) => `${value} classes`,
      precision: (value: string) => value,
      optimizer: (value: string) => value,
      gpus: (value: string) => `${value} GPU${value === '1' ? '' : 's'}`,
      attention: (value: string) => `${value} attention`,
      torch: (value: string) => `torch ${value}`,
    },
    prices: (date: string, region: string) => `prices of ${date}, ${region}`,
    spot: 'no spot price known, judged at the pay-as-you-go price',
    observed: 'one observed quotation',
    uncertainty: (percent: string) => `± ${percent}`,
    rate: (rate: string) => `1 USD = ${rate} CNY (planning rate)`,
    usualRun: (iterations: string, hours: string, amount: string) =>
      `length not said, taken as the ${iterations} steps usual on this data set: about ${hours}, ${amount}`,
    budgetPeriod: (budget: string) => `budget read as ${budget}`,
    code: (code: string) => `estimate ${code}`,
  },

  libraries: {
    mmseg: 'MMSegmentation',
    smp: 'segmentation_models_pytorch',
    torchvision: 'torchvision',
    transformers: 'transformers',
    detectron2: 'detectron2',
    mmdetection: 'MMDetection',
    ultralytics: 'ultralytics',
    milesial: 'Pytorch-UNet (milesial)',
    monai: 'MONAI',
    original: 'the original code',
  },

  shortLibraries: {
    mmseg: 'MMSeg',
    smp: 'smp',
    torchvision: 'torchvision',
    transformers: 'HF',
    detectron2: 'detectron2',
    mmdetection: 'MMDet',
    ultralytics: 'ultralytics',
    milesial: 'milesial',
    monai: 'MONAI',
    original: 'original',
  },

  price: {
    title: 'Prices',
    line: (instance: string, gpu: string, price: string, host: string) => `${instance}: ${gpu}, ${price}${host}`,
    host: (vcpu: number, memory: number) => `, ${vcpu} vCPU ${memory} GiB`,
    verdict: (card: string, price: string, instance: string) => `${card}: from ${price} (${instance})`,
    at: (price: string, region: string) => `${price} in ${region}`,
    notIn: (region: string) => `, none in ${region}`,
    unknown: (card: string) => `No public price for ${card} in the catalogue: ask the console or sales`,
    months: ({
      months,
      hours,
      amount,
      subscription,
    }: {
      months: number;
      hours: string;
      amount: string;
      subscription: string;
    }) =>
      `${months} month${months === 1 ? '' : 's'}: ${amount} for ${hours} h pay-as-you-go, ${subscription} as subscription`,
    hours: (hours: string, amount: string) => `${hours} cost ${amount}`,
  },

  compared: {
    verdict: (lighter: string, heavier: string, factor: string) =>
      `${lighter} needs less: ${heavier} takes ${factor}× as much`,
    next: 'Name one of them for its machine, its price and what to change.',
    figure: (allocated: string, device: string) => `${allocated} (nvidia-smi ≈ ${device})`,
  },

  translate: {
    options: (list: string) => `Other splits with the same total (micro-batch × accumulation): ${list}`,
    verdict: (micro: number, accumulation: number, gpus: number) =>
      `${gpus} GPU${gpus === 1 ? '' : 's'}: ${micro} per GPU × ${accumulation} accumulation step${accumulation === 1 ? '' : 's'} keeps the total batch`,
    total: (total: number, batch: number, gpus: number) => `total batch ${total} (${batch} per GPU × ${gpus})`,
    learningRate: 'Same total batch: learning rate and number of steps stay.',
    plain: (
      { batchPerGpu, gpus, total, from }: { batchPerGpu: number; gpus: number; total: number; from: number },
      { factor, root, smaller }: { factor: string; root: string; smaller: boolean },
    ) =>
      `Without accumulation (${batchPerGpu} per GPU × ${gpus}) the total goes from ${from} to ${total}: ${smaller ? 'divide' : 'multiply'} the learning rate by ${factor} with SGD, by ${root} or not at all with AdamW; ${smaller ? 'multiply' : 'divide'} the steps by ${factor} so that the images seen stay the same.`,
    batchNorm:
      'Accumulation does not enlarge the batch that BatchNorm sees: below 4 per GPU use SyncBN or frozen statistics.',
  },

  ...enActions,
};

export type AnswerMessages = typeof en;
