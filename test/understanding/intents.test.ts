import { describe, expect, it } from 'vitest';
import { en } from '../../src/reply/messages/en.ts';
import { zh } from '../../src/reply/messages/zh.ts';
import { understand } from '../../src/understanding/understand.ts';
import type { Understanding, UnderstandingContext } from '../../src/understanding/understanding.ts';
import { testCatalog } from '../conversations/replay.ts';

const FRESH: UnderstandingContext = { held: {}, asked: null, answered: false, lastIntent: null, locale: 'zh' };
const ANSWERED: Partial<UnderstandingContext> = {
  held: {
    model: 'segformer',
    backbone: 'mit-b2',
    imageHeight: 512,
    imageWidth: 512,
    batchSize: 8,
    budget: { amount: 10, currency: 'CNY', period: 'hour' },
  },
  answered: true,
  lastIntent: 'size',
};

function hear(text: string, context: Partial<UnderstandingContext> = {}): Understanding {
  return understand(text, { ...FRESH, ...context }, testCatalog());
}

describe('intents', () => {
  it.each([
    ['要多大的卡', ['size']],
    ['how big a gpu do I need?', ['size']],
    ['越便宜越好', ['size']],
    ['A10 够不够', ['fits']],
    ['will it fit on a T4?', ['fits']],
    ['A10 会不会爆显存', ['fits']],
    ['能跑吗，多少钱？', ['fits', 'price']],
    ['每卡最多放几张', ['max_batch']],
    ['what is the max batch size?', ['max_batch']],
    ['图最大能开到多大', ['max_size']],
    ['largest crop on an A10?', ['max_size']],
    ['T4 和 V100 选哪个', ['compare']],
    ['A10 按量一小时多少钱', ['price']],
    ['how much does an A10 cost?', ['price']],
    ['how much in total?', ['price']],
    ['爆显存了', ['oom_report']],
    ['官方 8卡x2，我只有一张卡，学习率怎么调', ['translate']],
    ['官方是 8 卡每卡 2，我只有 1 张卡，怎么设置', ['translate']],
    ['8 卡 × 2 换成 1 卡怎么设置', ['translate']],
    ['nvidia-smi 显示 13.2G', ['measurement']],
    ['撤销', ['undo']],
    ['上一个', ['undo']],
    ['你能干嘛', ['help']],
    ['怎么问你才能算显存', ['help']],
    ['help', ['help']],
    ['清空', ['reset']],
    ['start over', ['reset']],
    ['你好', ['greeting']],
    ['thanks!', ['greeting']],
    ['今天天气怎么样', ['unknown']],
    ['', ['unknown']],
  ])('%s', (text, intents) => expect(hear(text).intents).toEqual(intents));

  it('names the failure first, whatever is asked about it', () => {
    expect(hear('爆显存了，换 A10 够吗，多少钱').intents).toEqual(['oom_report', 'fits', 'price']);
  });

  it.each([
    'b3 呢',
    '换成 A10 呢',
    'batch 翻倍',
    '再便宜点',
    '贵一倍也行',
    '开 amp',
    'what about fp16?',
    '预算改成 5000/月',
    '不是8，是16',
    'crop 1024',
  ])('takes %s as a change of the estimate', (text) => expect(hear(text, ANSWERED).intent).toBe('what_if'));

  it.each(['b3 呢', '换成 unet', 'batch 8'])('has no change without anything held: %s', (text) => {
    expect(hear(text).intents).not.toContain('what_if');
  });

  it('keeps the intent being served when a question is answered', () => {
    expect(hear('8', { asked: 'batchSize', held: { model: 'unet' }, lastIntent: 'max_size' }).intent).toBe('max_size');
    expect(hear('15', { asked: 'budget', held: { model: 'unet', batchSize: 8 }, lastIntent: 'size' }).intent).toBe(
      'size',
    );
  });

  it('accepts a default only for what was asked', () => {
    expect(hear('不知道', { asked: 'batchSize' }).acceptsDefault).toBe(true);
    expect(hear('whatever', { asked: 'imageHeight' }).acceptsDefault).toBe(true);
    expect(hear('随便').acceptsDefault).toBe(false);
    expect(hear('8', { asked: 'batchSize' }).acceptsDefault).toBe(false);
  });

  it('starts afresh on a whole new request, refines on a change', () => {
    expect(hear('bisenetv2 1024x1024 bs 4', ANSWERED).startsAfresh).toBe(true);
    expect(hear('换成 bisenetv2 1024x1024 bs 4', ANSWERED).startsAfresh).toBe(false);
    expect(hear('新项目：unet 256', ANSWERED).startsAfresh).toBe(true);
  });
});

