import type { InstanceRow } from '../../../catalog/rows.ts';
import type { Price } from '../recommendation.ts';
import { toCny } from './money.ts';

/** One instance type as it can be had in the asked region. */
export interface Offer {
  readonly instance: InstanceRow;
  /** Null: no price of this type in the region. */
  readonly price: Price | null;
  /** Other regions with a price; with `price` null and none here, the price is on request. */
  readonly soldIn: readonly string[];
  /** Within budget and deadline; true where nothing is known to judge by. */
  readonly within: boolean;
}

/** advice.md, "Best of the model": host memory beside GPU memory, and vCPUs per GPU (guide 2, section 4). */
const HOST_RULE = { memoryRatio: 1.5, vcpuPerGpu: 8 } as const;
/** How much more a type that keeps the host rule may cost than the cheapest. */
const HOST_RULE_WORTH = 1.15;

interface HostRule {
  readonly memory: boolean;
  readonly cpu: boolean;
}

function gpuMemoryGiB(instance: InstanceRow): number {
  return (instance.gpuMemoryGB ?? 0) * instance.gpuCount;
}

export function ruleMemoryGiB(instance: InstanceRow): number {
  return HOST_RULE.memoryRatio * gpuMemoryGiB(instance);
}

export function hostRule(instance: InstanceRow): HostRule {
  return {
    memory: instance.memoryGiB >= ruleMemoryGiB(instance),
    cpu: instance.vcpu >= HOST_RULE.vcpuPerGpu * instance.gpuCount,
  };
}

const keepsHostRule = ({ instance }: Offer): boolean => hostRule(instance).memory && hostRule(instance).cpu;

function bySize(left: Offer, right: Offer): number {
  return (
    left.instance.vcpu - right.instance.vcpu ||
    left.instance.memoryGiB - right.instance.memoryGiB ||
    // Special variants (`gn8v-tee`) have longer names than the plain family.
    left.instance.instanceType.length - right.instance.instanceType.length ||
    compareText(left.instance.instanceType, right.instance.instanceType)
  );
}

export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

const smallest = <O extends Offer>(offers: readonly O[]): O | undefined =>
  offers.filter(keepsHostRule).sort(bySize)[0] ?? [...offers].sort(bySize)[0];

function bestPriced<O extends Offer>(offers: readonly O[], usdCny: number): O | undefined {
  const perHour = ({ price }: Offer) =>
    price === null ? Number.POSITIVE_INFINITY : toCny(price.amount, price.currency, usdCny);
  const byPrice = (left: Offer, right: Offer) =>
    perHour(left) - perHour(right) || Number(keepsHostRule(right)) - Number(keepsHostRule(left)) || bySize(left, right);
  const sorted = [...offers].sort(byPrice);
  const cheapest = sorted[0];
  const keeper = sorted.find(keepsHostRule);
  if (cheapest === undefined || keeper === undefined) return cheapest;
  return perHour(keeper) <= perHour(cheapest) * HOST_RULE_WORTH ? keeper : cheapest;
}

/** The type to show for one GPU model and number of GPUs; undefined when there is none at all. */
export function bestOffer<O extends Offer>(offers: readonly O[], usdCny: number): O | undefined {
  if (offers.length < 2) return offers[0];
  const here = offers.filter((offer) => offer.price !== null || offer.soldIn.length === 0);
  if (here.length === 0) return smallest(offers);
  const affordable = here.filter((offer) => offer.within);
  const pool = affordable.length > 0 ? affordable : here;
  const priced = pool.filter((offer) => offer.price !== null);
  return priced.length > 0 ? bestPriced(priced, usdCny) : smallest(pool);
}
