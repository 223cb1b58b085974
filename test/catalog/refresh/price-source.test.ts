import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { builtInFolder, loadCatalog } from '../../../catalog/index.ts';
import { createPriceSource, type PriceSettings } from '../../../catalog/refresh/price-source.ts';
import { refreshCatalog } from '../../../catalog/refresh/refresh.ts';
import { type Answer, sendJson, startVendor, type VendorServer } from '../../fakes/vendor-server.ts';

let vendor: VendorServer | undefined;
let folder: string | undefined;
afterEach(async () => {
  await vendor?.close();
  vendor = undefined;
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});

const catalog = loadCatalog();
const A10 = 'ecs.gn7i-c8g1.2xlarge';
const credentials = { id: 'LTAIexample', secret: 'S3CRET' };
const clock = {
  now: () => Date.UTC(2026, 10, 30),
  nonce: () => String(Math.random()),
  sleep: async () => undefined,
};

const file = (price: string, region = 'cn-hangzhou') =>
  JSON.stringify({
    currency: 'CNY',
    pricingInfo: { [`${region}::${A10}::vpc::linux::optimized`]: { hours: [{ price, period: '1' }] } },
  });

const api: Answer = (request, response) => {
  if (request.action === 'DescribePrice') {
    sendJson(response, {
      PriceInfo: { Price: { Currency: 'CNY', OriginalPrice: request.query.get('RegionId') === 'cn-beijing' ? 7 : 8 } },
    });
  } else if (request.action === 'DescribeSpotPriceHistory') {
    const SpotPriceType = [{ ZoneId: 'z', SpotPrice: 2.5, Timestamp: '2026-11-29T12:00:00Z' }];
    sendJson(response, { Currency: 'CNY', SpotPrices: { SpotPriceType } });
  } else if (request.action === 'DescribeAvailableResource') {
    const SupportedResource = [{ Value: A10, Status: 'Available', StatusCategory: 'WithStock' }];
    const AvailableResource = [{ Type: 'InstanceType', SupportedResources: { SupportedResource } }];
    const AvailableZone = [{ ZoneId: 'cn-hangzhou-i', AvailableResources: { AvailableResource } }];
    sendJson(response, { AvailableZones: { AvailableZone } });
  } else {
    const type = { InstanceTypeId: A10, InstanceTypeFamily: 'ecs.gn7i', CpuCoreCount: 9, MemorySize: 31 };
    const fresh = {
      ...type,
      InstanceTypeId: 'ecs.gn99.xlarge',
      InstanceTypeFamily: 'ecs.gn99',
      GPUAmount: 1,
      GPUSpec: 'GPU X',
    };
    sendJson(response, { NextToken: '', InstanceTypes: { InstanceType: [type, fresh] } });
  }
};

async function sourceOf(answer: Answer, settings: (url: string) => PriceSettings) {
  vendor = await startVendor(answer);
  const failures: { code: string; reason: string }[] = [];
  const source = createPriceSource({
    ...clock,
    settings: settings(vendor.url),
    table: catalog.prices,
    instanceTypes: [A10],
    region: 'cn-hangzhou',
    fetch,
    onFailure: (failure) => failures.push(failure),
  });
  return { source, failures };
}

const publicFile = (url: string): PriceSettings => ({ origin: 'public', url: `${url}/instancePrice.json` });
const signed = (url: string): PriceSettings => ({ origin: 'api', endpoint: url, credentials });
const hourly = (
  source: { book(): { find(type: string, region: string): { amountPerHour: number } | undefined } },
  region = 'cn-hangzhou',
) => source.book().find(A10, region)?.amountPerHour;

