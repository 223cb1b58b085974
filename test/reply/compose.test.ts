import { describe, expect, test } from 'vitest';

import type { Block, Reply } from '../../src/reply/reply.ts';
import { answerPorts, converse } from '../contracts/golden-replies.ts';

const REQUEST = 'deeplabv3+ resnet50，512x1024，每卡2张，19类，预算 15 元/小时';

function last(locale: 'zh' | 'en', ...turns: readonly string[]): Reply {
  const reply = converse(locale, turns).at(-1);
  if (reply === undefined) throw new Error('nothing was said');
  return reply;
}

function find<Kind extends Block['kind']>(reply: Reply, kind: Kind): Extract<Block, { kind: Kind }> {
  const block = reply.blocks.find((one): one is Extract<Block, { kind: Kind }> => one.kind === kind);
  if (block === undefined) throw new Error(`no ${kind}`);
  return block;
}

const verdict = (reply: Reply): string => find(reply, 'verdict').text;

describe('the answer', () => {
  const reply = last('zh', REQUEST);

  test('begins with what it needs, what to rent and what it costs', () => {
    expect(reply.kind).toBe('answer');
    expect(reply.blocks[0]?.kind).toBe('verdict');
    expect(verdict(reply)).toMatch(
      /^需要 7\.0 GiB\/卡（nvidia-smi 约 [\d.]+）→ 推荐 ecs\.gn7i-c16g1\.4xlarge：1×A10 .*¥10\.09\/时，预算 ¥15\/时 内$/,
    );
    expect(reply.fallback.split('\n')[0]).toBe(verdict(reply));
  });

  test('shows three tiers of real instance types, the recommended one marked', () => {
    const { rows } = find(reply, 'tiers');
    expect(rows.map(({ tier }) => tier)).toEqual(['A 入门', 'B 标准', 'C 高性能']);
    for (const { instance } of rows) expect(answerPorts.catalog.instance(instance)).toBeDefined();
    expect(rows.filter(({ recommended }) => recommended).map(({ instance }) => instance)).toEqual([
      'ecs.gn7i-c16g1.4xlarge',
    ]);
  });

  test('says where the memory goes; the parts sum to what nvidia-smi shows', () => {
    const { segments, note } = find(reply, 'bar');
    const total = segments.reduce((sum, { bytes }) => sum + bytes, 0) / 1024 ** 3;
    const shown = Number(/约 ([\d.]+)/.exec(verdict(reply))?.[1]);
    expect(Math.abs(total - shown)).toBeLessThan(0.1);
    expect(segments[0]?.hint).toMatch(/backbone\.layer\d [\d.]+/);
    expect(note).toContain('log_softmax');
  });

  test('offers changes with their savings, network and library first among the assumptions, dated prices', () => {
    const tips = find(reply, 'list');
    expect(tips.items.some((item) => /混合精度.*省 \d/.test(item))).toBe(true);
    const { text } = find(reply, 'note');
    expect(text).toMatch(/^假设 {2}deeplabv3plus resnet50 · 按 MMSegmentation 的版本（smp 版约 \d/);
    expect(text).toMatch(/价格 \d{4}-\d{2}-\d{2} cn-hangzhou/);
    expect(text).toMatch(/误差 ±\d/);
  });

  test('the order command has real parameters and is marked as unfinished', () => {
    const { text } = find(reply, 'code');
    expect(text).toContain('--SystemDisk.Category cloud_essd');
    expect(text).toContain('--DryRun true');
    expect(text).toContain('--InstanceType ecs.gn7i-c16g1.4xlarge');
    expect(text).not.toContain('SystemDiskCategory');
    expect(text).not.toMatch(/alibase_\d{8}/);
    expect(text).toMatch(/--SecurityGroupId <.+>/);
  });

  test('the same in English', () => {
    const english = last('en', 'deeplabv3+ resnet50, 512x1024, 2 per GPU, 19 classes, budget 15 CNY/h');
    expect(verdict(english)).toMatch(
      /^Needs 7\.0 GiB per GPU \(nvidia-smi ≈ [\d.]+\) → take ecs\.gn7i-c16g1\.4xlarge: 1×A10 .*, within your ¥15\/h$/,
    );
    expect(find(english, 'tiers').rows.map(({ tier }) => tier)).toEqual(['A starter', 'B standard', 'C high end']);
  });

  test('every choice is short and understood when it is typed', () => {
    expect(reply.choices.length).toBeGreaterThanOrEqual(5);
    for (const { label, say } of reply.choices) {
      expect(label.length).toBeLessThanOrEqual(20);
      const answer = last('zh', REQUEST, say);
      expect(verdict(answer), say).not.toContain('没听懂');
    }
  });
});

