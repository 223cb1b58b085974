/**
 * Facts that put widespread wrong beliefs right (catalog.md §5 and §4, physics.md §3). Understanding reports the id when a
 * person states the belief, the reply words it with source and date. `values` hold what the sentence needs.
 */
export interface Belief {
  readonly id: string;
  /** What people believe, in one English line for whoever edits the lexicon. */
  readonly believed: string;
  readonly values: Readonly<Record<string, string | number>>;
  readonly source: string;
  readonly checkedOn: string;
}

const FAMILIES =
  'Alibaba Cloud documentation, GPU instance families; ECS API catalogue (SpareCores/sc-data-dumps e8749bef)';
const PHYSICS = 'replay of official code and traces (docs/estimator.md)';

const families: readonly Belief[] = [
  {
    id: 'gn7e-is-a100',
    believed: 'gn7e carries A10 cards',
    values: { family: 'gn7e', gpu: 'A100 80 GB', a10Family: 'gn7i' },
    source: `${FAMILIES}; nvidia-smi on ecs.gn7e-c16g1.4xlarge`,
    checkedOn: '2026-08',
  },
  {
    id: 'gn6v-is-16gb',
    believed: 'gn6v has V100 with 32 GB',
    values: { family: 'gn6v', memoryGB: 16, largerFamily: 'gn6e', largerMemoryGB: 32 },
    source: `${FAMILIES}; nvidia-smi on gn6v and gn6e (SpareCores/sc-inspector-data 804d3c71)`,
    checkedOn: '2026-08-22',
  },
  {
    id: 'gn8i-is-no-family',
    believed: 'gn8i is A100 80 GB',
    values: { family: 'gn8i', a100Family: 'gn7e', nearFamily: 'gn8is', nearGpu: 'L20 48 GB' },
    source: FAMILIES,
    checkedOn: '2026-01-31',
  },
  {
    id: 'gn9y-is-no-family',
    believed: 'gn9y is H20',
    values: { family: 'gn9y', h20Family: 'gn8v' },
    source: `${FAMILIES}; Compute Nest guides`,
    checkedOn: '2026-01-31',
  },
  {
    id: 'gn7-is-a100-40gb',
    believed: 'gn7 carries A10 cards',
    values: { family: 'gn7', gpu: 'A100 40 GB', a10Family: 'gn7i' },
    source: FAMILIES,
    checkedOn: '2026-01-31',
  },
  {
    id: 'gn7s-is-a30',
    believed: 'gn7s is H20 96 GB',
    values: { family: 'gn7s', gpu: 'A30 24 GB', h20Family: 'gn8v' },
    source: `${FAMILIES} ("not recommended", by ticket)`,
    checkedOn: '2026-01-31',
  },
  {
    id: 'gn8v-is-h20',
    believed: 'gn8v is H100 or H800',
    values: { family: 'gn8v', gpu: 'H20 96 GB' },
    source: `${FAMILIES}; Compute Nest guides`,
    checkedOn: '2026-01-31',
  },
  {
    id: 'gn7i-c8g1-4xlarge-is-no-type',
    believed: 'ecs.gn7i-c8g1.4xlarge exists',
    values: { smaller: 'ecs.gn7i-c8g1.2xlarge', larger: 'ecs.gn7i-c16g1.4xlarge' },
    source: FAMILIES,
    checkedOn: '2026-01-31',
  },
  {
    id: 'h20-is-not-domestic',
    believed: 'H20 (or A30) is a domestic accelerator',
    values: { gpu: 'H20', vendor: 'NVIDIA', domestic: 'PPU (gp7)' },
    source: FAMILIES,
    checkedOn: '2026-01-31',
  },
  {
    id: 'vgpu-does-not-train',
    believed: 'a vGPU slice (sgn, vgn, -vws) is a cheap training machine',
    values: { driver: 'GRID 470.256', cuda: '11.4' },
    source: 'SpareCores/sc-inspector-data 804d3c71; Alibaba Cloud documentation, vGPU families',
    checkedOn: '2026-08-22',
  },
];