describe('a log line that is only its memory', () => {
  it('is a pasted measurement', () => {
    expect(hear('memory: 11225')).toMatchObject({
      intent: 'measurement',
      artifact: { kind: 'training_log', allocatedGiB: 11_225 / 1024 },
      measured: { allocatedGiB: 11_225 / 1024 },
    });
  });
});

describe('relative changes', () => {
  it.each([
    ['batch 翻倍', { slot: 'batchSize', multiply: 2 }],
    ['batch 再翻一番', { slot: 'batchSize', multiply: 2 }],
    ['图放大一倍呢', { slot: 'imageSize', multiply: 2 }],
    ['图放大 2 倍', { slot: 'imageSize', multiply: 2 }],
    ['bs 减半', { slot: 'batchSize', multiply: 0.5 }],
    ['double the batch', { slot: 'batchSize', multiply: 2 }],
    ['half scale then', { slot: 'imageSize', multiply: 0.5 }],
    ['图缩小一半', { slot: 'imageSize', multiply: 0.5 }],
    ['卡数加倍', { slot: 'gpus', multiply: 2 }],
    ['贵一倍也行', { slot: 'budget', multiply: 2 }],
    ['预算减半', { slot: 'budget', multiply: 0.5 }],
    ['预算不限', { slot: 'budget', clear: true }],
    ['no budget limit', { slot: 'budget', clear: true }],
  ])('%s', (text, change) => expect(hear(text, ANSWERED).changes).toEqual([change]));

  it('gives way to a plain value', () =>
    expect(hear('batch 翻倍到 16', ANSWERED)).toMatchObject({ slots: { batchSize: 16 }, changes: [] }));
});

describe('wrong beliefs and topics out of scope', () => {
  it.each([
    ['gn7e 是 A10 吧', 'family:gn7e'],
    ['gn6v 32G 够吗', 'family:gn6v'],
    ['gn6v is P100?', 'family:gn6v'],
    ['gn8i 上训', 'family:gn8i'],
    ['gn9y 有 H20', 'family:gn9y'],
    ['gn7s 是 H20', 'family:gn7s'],
    ['ecs.gn7i-c8g1.4xlarge', 'instance:ecs.gn7i-c8g1.4xlarge'],
    ['AMP 显存减半吧', 'amp-halves-memory'],
    ['amp halves the memory, right?', 'amp-halves-memory'],
    ['两张卡显存加起来 32G', 'gpus-pool-memory'],
    ['multiple gpus pool their memory', 'gpus-pool-memory'],
    ['H20 国产', 'h20-domestic'],
    ['T4 最便宜', 't4-cheapest'],
    ['T4 is the cheapest', 't4-cheapest'],
    ['4GB plus 12GB of RAM', 'ram-adds-to-vram'],
    ['包月省 30%', 'subscription-always-cheaper'],
    ['--SystemDiskCategory cloud_essd', 'system-disk-category'],
    ['ubuntu_20_04_x64_20G_alibase_20230726.vhd', 'image-date'],
    ['必须用 PL3', 'pl3-needed'],
    ['V100 开 bf16', 'no-bf16'],
    ['tf32 on T4', 'no-tf32'],
    ['用 PAI-EAS 训练', 'eas-for-training'],
  ])('%s', (text, belief) => expect(hear(text).beliefs).toContain(belief));

  it.each([
    'gn7i 是 A10',
    'gn6e 32G',
    'gn7e 上训 unet',
    'ecs.gn7i-c8g1.2xlarge',
    '开 amp',
    'A10 开 bf16',
    'T4 够吗',
    'H20 多少钱',
    '两张卡够吗',
  ])('finds nothing wrong in: %s', (text) => expect(hear(text).beliefs).toEqual([]));

  it.each([
    ['not training - just inference with segformer b4', 'inference'],
    ['llama 7b 微调', 'llm'],
    ['96x96x96 的 patch', '3d'],
    ['nnunet 3d_fullres', '3d'],
    ['UNet(spatial_dims=3)', '3d'],
    ['slices of 3d volumes', '3d'],
    ['yolov5 detection (not seg)', 'detection'],
    ['AWS 上用什么', 'other-cloud'],
    ['帮我下单', 'buying'],
  ])('%s', (text, topic) => expect(hear(text).outOfScope).toContain(topic));

  it.each([
    'unet 512 bs 8',
    'segformer b2 训练',
    '3x512x512',
    'mask rcnn 训练',
    'yolo11l-seg',
    'training only, no inference',
    'monai attention unet',
    'nnunet 2d on ct scans',
    'ct 序列切片, nnunet',
    '32x512x512',
  ])('is in scope: %s', (text) => expect(hear(text).outOfScope).toEqual([]));
});

