import { afterEach, describe, expect, test } from 'vitest';
import { fetchApiPrices } from '../../../catalog/refresh/api-prices.ts';
import { createEcsClient } from '../../../catalog/refresh/ecs-client.ts';
import { describeGpuTypes, describeStock } from '../../../catalog/refresh/ecs-inventory.ts';
import { describePrice, describeSpotPrice } from '../../../catalog/refresh/ecs-prices.ts';
import { type Answer, sendJson, startVendor, type VendorServer } from '../../fakes/vendor-server.ts';

let vendor: VendorServer | undefined;
afterEach(async () => {
  await vendor?.close();
  vendor = undefined;
});

const SECRET = 'S3CRET-do-not-show';
const waits: number[] = [];

async function clientOf(answer: Answer, endpoint?: string) {
  waits.length = 0;
  vendor = await startVendor(answer);
  let calls = 0;
  return createEcsClient({
    credentials: { id: 'LTAIexample', secret: SECRET, securityToken: 'sts-token' },
    endpoint: endpoint ?? vendor.url,
    fetch,
    now: () => Date.UTC(2026, 10, 30),
    nonce: () => `nonce-${++calls}`,
    sleep: async (milliseconds) => {
      waits.push(milliseconds);
    },
  });
}

const place = { region: 'cn-hangzhou', instanceType: 'ecs.gn7i-c8g1.2xlarge' };

const priceAnswer = {
  RequestId: '04F0F334-1335-436C-A1D7-6C044FE73368',
  PriceInfo: {
    Price: {
      Currency: 'CNY',
      DiscountPrice: 0.5,
      OriginalPrice: 9.6166,
      TradePrice: 9.1166,
      DetailInfos: {
        DetailInfo: [
          { Resource: 'instanceType', OriginalPrice: 9.5326, DiscountPrice: 0.5, TradePrice: 9.0326 },
          { Resource: 'systemDisk', OriginalPrice: 0.084, DiscountPrice: 0, TradePrice: 0.084 },
        ],
      },
    },
    Rules: { Rule: [{ Description: 'x', RuleId: 'ONE_YEAR_85_PERCENT' }] },
  },
};

describe('DescribePrice', () => {
  test('takes the list price of the instance alone, and sends a disk that new types take', async () => {
    const client = await clientOf((_, response) => sendJson(response, priceAnswer));
    expect(await describePrice(client, place)).toEqual({ currency: 'CNY', amountPerHour: 9.5326 });
    const [request] = vendor?.seen ?? [];
    expect(request?.method).toBe('POST');
    expect(request?.query.get('SystemDisk.Category')).toBe('cloud_essd');
    expect(request?.query.get('RegionId')).toBe('cn-hangzhou');
    expect(request?.headers['x-acs-version']).toBe('2014-05-26');
    expect(request?.headers['authorization']).toMatch(
      /^ACS3-HMAC-SHA256 Credential=LTAIexample,SignedHeaders=host;x-acs-action/,
    );
    expect(request?.headers['x-acs-security-token']).toBe('sts-token');
  });

  test('without details the whole list price counts', async () => {
    const { DetailInfos: _, ...Price } = priceAnswer.PriceInfo.Price;
    const client = await clientOf((__, response) => sendJson(response, { PriceInfo: { Price } }));
    expect((await describePrice(client, place)).amountPerHour).toBe(9.6166);
  });

  test.each([[{}], [{ PriceInfo: { Price: { Currency: 'CNY', OriginalPrice: 0 } } }], ['text'], [null]])(
    'an unexpected answer (%j) is an error, not a price',
    async (body) => {
      const client = await clientOf((_, response) => sendJson(response, body));
      await expect(describePrice(client, place)).rejects.toMatchObject({ code: 'platform-unreachable' });
    },
  );
});