const money: readonly Belief[] = [
  {
    id: 't4-is-not-cheapest',
    believed: 'T4 is the cheapest card',
    // Texts: amounts are shown to the cent.
    values: { t4CnyPerHour: '11.63', a10CnyPerHour: '9.53', region: 'cn-hangzhou' },
    source: 'price file of 2024-12-30 (catalog/prices/alibaba.json), both re-quoted on 2026-09-24',
    checkedOn: '2026-09-24',
  },
  {
    id: 'subscription-needs-480-hours',
    believed: 'subscription always saves 30 %',
    values: { thresholdHours: 480, percent: 33.3, monthHours: 720 },
    source: 'list prices of gn7i-c8g1.2xlarge and gn8is.2xlarge',
    checkedOn: '2026-09-24',
  },
  {
    id: 'spot-has-no-fixed-discount',
    believed: 'spot has a fixed discount',
    values: { api: 'DescribeSpotPriceHistory' },
    source: 'Alibaba Cloud documentation, spot instances',
    checkedOn: '2021-07-19',
  },
  {
    id: 'pl3-is-rarely-needed',
    believed: 'training needs an ESSD PL3 disk',
    values: { level: 'PL1', maximumMBps: 350, minimumGiB: 1261 },
    source: 'Alibaba Cloud documentation, ESSD limits',
    checkedOn: '2021-07-19',
  },
  {
    id: 'system-disk-dot-category',
    believed: 'RunInstances takes --SystemDiskCategory',
    values: { wrong: 'SystemDiskCategory', right: 'SystemDisk.Category' },
    source: 'npm @alicloud/ecs20140526 7.11.6',
    checkedOn: '2026-11-30',
  },
  {
    id: 'image-ids-change',
    believed: 'an image id with a date can be copied from a guide',
    values: { image: 'ubuntu_20_04_x64_20G_alibase_20230726.vhd', api: 'DescribeImages' },
    source: 'public documents; that date was not found',
    checkedOn: '2026-11-30',
  },
  {
    id: 'eas-serves',
    believed: 'PAI-EAS is for training',
    values: { training: 'PAI-DLC', serving: 'PAI-EAS' },
    source: 'Alibaba Cloud documentation, PAI',
    checkedOn: '2026-11-30',
  },
];

const memory: readonly Belief[] = [
  {
    id: 'amp-does-not-halve',
    believed: 'AMP halves GPU memory',
    values: { resnetPercent: 46, segformerPercent: 20, swinPercent: 24 },
    source: PHYSICS,
    checkedOn: '2026-11-30',
  },
  {
    id: 'gpu-memory-does-not-add-up',
    believed: 'two cards of 16 GB train what needs 32 GB',
    values: { ncclGiB: 0.55 },
    source: PHYSICS,
    checkedOn: '2026-11-30',
  },
  {
    id: 'zero-saves-little',
    believed: 'ZeRO or DeepSpeed makes a segmentation model fit',
    values: { percent: 10 },
    source: PHYSICS,
    checkedOn: '2026-11-30',
  },
  {
    id: 'accumulation-saves-by-micro-batch',
    believed: 'gradient accumulation saves memory by itself',
    values: {},
    source: PHYSICS,
    checkedOn: '2026-11-30',
  },
  {
    id: 'no-bf16-before-ampere',
    believed: 'T4, V100 or P100 can train in bf16 (or TF32)',
    values: { gpus: 'T4, V100, P100, P4' },
    source: 'developer.nvidia.com/cuda-gpus: compute capability below 8.0',
    checkedOn: '2026-11-30',
  },
  {
    id: 'a10-has-no-nvlink',
    believed: 'A10 cards are joined by NVLink',
    values: { gpu: 'A10', family: 'gn7i' },
    source: 'SpareCores/sc-inspector-data nvbandwidth 804d3c71: peer-to-peer tests waived on ecs.gn7i-c32g1.32xlarge',
    checkedOn: '2026-08-22',
  },
];

/** What words mean that people ask about. */
const terms: readonly Belief[] = [
  { id: 'amp-is', believed: 'asks what AMP is', values: {}, source: PHYSICS, checkedOn: '2026-11-30' },
  {
    id: 'checkpointing-is',
    believed: 'asks what checkpointing is',
    values: {},
    source: PHYSICS,
    checkedOn: '2026-11-30',
  },
  {
    id: 'accumulation-is',
    believed: 'asks what accumulation is',
    values: {},
    source: PHYSICS,
    checkedOn: '2026-11-30',
  },
  {
    id: 'spot-is',
    believed: 'asks what a spot instance is',
    values: { minutes: 5 },
    source: 'Alibaba Cloud documentation, spot instances',
    checkedOn: '2021-07-19',
  },
];

/** Every belief, ids unique. */
export const beliefs: readonly Belief[] = [...families, ...money, ...memory, ...terms];
