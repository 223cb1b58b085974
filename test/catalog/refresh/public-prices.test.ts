import { afterEach, describe, expect, test } from 'vitest';
import { fetchPublicPrices } from '../../../catalog/refresh/public-prices.ts';
import { checkedUrl } from '../../../catalog/refresh/safe-fetch.ts';
import { type Answer, startVendor, type VendorServer } from '../../fakes/vendor-server.ts';

let vendor: VendorServer | undefined;
afterEach(async () => {
  await vendor?.close();
  vendor = undefined;
});

const A10 = 'ecs.gn7i-c8g1.2xlarge';
const T4 = 'ecs.gn6i-c4g1.xlarge';

async function serve(answer: Answer): Promise<string> {
  vendor = await startVendor(answer);
  return `${vendor.url}/price/download/instancePrice.json`;
}

/** Shape of the file as public clients of 2018 and 2026 read it. */
function priceFile(rows: Readonly<Record<string, unknown>>, head: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    currency: 'CNY',
    version: '2.0.421',
    publicationDate: '2026-11-29T08:15:52Z',
    ...head,
    pricingInfo: rows,
    disclaimer: 'list prices',
    type: 'instance',
    site: 'cn',
  });
}

const offer = (price: string) => ({
  hours: [{ price, period: '1' }],
  months: [{ price: '4575.66', period: '1' }],
  years: [{ price: '46671.7', period: '1' }],
});

const ask = (url: string) => fetchPublicPrices({ url, fetch, instanceTypes: new Set([A10, T4]), today: '2026-11-30' });

describe('the public price file', () => {
  test('keeps Linux prices of the VPC network for GPU types, with the day of the request', async () => {
    const url = await serve((_, response) =>
      response.end(
        priceFile({
          [`cn-hangzhou::${A10}::vpc::linux::optimized`]: offer('9.5326'),
          [`cn-hangzhou::${A10}::vpc::windows::optimized`]: offer('12'),
          [`cn-hangzhou::${A10}::classic::linux::optimized`]: offer('13'),
          'cn-hangzhou::ecs.g6.large::vpc::linux::optimized': offer('0.5'),
          [`us-east-1::${T4}::vpc::linux::optimized`]: offer('7.79'),
        }),
      ),
    );
    const { rows, broken } = await ask(url);
    expect(broken).toBe(0);
    expect(rows).toEqual([
      {
        region: 'cn-hangzhou',
        instanceType: A10,
        amountPerHour: 9.5326,
        currency: 'CNY',
        source: 'public-price-file',
        checkedOn: '2026-11-30',
      },
      {
        region: 'us-east-1',
        instanceType: T4,
        amountPerHour: 7.79,
        currency: 'CNY',
        source: 'public-price-file',
        checkedOn: '2026-11-30',
      },
    ]);
  });

  test('a few broken rows are left out and counted', async () => {
    const good = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`region-${index}::${A10}::vpc::linux::optimized`, offer('9.5')]),
    );
    const bad = {
      [`cn-a::${T4}::vpc::linux::optimized`]: { hours: [] },
      [`cn-b::${T4}::vpc::linux::optimized`]: offer('0'),
      [`cn-c::${T4}::vpc::linux::optimized`]: null,
      'no-parts': offer('1'),
    };
    const url = await serve((_, response) => response.end(priceFile({ ...good, ...bad })));
    const { rows, broken } = await ask(url);
    expect(rows).toHaveLength(20);
    expect(broken).toBe(3);
  });

  test.each([
    [
      'mostly broken',
      priceFile({ [`cn-a::${T4}::vpc::linux::optimized`]: {}, [`cn-b::${T4}::vpc::linux::optimized`]: offer('1') }),
    ],
    ['without GPU rows', priceFile({ 'cn-hangzhou::ecs.g6.large::vpc::linux::optimized': offer('0.5') })],
    ['without a currency', priceFile({ [`cn-a::${T4}::vpc::linux::optimized`]: offer('1') }, { currency: 'EUR' })],
    ['cut off', priceFile({ [`cn-a::${T4}::vpc::linux::optimized`]: offer('1') }).slice(0, -60)],
    ['an HTML page', '<html><body>busy</body></html>'],
    ['empty', ''],
  ])('a file that is %s gives no rows at all', async (_, body) => {
    const url = await serve((__, response) => response.end(body));
    await expect(ask(url)).rejects.toMatchObject({ code: 'invalid-catalog' });
  });

  test('an error answer, a broken connection and a redirect are "unreachable"', async () => {
    const failing = await serve((_, response) => response.writeHead(503).end());
    await expect(ask(failing)).rejects.toMatchObject({ code: 'platform-unreachable' });
    await vendor?.close();
    await expect(ask(failing)).rejects.toMatchObject({ code: 'platform-unreachable' });
    const breaking = await serve((_, response) => {
      response.write(priceFile({}).slice(0, 30));
      response.socket?.destroy();
    });
    await expect(ask(breaking)).rejects.toMatchObject({ code: 'platform-unreachable' });
    await vendor?.close();
    const redirecting = await serve((_, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    );
    await expect(ask(redirecting)).rejects.toMatchObject({ code: 'platform-unreachable' });
    expect(vendor?.seen).toHaveLength(1);
  });

  test('a page that names no price file is said to be unreachable, not followed elsewhere', async () => {
    vendor = await startVendor((_, response) => response.end('see http://169.254.169.254/latest/meta-data'));
    await expect(ask(`${vendor.url}/price/page`)).rejects.toMatchObject({ code: 'platform-unreachable' });
    expect(vendor.seen).toHaveLength(1);
  });
});

describe('40 MB', () => {
  test('stream in flat memory', async () => {
    const filler = JSON.stringify(offer('0.5'));
    const url = await serve((_, response) => {
      response.write('{"currency":"CNY","pricingInfo":{');
      response.write(`"cn-hangzhou::${A10}::vpc::linux::optimized":${JSON.stringify(offer('9.5'))}`);
      const line = (index: number) => `,"cn-x::ecs.g${index}.large::vpc::linux::optimized":${filler}`;
      let index = 0;
      const pump = () => {
        while (index < 250_000) {
          index += 1;
          if (!response.write(line(index))) {
            response.once('drain', pump);
            return;
          }
        }
        response.end('}}');
      };
      pump();
    });
    const before = process.memoryUsage().heapUsed;
    let highest = 0;
    const watch = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage().heapUsed - before);
    }, 20);
    const { rows } = await ask(url);
    clearInterval(watch);
    expect(rows).toHaveLength(1);
    // The text alone is over 40 MB and would take 80 MB as a string.
    expect(highest / 2 ** 20).toBeLessThan(60);
  });
});

describe('addresses', () => {
  test.each([
    'http://example.com/x.json',
    'ftp://127.0.0.1/x',
    'file:///etc/passwd',
    'https://user:secret@example.com/',
    'nonsense',
    'http://169.254.169.254/',
    'http://[::ffff:127.0.0.1]/',
  ])('refuses %s', (text) => {
    expect(() => checkedUrl(text)).toThrow(expect.objectContaining({ code: 'platform-refused' }));
  });

  test.each([
    'https://mirror.example.com/prices.json',
    'http://127.0.0.1:8080/p.json',
    'http://localhost:1/',
    'http://[::1]:1/',
  ])('allows %s', (text) => expect(checkedUrl(text).href).toContain('//'));

  test('an error never repeats what was in the address', () => {
    try {
      checkedUrl('https://user:topsecret@example.com/');
    } catch (error) {
      expect(String(error)).not.toContain('topsecret');
    }
  });
});
