import type { ChargeType, Fit, Recommendation } from '../advice/recommendation.ts';
import { paidBy } from './blocks/price.ts';
import type { Words } from './messages/index.ts';

/** Smallest disk of the vendor's images that bring driver and CUDA (catalog.md §4.14). */
const MINIMUM_DISK_GIB = 100;

/** What an order is written from: only facts that the catalogue and the conversation decide. */
interface Order {
  readonly region: string;
  readonly instanceType: string;
  readonly chargeType: ChargeType;
  readonly diskGiB: number;
  readonly diskLevel: string;
}

function isOrderable({ instanceType, price, changes, neededGiB, usableGiB }: Fit): boolean {
  return instanceType !== null && price !== null && changes.length === 0 && neededGiB <= usableGiB;
}

/** What an order is for: the type or card that was named, where it can be had and holds the run as it is, else the recommended. */
export function orderedFit({ named, recommended }: Recommendation): Fit | null {
  const [only, ...others] = named.filter(isOrderable);
  return only !== undefined && others.length === 0 ? only : recommended;
}

/** The order as text; null where nothing can be ordered. */
export function orderText(recommendation: Recommendation, form: 'order' | 'terraform', words: Words): string | null {
  const { host, region } = recommendation;
  const fit = orderedFit(recommendation);
  if (fit?.instanceType == null || fit.price === null) return null;
  const order = {
    region,
    instanceType: fit.instanceType,
    chargeType: paidBy(fit, recommendation),
    diskGiB: Math.max(MINIMUM_DISK_GIB, host?.disk.sizeGiB ?? 0),
    diskLevel: host?.disk.level ?? 'PL1',
  };
  return form === 'order' ? runInstances(order, words) : terraform(order, words);
}

/** `aliyun ecs RunInstances` with the parameters of the 2014-05-26 API; what only the person knows stays a placeholder. */
function runInstances(order: Order, words: Words): string {
  const parameters = [
    `--RegionId ${order.region}`,
    `--InstanceType ${order.instanceType}`,
    `--ImageId <${words.answer.order.imageId}>`,
    `--SecurityGroupId <${words.answer.order.securityGroup}>`,
    `--VSwitchId <${words.answer.order.vSwitch}>`,
    `--KeyPairName <${words.answer.order.keyPair}>`,
    '--SystemDisk.Category cloud_essd',
    `--SystemDisk.Size ${order.diskGiB}`,
    `--SystemDisk.PerformanceLevel ${order.diskLevel}`,
    ...chargeParameters(order.chargeType),
    '--InternetChargeType PayByTraffic',
    '--InternetMaxBandwidthOut 10',
    '--Amount 1',
    '--DryRun true',
  ];
  const images = `aliyun ecs DescribeImages --RegionId ${order.region} --InstanceType ${order.instanceType} --ImageOwnerAlias system --PageSize 100`;
  const command = ['aliyun ecs RunInstances', ...parameters].join(' \\\n  ');
  return `# ${words.answer.order.image}\n${images}\n# ${words.answer.order.fillIn}\n${command}`;
}

function chargeParameters(chargeType: ChargeType): readonly string[] {
  switch (chargeType) {
    case 'PostPaid':
      return ['--InstanceChargeType PostPaid'];
    case 'Spot':
      return ['--InstanceChargeType PostPaid', '--SpotStrategy SpotAsPriceGo', '--SpotDuration 1'];
    case 'PrePaid':
      return ['--InstanceChargeType PrePaid', '--Period 1', '--PeriodUnit Month'];
  }
}

function terraform(order: Order, words: Words): string {
  const variables = ['image_id', 'security_group_id', 'vswitch_id', 'key_name'].map(
    (name) => `variable "${name}" { type = string }`,
  );
  const charge =
    order.chargeType === 'PrePaid'
      ? ['instance_charge_type = "PrePaid"', 'period = 1']
      : [
          'instance_charge_type = "PostPaid"',
          ...(order.chargeType === 'Spot' ? ['spot_strategy = "SpotAsPriceGo"'] : []),
        ];
  const settings = [
    `instance_type = "${order.instanceType}"`,
    'image_id = var.image_id',
    'security_groups = [var.security_group_id]',
    'vswitch_id = var.vswitch_id',
    'key_name = var.key_name',
    'system_disk_category = "cloud_essd"',
    `system_disk_size = ${order.diskGiB}`,
    `system_disk_performance_level = "${order.diskLevel}"`,
    ...charge,
    'internet_charge_type = "PayByTraffic"',
    'internet_max_bandwidth_out = 10',
    'dry_run = true',
  ];
  return [
    `# ${words.answer.order.fillIn}`,
    `provider "alicloud" { region = "${order.region}" }`,
    ...variables,
    'resource "alicloud_instance" "training" {',
    ...settings.map((line) => `  ${line}`),
    '}',
  ].join('\n');
}