describe('the price source of the bot', () => {
  test('a snapshot never asks anybody', async () => {
    const { source } = await sourceOf(api, () => ({ origin: 'snapshot' }));
    await source.refresh();
    expect(source.book()).toMatchObject({ origin: 'snapshot', fellBack: false });
    expect(vendor?.seen).toHaveLength(0);
  });

  test('public: the snapshot until the file is in, then the new prices with their day', async () => {
    const { source } = await sourceOf((_, response) => response.end(file('8.8')), publicFile);
    expect(hourly(source)).toBeCloseTo(9.53, 2);
    await source.refresh();
    expect(hourly(source)).toBe(8.8);
    expect(source.book()).toMatchObject({ origin: 'public', fellBack: false });
    expect(source.book().find(A10, 'cn-hangzhou')?.checkedOn).toBe('2026-11-30');
    expect(hourly(source, 'cn-shanghai')).toBeCloseTo(9.53, 2);
  });

  test('a source that fails leaves the snapshot and says so', async () => {
    const { source, failures } = await sourceOf((_, response) => response.writeHead(500).end(), publicFile);
    await source.refresh();
    expect(hourly(source)).toBeCloseTo(9.53, 2);
    expect(source.book()).toMatchObject({ origin: 'snapshot', fellBack: true });
    expect(failures).toEqual([{ code: 'platform-unreachable', reason: expect.stringContaining('500') }]);
  });

  test('a malformed file changes nothing that was already known', async () => {
    const { source, failures } = await sourceOf(
      (_, response, attempt) => response.end(attempt === 1 ? file('8.8') : file('1').slice(0, 40)),
      publicFile,
    );
    await source.refresh();
    await source.refresh();
    expect(hourly(source)).toBe(8.8);
    expect(failures.map((one) => one.code)).toEqual(['invalid-catalog']);
    expect(source.book().fellBack).toBe(true);
  });

  test('api: list and spot price; another region is asked once somebody wants it', async () => {
    const { source } = await sourceOf(api, signed);
    await source.refresh();
    expect(source.book().find(A10, 'cn-hangzhou')).toMatchObject({ amountPerHour: 8, spotPerHour: 2.5 });
    expect(hourly(source, 'cn-beijing')).toBeCloseTo(9.53, 2);
    await source.refresh();
    expect(hourly(source, 'cn-beijing')).toBe(7);
  });

  test('api: zones with stock, and prices even where stock may not be asked', async () => {
    const { source } = await sourceOf(api, signed);
    expect(source.book().find(A10, 'cn-hangzhou')).not.toHaveProperty('zonesWithStock');
    await source.refresh();
    expect(source.book().find(A10, 'cn-hangzhou')?.zonesWithStock).toEqual(['cn-hangzhou-i']);
    expect(source.book().find('ecs.gn6i-c4g1.xlarge', 'cn-hangzhou')?.zonesWithStock).toEqual([]);
    await vendor?.close();
    const denied: Answer = (request, response, attempt) =>
      request.action === 'DescribeAvailableResource'
        ? sendJson(response, { Code: 'Forbidden.RAM' }, 403)
        : api(request, response, attempt);
    const { source: limited, failures } = await sourceOf(denied, signed);
    await limited.refresh();
    expect(hourly(limited)).toBe(8);
    expect(limited.book().fellBack).toBe(false);
    expect(failures.map((one) => one.code)).toEqual(['platform-refused']);
  });

  test('api: what a person types never becomes a request', async () => {
    const { source } = await sourceOf(api, signed);
    await source.refresh();
    const before = vendor?.seen.length;
    hourly(source, 'evil.example.com');
    await source.refresh();
    expect(vendor?.seen.length).toBe((before ?? 0) * 2);
    expect(vendor?.seen.every((request) => request.query.get('RegionId') === 'cn-hangzhou')).toBe(true);
  });

  test('api: one refresh at a time', async () => {
    const { source } = await sourceOf(api, signed);
    await Promise.all([source.refresh(), source.refresh(), source.refresh()]);
    expect(vendor?.seen.filter((request) => request.action === 'DescribePrice')).toHaveLength(1);
  });

  test('failures name no secret', async () => {
    const { source, failures } = await sourceOf(
      (_, response) =>
        sendJson(response, { Code: 'SignatureDoesNotMatch', Message: 'secret S3CRET id LTAIexample' }, 400),
      signed,
    );
    await source.refresh();
    expect(failures).toHaveLength(1);
    expect(JSON.stringify(failures)).not.toMatch(/S3CRET|LTAIexample/);
  });

  test('started and stopped, it leaves nothing running', async () => {
    const { source } = await sourceOf((_, response) => response.end(file('8.8')), publicFile);
    source.start();
    source.start();
    source.stop();
    await source.refresh();
    expect(hourly(source)).toBe(8.8);
  });
});

describe('npm run catalog:refresh', () => {
  async function refreshed(answer: Answer, settings: (url: string) => PriceSettings) {
    vendor = await startVendor(answer);
    folder = mkdtempSync(join(tmpdir(), 'refresh-'));
    cpSync(builtInFolder, folder, { recursive: true, filter: (from) => !from.endsWith('.ts') });
    const written = await refreshCatalog({
      ...clock,
      settings: settings(vendor.url),
      catalog,
      folder,
      region: 'cn-hangzhou',
      fetch,
    });
    return { written, after: loadCatalog(folder) };
  }

  test('public: rows of the file replace theirs, the others keep their day', async () => {
    const { written, after } = await refreshed((_, response) => response.end(file('8.8')), publicFile);
    expect(written).toEqual([{ written: 1, file: 'prices/alibaba.json' }]);
    const rows = after.prices.rows.filter((row) => row.instanceType === A10);
    expect(rows.find((row) => row.region === 'cn-hangzhou')).toMatchObject({
      amountPerHour: 8.8,
      checkedOn: '2026-11-30',
    });
    expect(rows.find((row) => row.region === 'cn-beijing')?.checkedOn).toBe('2024-12-30');
    expect(after.prices.rows).toHaveLength(693);
    expect(after.prices.head.sources).toHaveProperty('public-price-file');
    expect(after.prices.observations).toHaveLength(7);
  });

  test('api: types are renewed, new ones kept as unknown and never proposed', async () => {
    const { after } = await refreshed(api, signed);
    expect(after.instance(A10)).toMatchObject({ vcpu: 9, memoryGiB: 31, checkedOn: '2026-11-30', gpu: 'NVIDIA A10' });
    expect(after.instance('ecs.gn99.xlarge')).toMatchObject({ gpu: 'GPU X', mode: 'passthrough' });
    expect(after.proposable('GPU X')).toEqual([]);
    expect(
      after.prices.rows.find((row) => row.instanceType === A10 && row.region === 'cn-hangzhou'),
    ).not.toHaveProperty('spotPerHour');
  });

  test('a source that fails leaves the files as they were', async () => {
    const before = readFileSync(join(builtInFolder, 'prices/alibaba.json'), 'utf8');
    await expect(refreshed((_, response) => response.end('{"currency":'), publicFile)).rejects.toMatchObject({
      code: 'invalid-catalog',
    });
    expect(readFileSync(join(folder ?? '', 'prices/alibaba.json'), 'utf8')).toBe(before);
  });
});