describe('throttling and refusals', () => {
  test('backs off, doubling the wait, and signs each try afresh', async () => {
    const client = await clientOf((_, response, attempt) => {
      if (attempt < 3) sendJson(response, { Code: 'Throttling.User', Message: 'slow down' }, 400);
      else sendJson(response, priceAnswer);
    });
    expect((await describePrice(client, place)).amountPerHour).toBe(9.5326);
    expect(waits).toEqual([500, 1000]);
    const nonces = vendor?.seen.map((request) => request.headers['x-acs-signature-nonce']);
    expect(new Set(nonces).size).toBe(3);
  });

  test('gives up after four tries', async () => {
    const client = await clientOf((_, response) => sendJson(response, { Code: 'Throttling' }, 400));
    await expect(describePrice(client, place)).rejects.toMatchObject({ code: 'platform-unreachable' });
    expect(vendor?.seen).toHaveLength(4);
  });

  test('a refusal is not repeated, carries the code, and neither message nor secret', async () => {
    const Message = `The AccessKey LTAIexample with secret ${SECRET} is wrong; string to sign POST&%2F&…`;
    const client = await clientOf((_, response) =>
      sendJson(response, { Code: 'InvalidAccessKeyId.NotFound', Message }, 404),
    );
    const error = await describePrice(client, place).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'platform-refused', details: { code: 'InvalidAccessKeyId.NotFound' } });
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toMatch(/S3CRET|LTAI|sts-token/);
    expect(vendor?.seen).toHaveLength(1);
  });

  test('a code that is no code is not repeated to the log', async () => {
    const client = await clientOf((_, response) => sendJson(response, { Code: 'x <script> 1' }, 403));
    await expect(describePrice(client, place)).rejects.toMatchObject({ details: { code: 'Unknown' } });
  });

  test('a region is a region, not part of somebody else’s host', async () => {
    const client = await clientOf((_, response) => sendJson(response, priceAnswer));
    for (const region of ['evil.example.com/', 'cn-hangzhou@evil', '', 'CN-HANGZHOU', 'cn-hangzhou.evil.com#']) {
      await expect(describePrice(client, { ...place, region })).rejects.toMatchObject({ code: 'platform-refused' });
    }
    expect(vendor?.seen).toHaveLength(0);
  });

  test('plain HTTP beyond the machine is refused before anything is sent', async () => {
    const client = await clientOf((_, response) => sendJson(response, priceAnswer), 'http://ecs.example.com');
    await expect(describePrice(client, place)).rejects.toMatchObject({ code: 'platform-refused' });
  });
});

describe('DescribeSpotPriceHistory', () => {
  const row = (ZoneId: string, SpotPrice: unknown, Timestamp: string) => ({
    ZoneId,
    SpotPrice,
    Timestamp,
    OriginPrice: 9.53,
  });

  test('latest price of the cheapest zone; broken rows do not spoil it', async () => {
    const SpotPriceType = [
      row('cn-hangzhou-i', 3.1, '2026-11-29T10:00:00Z'),
      row('cn-hangzhou-i', 2.9, '2026-11-29T12:00:00Z'),
      row('cn-hangzhou-j', 2.5, '2026-11-29T09:00:00Z'),
      row('cn-hangzhou-j', 3.5, '2026-11-29T12:00:00Z'),
      row('cn-hangzhou-k', 'n/a', '2026-11-29T12:00:00Z'),
      row('cn-hangzhou-k', 0, '2026-11-29T12:00:00Z'),
      { ZoneId: 'cn-hangzhou-h' },
    ];
    const client = await clientOf((_, response) =>
      sendJson(response, { NextOffset: 7, Currency: 'CNY', SpotPrices: { SpotPriceType } }),
    );
    expect(await describeSpotPrice(client, place)).toEqual({
      currency: 'CNY',
      amountPerHour: 2.9,
      zone: 'cn-hangzhou-i',
    });
    expect(vendor?.seen[0]?.query.get('NetworkType')).toBe('vpc');
  });

  test('no market, no price', async () => {
    const client = await clientOf((_, response) =>
      sendJson(response, { Currency: 'CNY', SpotPrices: { SpotPriceType: [] } }),
    );
    expect(await describeSpotPrice(client, place)).toBeUndefined();
  });
});