describe('questions', () => {
  test('come one at a time, with the reason, and the budget one carries the memory verdict', () => {
    const replies = converse('zh', ['我想训个分割模型，要多大的卡', 'deeplabv3+ resnet50', '512x1024', '每卡2张']);
    expect(replies.map(({ kind }) => kind)).toEqual(['question', 'question', 'question', 'question']);
    expect(replies[3]?.fallback).toMatch(/^需要 7\.0 GiB/);
    expect(replies[3]?.fallback).toContain('预算多少');
    for (const { choices } of replies) expect(choices.length).toBeGreaterThan(0);
  });

  test('repeat with examples, then with the default', () => {
    const replies = converse('en', ['unet', 'hmm', 'hmm', 'use the default']);
    expect(replies[1]?.fallback).toContain('for example');
    expect(replies[2]?.fallback).toContain('512×512');
    expect(replies[3]?.fallback).toMatch(/batch/i);
  });
});

describe('other questions', () => {
  test('does it fit', () => {
    expect(verdict(last('zh', 'deeplabv3+ resnet50 512x1024 每卡2张 A10 够吗'))).toMatch(/^放得下：A10/);
    expect(verdict(last('en', 'deeplabv3+ resnet101 512x1024 batch 16, does it fit on a T4?'))).toMatch(/^(No|Not)/);
  });

  test('the largest batch really is the largest', () => {
    const text = verdict(last('zh', 'deeplabv3+ resnet50 512x1024，A10 每卡最多放几张'));
    const batch = Number(/最多 (\d+) 张/.exec(text)?.[1]);
    expect(batch).toBeGreaterThan(1);
    expect(verdict(last('zh', `deeplabv3+ resnet50 512x1024 每卡${batch}张 A10 够吗`))).toMatch(/^放得下/);
    expect(verdict(last('zh', `deeplabv3+ resnet50 512x1024 每卡${batch + 1}张 A10 够吗`))).not.toMatch(/^放得下/);
  });

  test('prices of a card without any workload, with date and region', () => {
    const reply = last('zh', 'A10 按量一小时多少钱？');
    expect(verdict(reply)).toMatch(/^A10 ¥9\.53\/时 起/);
    expect(find(reply, 'note').text).toMatch(/\d{4}-\d{2}-\d{2}/);
  });

  test('two cards side by side, with their pace and cost', () => {
    const reply = last('zh', 'A10 和 V100 32G 训 deeplabv3+ r101 769x769 batch 4 哪个快');
    const lines = reply.blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : []));
    expect(lines.filter((line) => /每步 [\d.–]+ 秒，千步 ¥[\d.]+$/.test(line))).toHaveLength(2);
  });

  test('a card that holds the run and is too slow for the deadline', () => {
    const run = 'segformer b2 512x512 batch 8 160k iter 5 小时内训完';
    expect(verdict(last('zh', `${run}，A10 够吗`))).toMatch(/^放得下：A10.*；但 5 小时内训不完，约要 [\d.]+ 小时$/);
    expect(verdict(last('zh', `${run}，A10 和 A100 80G 选哪个`))).toMatch(/^选 A100 80GB：放得下(?!.*训不完)/);
    expect(verdict(last('en', 'segformer b2 512x512 batch 8, my 3090, 160k iters done in 3 hours?'))).toContain(
      'but not done within 3 h',
    );
  });

  test('impossible counts of a constructor are asked for again', () => {
    const [first, second] = converse('zh', ['smp.Unet(classes=-5) 512 batch 8 预算不限', '5']);
    expect(first?.fallback).toMatch(/^类别数超出了能训练的范围（1 到 100000）/);
    expect(second?.fallback).toMatch(/^需要 [\d.]+ GiB/);
    expect(last('zh', 'smp.Unet(in_channels=0) 512 batch 8 预算不限').fallback).toMatch(/^输入通道数超出/);
  });

  test('spot without a known price says what it was judged at', () => {
    expect(find(last('zh', 'segformer b2 512x512 batch 8 抢占式 预算 20/时'), 'note').text).toContain('没有抢占式的价');
  });

  test('two networks side by side', () => {
    const reply = last('zh', 'unet 和 segformer b2 哪个省显存 512 bs 4');
    expect(verdict(reply)).toContain('更省');
    expect(find(reply, 'facts').items).toHaveLength(2);
  });

  test('a failure is explained with its figures beside the estimate', () => {
    const oom =
      'CUDA out of memory. Tried to allocate 1006.00 MiB (GPU 0; 10.91 GiB total capacity; 9.18 GiB already allocated; 569.81 MiB free; 9.49 GiB reserved in total by PyTorch)';
    const [first, second] = converse('en', [oom, 'unet 1024x1024 bs 2']);
    expect(first?.fallback).toContain('truly too big');
    expect(first?.fallback).toContain('10.9 GiB');
    expect(second?.fallback).toContain('the card has 10.9 GiB');
  });

  const HEAVY =
    'CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 15.78 GiB total capacity; 14.10 GiB already allocated; 100.00 MiB free; 14.60 GiB reserved in total by PyTorch)';

  test('a failure that shows more than the estimate is reconciled, not asserted', () => {
    for (const [locale, more, causes] of [
      ['zh', '实际跑的比说的重', '可能差在哪'],
      ['en', 'the real run is heavier', 'What could make the difference'],
    ] as const) {
      const reply = last(locale, `deeplabv3+ r101 512x1024 batch 2\n${HEAVY}`);
      expect(verdict(reply)).toContain(more);
      expect(verdict(reply)).toMatch(/14\.6 GiB.*10\.\d GiB/);
      expect(reply.fallback).toContain(causes);
      expect(reply.fallback).toMatch(/2\.\d+ (张|images)/);
      expect(reply.fallback).not.toMatch(/truly too big|确实放不下/);
      expect(reply.fallback).toContain('ecs.');
      expect(find(reply, 'bar').level).toBe('details');
    }
  });

  test('a shared card does not hide that the run itself is larger than described', () => {
    const shared =
      'CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 23.69 GiB total capacity; 18.13 GiB already allocated; 100.00 MiB free; 18.50 GiB reserved in total by PyTorch)';
    const reply = last('en', `deeplabv3+ r101 512x1024 batch 2\n${shared}`);
    expect(verdict(reply)).toContain('Another process');
    expect(reply.fallback).toContain('the real run is heavier');
    expect(reply.fallback).not.toContain('nothing else is in the way');
    expect(reply.fallback).toContain('nvidia-smi');
  });

  test('a failure waits for its workload, and what is changed afterwards is a plain question', () => {
    const [first, second, third] = converse('zh', [HEAVY, 'segformer b2 1024x1024 batch 2', 'batch 1 呢']);
    expect(first === undefined ? '' : verdict(first)).toContain('放不下');
    expect(second === undefined ? '' : verdict(second)).toContain('14.6 GiB');
    expect(second?.fallback).not.toContain('把整段报错贴过来');
    expect(third === undefined ? '' : verdict(third)).toMatch(/^放得下/);
  });

  test('a failure within the estimate of a card that is just large enough stands on the edge', () => {
    const tight = HEAVY.replace('14.10', '9.60').replace('15.78', '11.90').replace('14.60', '10.60');
    expect(verdict(last('zh', `deeplabv3+ r101 512x1024 batch 2\n${tight}`))).toContain('卡在边上');
  });

  test('a sum for the run says how far it goes, a run of known length what it takes', () => {
    const bought = verdict(last('zh', 'deeplabv3+ r50 512x1024 bs 2 预算总共 500 元'));
    const [, price = '', hours = ''] = /¥([\d.]+)\/时.*够用 ([\d.]+) 小时/.exec(bought) ?? [];
    expect(Math.abs(Number(hours) - 500 / Number(price))).toBeLessThan(1);
    expect(verdict(last('en', 'deeplabv3+ r50 512x1024 bs 2, 80k iterations, budget 500 yuan in total'))).toMatch(
      /the whole run about [\d.–]+ h, ¥[\d.,]+–¥[\d.,]+/,
    );
    expect(find(last('zh', 'segformer b2 ade20k 512x512 bs 16 预算 20/时'), 'note').text).toMatch(
      /没说训多久，按这个数据集常见的 160,000 步：约 [\d.–]+ 小时/,
    );
  });

  test('a run of known length takes its time on the card that was asked about', () => {
    expect(last('zh', 'cityscapes unet 512 batch 4 50 epoch A10 够吗').fallback).toMatch(
      /A10 上整个训练约 [\d.]+ 小时、¥[\d.,]+/,
    );
  });

  test('what a run costs is answered with the run, not with the price list', () => {
    const run = '训练集 5000 张，100 epoch，unet 512 batch 8，A10，要花多少钱';
    expect(last('zh', run).fallback).toMatch(/A10 上整个训练约 [\d.]+ 小时、¥/);
    expect(verdict(last('zh', run, 'A10 一小时多少钱'))).toMatch(/^A10 ¥[\d.]+\/时 起/);
  });

  test('a switch that the library does not have is said to be none, and not offered', () => {
    const [first, second] = converse('zh', ['unet 512x512 batch 8 预算 10/h', '开梯度检查点']);
    expect(first?.choices.map(({ label }) => label)).not.toContain('开梯度检查点');
    expect(second?.fallback).toContain('没有梯度检查点开关');
    expect(last('zh', REQUEST).choices.map(({ label }) => label)).toContain('开梯度检查点');
    expect(last('zh', REQUEST, '开梯度检查点').fallback).not.toContain('没有梯度检查点开关');
  });

  test('a recipe is shared in one way only', () => {
    const reply = last('zh', 'mask2former r50 512x1024 8 卡 每卡 2，我有 2 张 A100 40G，怎么配');
    expect(verdict(reply)).toMatch(/^2 张卡：每卡 2 张 × 累积 4 步/);
    expect(reply.fallback).not.toContain('每卡 8 张');
  });

  test('a backbone that the library does not build is called by its name', () => {
    expect(verdict(last('zh', 'deeplabv3+ xception65 512x512 batch 8 预算 12/时'))).toMatch(/xception65/);
  });

  test('why it is this machine', () => {
    expect(last('zh', REQUEST, '为什么').fallback).toMatch(/为什么是 ecs\.gn7i-c16g1\.4xlarge：.*每千步 ¥\d/);
    expect(last('en', 'unet 512x512 bs 4, no budget', 'why').fallback).toMatch(/Why ecs\..*no budget was given/);
  });

  test('the largest batch stands beside the changes that it needs, and no larger one is offered', () => {
    const reply = last('zh', 'segformer b2 512x1024 batch 16 A10 够吗');
    const items = reply.blocks.flatMap((block) => (block.kind === 'list' ? block.items : []));
    expect(items.some((item) => /开 AMP.*的话，A10 上 batch 能到 \d+\/卡/.test(item))).toBe(true);
    expect(reply.choices.map(({ say }) => say)).not.toContain('batch 32');
    expect(last('zh', REQUEST).choices.map(({ say }) => say)).toContain('batch 4');
  });

  test('a card that nobody rents out is judged beside the three tiers', () => {
    for (const text of ['4090 训 unet 512x512 batch 4 够吗', '24G 的卡训 unet 512x512 batch 4 够吗']) {
      const reply = last('zh', text);
      expect(verdict(reply)).toMatch(/^放得下/);
      expect(find(reply, 'tiers').rows.map(({ tier }) => tier)).toEqual(['A 入门', 'B 标准', 'C 高性能']);
    }
  });

  test('what does not fit as it is shows what it needs on that very card', () => {
    const text = verdict(last('zh', '我有 4 张 2080ti 训 upernet swin-b 512 每卡 4'));
    const [, asIs = '0', usable = '0'] = /这张卡上要 ([\d.]+) GiB，可用 ([\d.]+) GiB/.exec(text) ?? [];
    expect(Number(usable)).toBeGreaterThan(0);
    expect(Number(asIs)).toBeGreaterThan(Number(usable));
  });

  test('a card that cannot be rented is said to be none, unless it is owned', () => {
    expect(last('zh', 'unet 512x512 batch 4 预算 10 元/小时，H100 有吗').fallback).toContain('租不到 H100');
    expect(last('zh', '我有一张 3090，unet 512x512 batch 4 够吗').fallback).not.toContain('租不到');
  });

  test('a network with a backbone of two names is held and answered', () => {
    expect(verdict(last('zh', 'transunet 224 batch 24 2类 预算 12/时'))).toMatch(/^需要 /);
  });

  test('a number of GPUs that nobody sells comes with the next one that is sold', () => {
    expect(last('zh', '3 卡 A10 训 unet 512x512 batch 4').fallback).toMatch(/没有 3 卡的规格，往上一档：推荐 ecs\./);
  });

  test('a measurement is set beside the estimate', () => {
    const reply = last('zh', REQUEST, 'nvidia-smi 显示 13.2G');
    expect(verdict(reply)).toMatch(/^nvidia-smi：实测 13\.2 GiB，估算/);
    expect(reply.fallback).toContain('比估算多');
  });

  test('a wrong belief is put right with source and date', () => {
    const reply = last('zh', 'gn7e 是 A10 吧');
    expect(verdict(reply)).toContain('gn7e 是 A100 80 GB');
    expect(verdict(reply)).toMatch(/来源.*\d{4}/);
  });

  test('what is out of scope is declined in one sentence with what is possible', () => {
    for (const text of [
      'segformer b4 推理要多少显存',
      '训练一个 7B 的大语言模型要什么卡',
      'swin unetr 96x96x96 要什么卡',
    ]) {
      const reply = last('zh', text);
      expect(reply.kind).toBe('notice');
      expect(reply.fallback.length).toBeGreaterThan(10);
    }
  });

  test('a budget below every price still gets a useful answer', () => {
    expect(verdict(last('zh', 'deeplabv3+ resnet50 512x1024 每卡2张 预算 1 元/小时'))).toMatch(
      /预算 ¥1\/时 不够，最划算的是 ecs\./,
    );
  });

  test('undo shows the answer of before again', () => {
    const reply = last('zh', REQUEST, 'batch 8', '撤销');
    expect(verdict(reply)).toMatch(/^已退回上一步：需要 7\.0 GiB/);
  });

  test('what cannot be trained is said with a next step, and the talk goes on', () => {
    const replies = converse('zh', ['foobarnet 512x512 batch 2', 'unet']);
    expect(replies[0]?.fallback).toContain('foobarnet');
    expect(replies[1]?.kind).toBe('question');
    expect(last('zh', REQUEST, 'batch 0').fallback).toContain('4096');
    expect(last('zh', REQUEST, 'batch 0', '4').fallback).toMatch(/^需要/);
    expect(last('en', 'unet 40000x40000 batch 1').fallback).toContain('16,384');
  });
});
