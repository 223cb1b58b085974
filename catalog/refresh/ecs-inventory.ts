import { z } from 'zod';
import type { EcsClient } from './ecs-client.ts';
import { readable } from './readable-rows.ts';

const supportedType = z.object({ Value: z.string(), Status: z.string(), StatusCategory: z.string().optional() });
const resource = z.object({ SupportedResources: z.object({ SupportedResource: z.array(z.unknown()) }) });
const zoneRow = z.object({
  ZoneId: z.string(),
  AvailableResources: z.object({ AvailableResource: z.array(resource) }),
});
const resourceAnswer = z.object({
  // Absent when nothing at all is on sale.
  AvailableZones: z.object({ AvailableZone: z.array(z.unknown()) }).optional(),
});

/** Zones of a region that can deliver each type now (`DescribeAvailableResource`; every zone is read). */
export async function describeStock(
  client: EcsClient,
  region: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const parameters = { RegionId: region, DestinationResource: 'InstanceType', InstanceChargeType: 'PostPaid' };
  const answer = await client.call({ action: 'DescribeAvailableResource', region, parameters }, resourceAnswer);
  const zones = new Map<string, string[]>();
  for (const zone of readable(zoneRow, answer.AvailableZones?.AvailableZone ?? [])) {
    const supported = zone.AvailableResources.AvailableResource.flatMap(
      (one) => one.SupportedResources.SupportedResource,
    );
    for (const { Value, Status, StatusCategory } of readable(supportedType, supported)) {
      if (Status !== 'Available' || StatusCategory === 'WithoutStock') continue;
      const known = zones.get(Value);
      if (known === undefined) zones.set(Value, [zone.ZoneId]);
      else known.push(zone.ZoneId);
    }
  }
  return zones;
}

const typeRow = z.object({
  InstanceTypeId: z.string(),
  InstanceTypeFamily: z.string(),
  CpuCoreCount: z.number().int().positive(),
  MemorySize: z.number().positive(),
  GPUAmount: z.number().nonnegative().optional(),
  GPUSpec: z.string().optional(),
  GPUMemorySize: z.number().nonnegative().optional(),
  EriQuantity: z.number().optional(),
});
const typesAnswer = z.object({
  NextToken: z.string().optional(),
  InstanceTypes: z.object({ InstanceType: z.array(z.unknown()) }),
});

export type ApiInstanceType = z.infer<typeof typeRow>;

/** Pages of `DescribeInstanceTypes` are at most this long since 2023-11-15. */
const PAGE = '100';
const MOST_PAGES = 60;

/** Every type with a GPU. Rows that cannot be read are counted, not guessed. */
export async function describeGpuTypes(
  client: EcsClient,
  region: string,
): Promise<{ readonly types: readonly ApiInstanceType[]; readonly broken: number }> {
  const types: ApiInstanceType[] = [];
  let broken = 0;
  let token: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const parameters = {
      MaxResults: PAGE,
      MinimumGPUAmount: '1',
      ...(token === undefined ? {} : { NextToken: token }),
    };
    const answer = await client.call({ action: 'DescribeInstanceTypes', region, parameters }, typesAnswer);
    for (const raw of answer.InstanceTypes.InstanceType) {
      const row = typeRow.safeParse(raw);
      if (row.success) types.push(row.data);
      else broken += 1;
    }
    token = answer.NextToken === '' ? undefined : answer.NextToken;
    if (token === undefined) break;
  }
  return { types, broken };
}