describe('DescribeAvailableResource', () => {
  test('reads every zone, not the first', async () => {
    const zone = (ZoneId: string, supported: readonly unknown[]) => ({
      ZoneId,
      Status: 'Available',
      AvailableResources: {
        AvailableResource: [{ Type: 'InstanceType', SupportedResources: { SupportedResource: supported } }],
      },
    });
    const client = await clientOf((_, response) =>
      sendJson(response, {
        AvailableZones: {
          AvailableZone: [
            zone('cn-hangzhou-h', [{ Value: 'ecs.a', Status: 'SoldOut', StatusCategory: 'WithoutStock' }]),
            zone('cn-hangzhou-i', [{ Value: 'ecs.a', Status: 'Available', StatusCategory: 'WithStock' }, { Value: 1 }]),
            zone('cn-hangzhou-j', [{ Value: 'ecs.a', Status: 'Available', StatusCategory: 'ClosedWithStock' }]),
            { ZoneId: 'broken' },
          ],
        },
      }),
    );
    expect(await describeStock(client, 'cn-hangzhou')).toEqual(
      new Map([['ecs.a', ['cn-hangzhou-i', 'cn-hangzhou-j']]]),
    );
  });

  test('nothing on sale', async () => {
    const client = await clientOf((_, response) => sendJson(response, { RequestId: 'x' }));
    expect((await describeStock(client, 'cn-hangzhou')).size).toBe(0);
  });
});

describe('DescribeInstanceTypes', () => {
  const type = (InstanceTypeId: string) => ({
    InstanceTypeId,
    InstanceTypeFamily: 'ecs.gn7i',
    CpuCoreCount: 8,
    MemorySize: 30,
    GPUAmount: 1,
    GPUSpec: 'NVIDIA A10',
    GPUMemorySize: 24,
  });

  test('follows the pages and counts rows that cannot be read', async () => {
    const client = await clientOf((request, response) => {
      const isLast = request.query.get('NextToken') === 'two';
      const rows = isLast ? [type('ecs.b')] : [type('ecs.a'), { InstanceTypeId: 'ecs.broken' }];
      sendJson(response, { NextToken: isLast ? '' : 'two', InstanceTypes: { InstanceType: rows } });
    });
    const { types, broken } = await describeGpuTypes(client, 'cn-hangzhou');
    expect(types.map((one) => one.InstanceTypeId)).toEqual(['ecs.a', 'ecs.b']);
    expect(broken).toBe(1);
    expect(vendor?.seen[0]?.query.get('MaxResults')).toBe('100');
  });

  test('a token that never ends does not loop for ever', async () => {
    const client = await clientOf((_, response) =>
      sendJson(response, { NextToken: 'again', InstanceTypes: { InstanceType: [] } }),
    );
    await describeGpuTypes(client, 'cn-hangzhou');
    expect(vendor?.seen).toHaveLength(60);
  });
});

describe('prices of a region', () => {
  test('a type that is not sold here is left out; a refusal of the account ends it', async () => {
    const answer: Answer = (request, response) => {
      const instanceType = request.query.get('InstanceType');
      if (instanceType === 'ecs.gone') sendJson(response, { Code: 'PriceNotFound' }, 400);
      else if (instanceType === 'ecs.denied') sendJson(response, { Code: 'Forbidden.RAM' }, 403);
      else if (request.action === 'DescribePrice') sendJson(response, priceAnswer);
      else sendJson(response, { Currency: 'CNY', SpotPrices: { SpotPriceType: [] } });
    };
    const client = await clientOf(answer);
    const options = { client, region: 'cn-hangzhou', today: '2026-11-30' };
    const { rows, unsold } = await fetchApiPrices({ ...options, instanceTypes: ['ecs.gone', place.instanceType] });
    expect(rows).toEqual([
      { ...place, currency: 'CNY', amountPerHour: 9.5326, source: 'ecs-api', checkedOn: '2026-11-30' },
    ]);
    expect(unsold).toEqual(['ecs.gone']);
    await expect(fetchApiPrices({ ...options, instanceTypes: ['ecs.denied'] })).rejects.toMatchObject({
      code: 'platform-refused',
    });
  });
});