describe('language', () => {
  it.each([
    ['要多大的卡', 'en', 'zh'],
    ['how big a gpu?', 'zh', 'en'],
    ['segformer b3', 'zh', 'zh'],
    ['segformer b3', 'en', 'en'],
    ['512x512', 'en', 'en'],
    ['CUDA out of memory. Tried to allocate 1006.00 MiB (GPU 0; 10.91 GiB total capacity)', 'zh', 'zh'],
  ] as const)('%s in a conversation in %s', (text, locale, want) => expect(hear(text, { locale }).locale).toBe(want));
});

describe('what buttons say', () => {
  const says = [zh, en].flatMap(({ say }) =>
    Object.entries({ ...say, take: say.take('unet') }).map(
      ([name, value]) => [name, typeof value === 'function' ? value(512) : value] as const,
    ),
  );

  it.each(says)('%s: %s is understood', (_name, text) => {
    const heard = hear(text, { ...ANSWERED, asked: 'batchSize' });
    const something =
      Object.keys(heard.slots).length + heard.changes.length > 0 ||
      heard.command !== null ||
      heard.acceptsDefault ||
      heard.intent === 'reset';
    expect(something).toBe(true);
  });
});

describe('what is unclear is asked with two or three buttons', () => {
  it('a sum below nothing, also as the answer about the budget', () => {
    expect(hear('unet 512 bs 8 预算 -5').ambiguities).toMatchObject([{ slot: 'budget', typed: '-5' }]);
    expect(hear('budget -10 yuan/hour', { locale: 'en' }).ambiguities[0]?.candidates[0]?.say).toBe(
      'budget 10 yuan/hour',
    );
    expect(hear('-5', { asked: 'budget' }).ambiguities).toHaveLength(1);
    expect(hear('-5').ambiguities).toEqual([]);
    expect(hear('预算 10-20 元/小时').ambiguities).toEqual([]);
  });

  it.each([
    'unet 512 bs 8，预算 -5元每小时',
    'RTX 6000 跑 unet 512 bs 8',
    '10G 显存，unet 512 bs 8',
    'b5 512 bs 8',
    'psnet r50 512',
  ])('%s', (text) => {
    const [ambiguity] = hear(text).ambiguities;
    expect(ambiguity?.candidates.length).toBeGreaterThanOrEqual(2);
    expect(ambiguity?.candidates.length).toBeLessThanOrEqual(3);
    for (const { label, say } of ambiguity?.candidates ?? []) {
      expect(label.length).toBeLessThanOrEqual(20);
      expect(hear(say).ambiguities).toEqual([]);
    }
  });

  it.each(['V100 unet 512', '24G 够吗', '我有 10G 显存的卡', 'unet 占 10G 显存', 'segformer b5', 'RTX 6000 Ada'])(
    'nothing in: %s',
    (text) => {
      expect(hear(text).ambiguities).toEqual([]);
    },
  );
});
