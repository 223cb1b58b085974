import type { Catalog } from '../../catalog/index.ts';
import type { InstanceRow } from '../../catalog/rows.ts';
import { namedGpus } from '../dialog/slots.ts';
import type { PriceFacts, PriceOffer } from '../reply/facts.ts';
import type { GpuMention, Slots } from '../understanding/understanding.ts';
import type { AnswerPorts } from './ports.ts';

/** Prices of every card, family or type that the conversation names, cheapest first. */
export function priceFacts(slots: Slots, ports: AnswerPorts): readonly PriceFacts[] {
  return namedGpus(slots).map((mention) => pricesOf(mention, slots, ports));
}

function pricesOf(mention: GpuMention, slots: Slots, ports: AnswerPorts): PriceFacts {
  const rows = instancesOf(mention, ports.catalog);
  const count = mention.count ?? slots.gpus;
  const wanted = count === undefined ? rows : rows.filter(({ gpuCount }) => gpuCount === count);
  const offers = (wanted.length > 0 ? wanted : rows).flatMap((row) => offerOf(row, slots, ports));
  const card = mention.name ?? mention.instance ?? mention.family ?? `${mention.memoryGiB ?? '?'} GB`;
  return {
    card,
    offers: offers.sort((left, right) => perGpu(left) - perGpu(right) || left.amountPerHour - right.amountPerHour),
    hours: slots.deadlineHours ?? null,
  };
}

function perGpu({ amountPerHour, gpus }: PriceOffer): number {
  return amountPerHour / gpus;
}

function instancesOf(mention: GpuMention, catalog: Catalog): readonly InstanceRow[] {
  if (mention.instance !== undefined) {
    const row = catalog.instance(mention.instance);
    return row === undefined ? [] : [row];
  }
  if (mention.family !== undefined) return catalog.instances.filter(({ family }) => family === mention.family);
  if (mention.name === undefined) return [];
  const match = catalog.findGpu(mention.name, mention.memoryGiB);
  const rows = match === undefined ? [] : 'ambiguous' in match ? match.ambiguous : [match];
  return rows.flatMap(({ name }) => catalog.proposable(name));
}

function offerOf(row: InstanceRow, slots: Slots, ports: AnswerPorts): readonly PriceOffer[] {
  const quote = ports.prices().find(row.instanceType, slots.region ?? ports.region);
  if (quote === undefined) return [];
  return [
    {
      card: ports.catalog.gpuByName(row.gpu)?.label ?? row.gpu,
      instanceType: row.instanceType,
      gpus: row.gpuCount,
      vcpu: row.vcpu,
      hostMemoryGiB: row.memoryGiB,
      amountPerHour: quote.amountPerHour,
      currency: quote.currency,
      region: quote.region,
      checkedOn: quote.checkedOn,
      observed: quote.observed,
    },
  ];
}
