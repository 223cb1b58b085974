import { describe, expect, test } from 'vitest';
import { createPriceBook } from '../../catalog/price-book.ts';
import { catalog, reply } from './replies.ts';

/** The claims of the guides and of people (catalog.md §5, advice.md), in both languages: what the answer must name. */
const CLAIMS: readonly (readonly [zh: string, en: string, right: readonly string[]])[] = [
  ['gn7e 是 A10 吧', 'gn7e is A10, right?', ['A100 80 GB', 'gn7i']],
  ['gn6v 是 V100 32G 吧', 'gn6v has V100 32GB, right?', ['V100', '16', 'gn6e']],
  ['gn8i 是 A100 80G 对吗', 'gn8i is A100 80GB, right?', ['gn7e', 'gn8is', 'L20 48 GB']],
  ['gn9y 是 H20 吧', 'gn9y is H20, right?', ['gn8v']],
  ['gn7 是 A10 吧', 'gn7 is A10, right?', ['A100 40 GB', 'gn7i']],
  ['gn7s 是 H20 96G', 'gn7s is H20 96GB', ['A30 24 GB', 'gn8v']],
  ['gn7s 是国产 H20 96G', 'gn7s is the domestic H20 96GB, right?', ['NVIDIA', 'A30 24 GB', 'gn8v']],
  [
    '用 ecs.gn7i-c8g1.4xlarge 训练 unet 512x512，每卡4张',
    'train unet 512x512 batch 4 on ecs.gn7i-c8g1.4xlarge',
    ['ecs.gn7i-c8g1.2xlarge', 'ecs.gn7i-c16g1.4xlarge'],
  ],
  [
    'RunInstances 用 --SystemDiskCategory cloud_essd 对吧',
    'I pass --SystemDiskCategory cloud_essd to RunInstances',
    ['SystemDisk.Category'],
  ],
  ['包月比按量便宜 30% 以上吧', 'a subscription saves 30%', ['480', '33.3 %']],
  [
    '镜像用 ubuntu_20_04_x64_20G_alibase_20230726.vhd 可以吗',
    'can I use image ubuntu_20_04_x64_20G_alibase_20230726.vhd',
    ['DescribeImages'],
  ],
  ['H20 是国产卡', 'H20 is a domestic GPU', ['NVIDIA', 'gp7']],
  ['AMP 显存减半', 'AMP halves the memory', ['46 %', '20 %', '24 %']],
  ['多卡显存可以相加吧', 'GPU memory adds up across cards, right?', ['batch']],
  ['两张卡显存能合起来用吧', 'two 16GB GPUs add up to 32GB, right?', ['batch']],
  ['T4 最便宜吧', 'T4 is the cheapest card, right?', ['¥11.63', '¥9.53', 'cn-hangzhou']],
];

describe('a claim that is wrong is put right, with its date', () => {
  test.each(CLAIMS.flatMap(([zh, en, right]) => [[zh, right] as const, [en, right] as const]))('%s', (text, right) => {
    const { fallback } = reply(text);
    for (const fact of right) expect(fallback).toContain(fact);
    expect(fallback).toMatch(/20\d\d-\d\d/);
  });

  test('the stated prices are those of the catalogue', () => {
    const price = (type: string) =>
      catalog.prices.rows
        .find((row) => row.instanceType === type && row.region === 'cn-hangzhou')
        ?.amountPerHour.toFixed(2);
    expect([price('ecs.gn6i-c4g1.xlarge'), price('ecs.gn7i-c8g1.2xlarge')]).toEqual(['11.63', '9.53']);
  });

  test.each([
    ['gn7i 是 A10 吧', '对，gn7i 就是 A10 24 GB'],
    ['gn6i 是不是 T4', '对，gn6i 就是 T4 16 GB'],
    ['gn6v 是 16G 的吧', '对，gn6v 就是 V100 16 GB'],
    ['gn7i has A10s, right?', 'Yes, gn7i is A10 24 GB'],
    ['Is gn6i a T4?', 'Yes, gn6i is T4 16 GB'],
    ['gn8v is H20, right?', 'Yes, gn8v is H20 96 GB'],
  ])('a right one is confirmed with its date: %s', (text, fact) => {
    const { fallback } = reply(text);
    expect(fallback).toContain(fact);
    expect(fallback).toMatch(/20\d\d-\d\d/);
  });

  test('a right one that nobody asks about is not repeated', () => {
    expect(reply('unet 512x512 batch 8 on gn7i, which is A10').beliefs).toEqual([]);
  });
});

describe('regions that are being shut down', () => {
  const closing = catalog.prices.head.closing?.regions ?? [];

  test('are proposed to nobody who did not name them', () => {
    expect(closing).toEqual(['cn-fuzhou', 'cn-nanjing']);
    const book = createPriceBook(catalog.prices);
    const proposed = new Set(catalog.instances.flatMap(({ instanceType }) => book.regionsOf(instanceType)));
    expect(closing.filter((region) => proposed.has(region))).toEqual([]);
  });

  test('are used when they are named, and it is said', () => {
    const { fallback } = reply('南京地域 unet 512x512 每卡4张 预算不限');
    expect(fallback).toMatch(/cn-nanjing 正在关停.*20\d\d-\d\d/);
    expect(fallback).toMatch(/推荐 ecs\./);
    expect(reply('unet 512x512 batch 4 in Shanghai, no limit').fallback).not.toContain('shut down');
  });
});
