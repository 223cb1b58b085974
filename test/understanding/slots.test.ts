import { describe, expect, it } from 'vitest';
import { understand } from '../../src/understanding/understand.ts';
import type { Slots, UnderstandingContext } from '../../src/understanding/understanding.ts';
import { testCatalog } from '../conversations/replay.ts';

const FRESH: UnderstandingContext = { held: {}, asked: null, answered: false, lastIntent: null, locale: 'zh' };

function read(text: string, context: Partial<UnderstandingContext> = {}): Slots {
  return understand(text, { ...FRESH, ...context }, testCatalog()).slots;
}

type Row = readonly [text: string, want: Slots];

describe('a total', () => {
  it.each<Row>([
    ['budget 1500 in total', { budget: { amount: 1500, currency: 'CNY', period: 'total' } }],
    ['16 in total', { batchSize: 16, batchScope: 'total' }],
    ['unet，1000000 类', { model: 'unet', numClasses: 1_000_000 }],
    ['每天 8 小时', { hoursPerMonth: 240 }],
  ])('%s', (text, want) => expect(read(text)).toMatchObject(want));
});

describe('image size', () => {
  it.each<Row>([
    ['deeplabv3 r50 torchvision 520 batch 16', { imageHeight: 520, imageWidth: 520 }],
    [
      'I have two 3090s with nvlink, want to train smp.Unet efficientnet-b7 at 1024, batch?',
      { imageHeight: 1024, imageWidth: 1024 },
    ],
    ['unet 512x1024', { imageHeight: 512, imageWidth: 1024 }],
    ['0x512', { imageHeight: 0, imageWidth: 512 }],
    ['size 0', { imageHeight: 0, imageWidth: 0 }],
    ['at 0x7f3a12 (0xdeadbeef)', {}],
    ['val_size 0', {}],
    ['crop_size=(1024, 2048)', { imageHeight: 1024, imageWidth: 2048 }],
    ['h=512 w=1024', { imageHeight: 512, imageWidth: 1024 }],
    ['宽1024高512', { imageHeight: 512, imageWidth: 1024 }],
    ['2048 wide 1024 high', { imageHeight: 1024, imageWidth: 2048 }],
    ['1024x512（宽x高）', { imageHeight: 512, imageWidth: 1024 }],
    ['512x1024 (h x w)', { imageHeight: 512, imageWidth: 1024 }],
    ['训练图 1920x1080', { imageHeight: 1080, imageWidth: 1920 }],
    ['1080p frames', { imageHeight: 1080, imageWidth: 1920 }],
    ['1k×1k', { imageHeight: 1024, imageWidth: 1024 }],
    ['尺寸1k', { imageHeight: 1024, imageWidth: 1024 }],
    ['2K 图', { imageHeight: 2048, imageWidth: 2048 }],
    ['512²', { imageHeight: 512, imageWidth: 512 }],
    ['x1024', { imageHeight: 1024, imageWidth: 1024 }],
    ['640的图', { imageHeight: 640, imageWidth: 640 }],
    ['imgsz=640', { imageHeight: 640, imageWidth: 640 }],
    ['smp.Unet resnet34 512 batch 8', { imageHeight: 512, imageWidth: 512, batchSize: 8 }],
    ['~4000x3000 images tiled to 1024', { imageHeight: 1024, imageWidth: 1024 }],
    ['4000x3000 pictures cut into 512 tiles', { imageHeight: 512, imageWidth: 512 }],
    ['python train.py --img 640 --batch 16', { imageHeight: 640, imageWidth: 640, batchSize: 16 }],
    ['原图4000x3000，裁成 768', { imageHeight: 768, imageWidth: 768 }],
    ['images are 2048x1024, crops of 512', { imageHeight: 512, imageWidth: 512 }],
    ['1022✘767', { imageHeight: 1022, imageWidth: 767 }],
    ['crop 480 works, crop 768 OOMs', { imageHeight: 768, imageWidth: 768 }],
    ['unet 尺寸 932,1163', { imageHeight: 932, imageWidth: 1163 }],
  ])('%s', (text, want) => expect(read(text)).toMatchObject(want));

  it('reads a tensor shape: channels first, channels last, with a batch', () => {
    expect(read('(5, 3, 640, 960)')).toMatchObject({ batchSize: 5, imageHeight: 640, imageWidth: 960 });
    expect(read('[8, 512, 640, 4]')).toMatchObject({
      batchSize: 8,
      imageHeight: 512,
      imageWidth: 640,
      inputChannels: 4,
    });
    expect(read('3x512x512')).toMatchObject({ imageHeight: 512, imageWidth: 512 });
    expect(read('32x3x512x512 (4 classes)')).toMatchObject({ batchSize: 32, imageHeight: 512, numClasses: 4 });
  });

  it('keeps impossible numbers, so that the answer can say what is possible', () => {
    expect(read('unet 0x0')).toMatchObject({ imageHeight: 0, imageWidth: 0 });
    expect(read('unet image size 0')).toMatchObject({ imageHeight: 0, imageWidth: 0 });
    expect(read('unet 40000x40000')).toMatchObject({ imageHeight: 40_000, imageWidth: 40_000 });
    expect(read('unet 512 batch -1')).toMatchObject({ batchSize: -1 });
    expect(read('unet 512 bs 0')).toMatchObject({ batchSize: 0 });
  });

  it('reads no size from strides, dilations, learning rates and torch versions', () => {
    const slots = read(
      "backbone=dict(type='ResNet', depth=50, strides=(1, 2, 1, 1), dilations=(1, 1, 2, 4)), lr=0.01, torch 1.13",
    );
    expect(slots.imageHeight).toBeUndefined();
    expect(slots.batchSize).toBeUndefined();
  });
});

describe('batch size and its scope', () => {
  it.each<Row>([
    ['bs=2', { batchSize: 2 }],
    ['batch size of 12', { batchSize: 12 }],
    ['批大小8', { batchSize: 8 }],
    ['每卡8', { batchSize: 8, batchScope: 'per_gpu' }],
    ['2张/卡', { batchSize: 2, batchScope: 'per_gpu' }],
    ['4 per gpu', { batchSize: 4, batchScope: 'per_gpu' }],
    ['2/gpu', { batchSize: 2, batchScope: 'per_gpu' }],
    ['一张卡放2张图', { batchSize: 2, batchScope: 'per_gpu' }],
    ['总batch 64', { batchSize: 64, batchScope: 'total' }],
    ['总共 16 batch，两卡', { batchSize: 16, batchScope: 'total', gpus: 2 }],
    ['unet 512，8 的 bs', { batchSize: 8 }],
    ['unet 512 batch 4', { batchSize: 4 }],
    [
      'unet 512 batch four, budget ten yuan per hour',
      { batchSize: 4, budget: { amount: 10, currency: 'CNY', period: 'hour' } },
    ],
    ['unet 五百一十二 batch 八 预算十块每小时', { imageHeight: 512, batchSize: 8 }],
    ['batch size of sixteen', { batchSize: 16 }],
    ['unet 512 batch 8, we rent it for 6 weeks and have 9000 in total', { batchSize: 8 }],
    ['global batch 16 over 8 V100s', { batchSize: 16, batchScope: 'total', gpus: 8 }],
    ['total 16 on those 2', { batchSize: 16, batchScope: 'total' }],
    ['samples_per_gpu=1', { batchSize: 1, batchScope: 'per_gpu' }],
    ['IMS_PER_BATCH: 8', { batchSize: 8, batchScope: 'total' }],
    ['per_device_train_batch_size=4, per_device_eval_batch_size=16', { batchSize: 4, batchScope: 'per_gpu' }],
    ['unet 512, batch_size=8 gpus=4', { batchSize: 8, gpus: 4 }],
    ['unet 512 batch 8 gpus=2', { batchSize: 8, gpus: 2 }],
    ['on -1 GPUs', { gpus: -1 }],
    ['batch 8，-1 张卡', { batchSize: 8, gpus: -1 }],
    ['unet 512 batch 8 on 0 GPUs', { batchSize: 8, gpus: 0 }],
    ['配置：\n-unet\n-2张卡', { gpus: 2 }],
    ['deeplabv3 r50, batch=32, gpus=8 total batch', { batchSize: 32, gpus: 8 }],
    ['transunet 224 b24', { model: 'transunet', batchSize: 24 }],
    ['fpn r50 768 b4', { backbone: 'resnet50', batchSize: 4 }],
    ['8 gpus x 2', { gpus: 8, batchSize: 2, batchScope: 'per_gpu' }],
    ['torchrun --nproc_per_node=8 train.py -b 4', { gpus: 8, batchSize: 4, batchScope: 'per_gpu' }],
    ['一个batch 6张', { batchSize: 6 }],
    ['bs 不能超过 4', { batchSize: 4 }],
    ['train_dataloader = dict(batch_size=4)\nval_dataloader = dict(batch_size=1)', { batchSize: 4 }],
    ['batch 8 was too much, 6 is fine, I want batch 16', { batchSize: 16 }],
  ])('%s', (text, want) => expect(read(text)).toMatchObject(want));
});

describe('budget', () => {
  it.each<readonly [string, Slots['budget']]>([
    ['¥30/h以内', { amount: 30, currency: 'CNY', period: 'hour' }],
    ['30块一小时', { amount: 30, currency: 'CNY', period: 'hour' }],
    ['每小时15块以内', { amount: 15, currency: 'CNY', period: 'hour' }],
    ['5k/月', { amount: 5000, currency: 'CNY', period: 'month' }],
    ['预算-5000/月', { amount: 5000, currency: 'CNY', period: 'month' }],
    ['bs 8 -20元/小时', { amount: 20, currency: 'CNY', period: 'hour' }],
    ['预算 -5 元/小时', undefined],
    ['-20块每小时', undefined],
    ['月预算8k', { amount: 8000, currency: 'CNY', period: 'month' }],
    ['预算1.2万/月', { amount: 12_000, currency: 'CNY', period: 'month' }],
    ['预算五千一个月', { amount: 5000, currency: 'CNY', period: 'month' }],
    ['预算两千', { amount: 2000, currency: 'CNY' }],
    ['$2/hr', { amount: 2, currency: 'USD', period: 'hour' }],
    ['under $1.20 an hour', { amount: 1.2, currency: 'USD', period: 'hour' }],
    ['we have 900 dollars a month', { amount: 900, currency: 'USD', period: 'month' }],
    ['3,000 CNY/month', { amount: 3000, currency: 'CNY', period: 'month' }],
    ['5000 a month', { amount: 5000, currency: 'CNY', period: 'month' }],
    ['一天最多花200', { amount: 200, currency: 'CNY', period: 'day' }],
    ['总共就两千块预算', { amount: 2000, currency: 'CNY', period: 'total' }],
    ['老板批了两万，训完为止', { amount: 20_000, currency: 'CNY', period: 'total' }],
    ['20-30 元/小时', { amount: 30, currency: 'CNY', period: 'hour' }],
    ['预算 6 万一年', { amount: 5000, currency: 'CNY', period: 'month' }],
  ])('%s', (text, want) => expect(read(text).budget).toEqual(want));

  it.each([
    'unet 512 bs 8',
    'A10 一小时多少钱',
    '8k 步',
    '24G 的卡',
    'bs 最多 8',
    '160k iters',
    '两块 3090',
    '训 3 天',
    'lr 0.01',
  ])('is not in: %s', (text) => expect(read(text).budget).toBeUndefined());

  it.each([
    ['I have $500 total, want to train segformer b3, bs 16', { amount: 500, currency: 'USD', period: 'total' }],
    ['预算 1 块钱一小时 unet 512 batch 4', { amount: 1, currency: 'CNY', period: 'hour' }],
    ['包年包月 unet 512 batch 4 一个月多少钱', undefined],
    ['segformer b2 512 预算 10', { amount: 10, currency: 'CNY' }],
    ['unet 512，5000 的预算', { amount: 5000, currency: 'CNY' }],
  ] as const)('%s', (text, budget) => expect(read(text).budget).toEqual(budget));

  it.each(['budget 10 EUR/hour', '预算 €10/时', '预算 10 日元/时', 'budget £20 an hour'])(
    'takes no sum of a currency that it cannot convert: %s',
    (text) => {
      expect(read(`unet 512x512 batch 4, ${text}`).budget).toBeUndefined();
      expect(understand(`unet, ${text}`, FRESH, testCatalog()).outOfScope).toContain('other-currency');
    },
  );

  it('takes "as cheap as possible" for no limit', () => {
    const asked = { asked: 'budget', held: { model: 'unet' } } as const;
    for (const text of ['越便宜越好', '不限', '没有限制', 'none', 'unlimited', '无上限。']) {
      expect(understand(text, { ...FRESH, ...asked }, testCatalog()).acceptsDefault).toBe(true);
    }
    expect(understand('无人机', { ...FRESH, ...asked }, testCatalog()).acceptsDefault).toBe(false);
    const { changes } = understand('cheapest way to train unet 512 batch 8?', FRESH, testCatalog());
    expect(changes).toEqual([{ slot: 'budget', clear: true }]);
    expect(understand('T4 最便宜吧', FRESH, testCatalog()).changes).toEqual([]);
  });

  it.each(['300 美元 一个月', '$300 一个月', '预算 300 美元，1 个月'])(
    'reads no second sum from the period: %s',
    (text) => expect(read(text).budget).toEqual({ amount: 300, currency: 'USD', period: 'month' }),
  );

  it('takes the period alone, and keeps the held currency', () => {
    expect(read('每小时', { held: { budget: { amount: 25, currency: 'CNY' } } }).budget).toEqual({
      amount: 25,
      currency: 'CNY',
      period: 'hour',
    });
    expect(
      read('预算降到三千', { held: { budget: { amount: 5000, currency: 'USD', period: 'month' } } }).budget,
    ).toEqual({ amount: 3000, currency: 'USD', period: 'month' });
  });

  it('takes a bare number as the answer to its own question only', () => {
    expect(read('15', { asked: 'budget' }).budget).toEqual({ amount: 15, currency: 'CNY' });
    expect(read('15', { asked: 'batchSize' })).toEqual({ batchSize: 15 });
    expect(read('512', { asked: 'imageHeight' })).toEqual({ imageHeight: 512, imageWidth: 512 });
  });
});

describe('cards and their number', () => {
  it.each<Row>([
    ['LR 怎么改，我从 4卡x4 换成单卡x4', { gpus: 1, batchSize: 16, batchScope: 'total' }],
    ['jetson agx orin 能训unet吗', { gpu: { name: 'jetson agx orin' } }],
    ['segformer b4 at 1024 with 24GB', { gpu: { memoryGiB: 24 } }],
    ['mask2former swin-L 1024 bs 1 放得进 48G 吗', { gpu: { memoryGiB: 48 } }],
    ['能塞进 24G 吗，unet 512', { gpu: { memoryGiB: 24 } }],
    ['24G 塞得下 unet 512 吗', { gpu: { memoryGiB: 24 } }],
    ['fits in 12 gigs? unet 512 batch 4', { gpu: { memoryGiB: 12 } }],
    ["unet 512 batch 4, I've 24GB", { gpu: { memoryGiB: 24 } }],
    ['A10够吗', { gpu: { name: 'A10' } }],
    [
      '2×A10 or 1×A100 哪个',
      {
        gpu: [
          { name: 'A10', count: 2 },
          { name: 'A100', count: 1 },
        ],
      },
    ],
    [
      'total 16: 4 3090s vs two A100s',
      {
        gpu: [
          { name: 'RTX 3090', count: 4 },
          { name: 'A100', count: 2 },
        ],
      },
    ],
    ['2×A10 还是 2×L20', { gpu: [{ name: 'A10' }, { name: 'L20' }], gpus: 2 }],
    ['A10G', { gpu: { name: 'A10G' } }],
    ['A100 40G', { gpu: { name: 'A100', memoryGiB: 40 } }],
    ['V100-32G x8', { gpu: { name: 'V100', memoryGiB: 32 }, gpus: 8 }],
    ['8xV100', { gpu: { name: 'V100' }, gpus: 8 }],
    ['16G 的V100', { gpu: { name: 'V100', memoryGiB: 16 } }],
    ['我们有 4 张 2080ti', { gpu: { name: 'RTX 2080 Ti' }, gpus: 4, owned: true }],
    ['two 4090s (24GB each)', { gpu: { name: 'RTX 4090', memoryGiB: 24 }, gpus: 2 }],
    ['笔记本4060（8G）', { gpu: { name: 'RTX 4060 Laptop', memoryGiB: 8 } }],
    ['RTX 2070 SUPER 8GB', { gpu: { name: 'rtx 2070 super', memoryGiB: 8 } }],
    ['3060 12 gig', { gpu: { name: 'RTX 3060', memoryGiB: 12 } }],
    ['4张12G的卡', { gpu: { memoryGiB: 12 }, gpus: 4 }],
    ['我的卡是 24G 的', { gpu: { memoryGiB: 24 }, owned: true }],
    ['my card has 12GB', { gpu: { memoryGiB: 12 }, owned: true }],
    ['single 24G card', { gpu: { memoryGiB: 24 }, gpus: 1 }],
    ['ecs.gn7i-c16g1.4xlarge', { gpu: { instance: 'ecs.gn7i-c16g1.4xlarge' } }],
    ['gn6v 上跑', { gpu: { family: 'gn6v' } }],
    [
      'A100 的 40G 版和 80G 版哪个更划算',
      {
        gpu: [
          { name: 'A100', memoryGiB: 40 },
          { name: 'A100', memoryGiB: 80 },
        ],
      },
    ],
    ['T4 和 V100 16G 选哪个', { gpu: [{ name: 'T4' }, { name: 'V100', memoryGiB: 16 }] }],
    ['官方用8xA100，我这只有V100 16G', { gpu: { name: 'V100', memoryGiB: 16 } }],
    ['不是 A10，是 A100', { gpu: { name: 'A100' } }],
    ['双卡', { gpus: 2 }],
    ['CUDA_VISIBLE_DEVICES=0,1,2,3', { gpus: 4 }],
    ['2 nodes x 8 gpus', { gpus: 16 }],
    ['卡数改成 8', { gpus: 8 }],
    ['昇腾 910B', { gpu: { name: 'Ascend 910B' } }],
  ])('%s', (text, want) => expect(read(text)).toMatchObject(want));

  it.each(['need a 10 GB card', 'a 40 epoch run', '再加一张一样的卡', '1920x1080 的图', '预算 3090 元'])(
    'no named card in: %s',
    (text) => {
      const { gpu } = read(text);
      expect(gpu === undefined || !('name' in gpu)).toBe(true);
    },
  );

  it('reads 8G as memory, never as eight cards', () => expect(read('8G 的卡')).toEqual({ gpu: { memoryGiB: 8 } }));

  it('lets host memory alone', () => {
    expect(read('gtx 1050ti 4GB plus 12GB of RAM')).toMatchObject({ gpu: { memoryGiB: 4 } });
  });

  it('completes a held card with its memory', () => {
    expect(read('32G 的呢', { held: { gpu: { name: 'V100', memoryGiB: 16 } } }).gpu).toEqual({
      name: 'V100',
      memoryGiB: 32,
    });
  });
});

describe('how it is trained', () => {
  it.each<Row>([
    ['一共要跑 160k，30 分钟跑完', { iterations: 160_000, deadlineHours: 0.5 }],
    ['8w iter', { iterations: 80_000 }],
    ['训16w步', { iterations: 160_000 }],
    ['unet r50 512 bs 1 amp + ckpt', { gradientCheckpointing: true }],
    ['开 ckpt', { gradientCheckpointing: true }],
    ['segformer b2 512, ckpt on', { gradientCheckpointing: true }],
    ['开checkpoint', { gradientCheckpointing: true }],
    ['关掉 checkpoint', { gradientCheckpointing: false }],
    ['with checkpoints', { gradientCheckpointing: true }],
    ['从checkpoint恢复', {}],
    ['全部都训', { frozenBackbone: false }],
    ['unfreeze the backbone', { frozenBackbone: false }],
    ['full fine-tuning', { frozenBackbone: false }],
    ['no spot please', { chargeType: 'PostPaid' }],
    ['别用抢占式', { chargeType: 'PostPaid' }],
    ['用抢占式', { chargeType: 'Spot' }],
    ['UNet(base_channels=32)', { baseChannels: 32 }],
    ['unet 从 32 通道开始，单通道输入', { baseChannels: 32, inputChannels: 1 }],
    ['unet, 6 classes, RGB+NIR', { inputChannels: 4, numClasses: 6 }],
    ['unet 首层通道 16', { baseChannels: 16 }],
    ['unet starting at 32 channels, 4 bands', { baseChannels: 32, inputChannels: 4 }],
    ['unet 通道 32-64-128-256', { baseChannels: 32 }],
    ['冻结 BN', { norm: 'frozen' }],
    ['freeze BN layers', { norm: 'frozen' }],
    ['norm="FrozenBN"', { norm: 'frozen' }],
    ['norm_eval=True', { norm: 'frozen' }],
    ['冻结主干的BN', { norm: 'frozen' }],
    ['BN 都冻住', { norm: 'frozen' }],
    ['BN 不冻结', { norm: 'batch' }],
    ['unfreeze the BN', { norm: 'batch' }],
    ['norm_eval=False', { norm: 'batch' }],
    ['冻结 backbone', { frozenBackbone: true }],
    ['开 amp', { precision: 'amp' }],
    ['amp 关掉', { precision: 'fp32' }],
    ['without mixed precision', { precision: 'fp32' }],
    ['半精度', { precision: 'fp16' }],
    ['bf16=True', { precision: 'bf16' }],
    ['torch.float32', { precision: 'fp32' }],
    ["optimizer_config = dict(type='Fp16OptimizerHook')", { precision: 'fp16' }],
    ['用 AdamW', { optimizer: 'adamw' }],
    ['adam', { optimizer: 'adam' }],
    ['19类', { numClasses: 19 }],
    ['num_classes=121', { numClasses: 121 }],
    ['类别数改成 7', { numClasses: 7 }],
    ['ade20k', { numClasses: 150, dataset: 'ade20k' }],
    ['ade20k 只取 20 类', { numClasses: 20 }],
    ['os16', { outputStride: 16 }],
    ['gradient_checkpointing=True', { gradientCheckpointing: true }],
    ['梯度检查点关掉', { gradientCheckpointing: false }],
    ['gradient_accumulation_steps=8', { gradientAccumulation: 8 }],
    ['梯度累积 4 步', { gradientAccumulation: 4 }],
    ['冻结 backbone', { frozenBackbone: true }],
    ['freeze the encoder', { frozenBackbone: true }],
    ['--aux-loss', { auxiliaryHead: true }],
    ['flash attention', { attention: 'sdpa' }],
    ['ce + dice', { loss: 'cross-entropy+dice' }],
    ['4 通道输入', { inputChannels: 4 }],
    ['训 160k iters', { iterations: 160_000 }],
    ['8万步', { iterations: 80_000 }],
    ['100 epochs', { epochs: 100 }],
    ['数据集 3000 张', { trainImages: 3000 }],
    ['一天跑完', { deadlineHours: 24 }],
    ['within 12 hours', { deadlineHours: 12 }],
    ['90 分钟内跑完', { deadlineHours: 1.5 }],
    ['done in 30 minutes', { deadlineHours: 0.5 }],
    ['within 90 min', { deadlineHours: 1.5 }],
    ['within 2 weeks', { deadlineHours: 336 }],
    ['在郑州跑', { region: 'cn-zhengzhou-jva' }],
    ['上海区域，抢占式', { region: 'cn-shanghai', chargeType: 'Spot' }],
    ['包月 singapore', { region: 'ap-southeast-1', chargeType: 'PrePaid' }],
    ['us-west-1 on-demand', { region: 'us-west-1', chargeType: 'PostPaid' }],
  ])('%s', (text, want) => expect(read(text)).toMatchObject(want));
});

it('holds a card that is all one has as owned', () => {
  expect(read('我只有一张 3090')).toMatchObject({ gpu: { name: 'RTX 3090' }, owned: true });
});

describe('a failure told beside its run', () => {
  it('keeps the words behind the sentence of a killed worker', () => {
    const text = 'DataLoader worker (pid 12345) is killed by signal: Killed. segformer b2 512 batch 16 num_workers 8';
    expect(read(text)).toMatchObject({ model: 'segformer', imageHeight: 512, batchSize: 16 });
  });

  it('takes steps that went well for no length of the run', () => {
    expect(read('前面 3000 步都好好的，然后 OOM，unet 1024 batch 4').iterations).toBeUndefined();
    expect(read('it ran for 3000 steps, then OOM, unet 1024 batch 4').iterations).toBeUndefined();
    expect(read('unet 1024 batch 4 训 3000 步').iterations).toBe(3000);
  });
});

describe('what is held', () => {
  const held: Slots = {
    model: 'segformer',
    backbone: 'mit-b2',
    batchSize: 8,
    imageHeight: 512,
    imageWidth: 512,
    gpus: 4,
    numClasses: 19,
  };
  it.each<Row>([
    ['b3 呢', { backbone: 'mit-b3' }],
    ['不是8，是16', { batchSize: 16 }],
    ['not 512 but 640', { imageHeight: 640, imageWidth: 640 }],
    ['不是4，是2', { gpus: 2 }],
    ['2?', { batchSize: 2 }],
    ['1024 呢', { imageHeight: 1024, imageWidth: 1024 }],
    ['sorry, 6', { batchSize: 6 }],
    ['把 batch 从 8 降到 4', { batchSize: 4 }],
    ['batch 从 8 改 2', { batchSize: 2 }],
    ['batch from 8 to 2', { batchSize: 2 }],
    ['图从 512 改到 640', { imageHeight: 640, imageWidth: 640 }],
    ['size from 512x512 to 768x768', { imageHeight: 768, imageWidth: 768 }],
  ])('%s', (text, want) => expect(read(text, { held, answered: true })).toEqual(want));

  it.each<readonly [string, string]>([
    ['换成L的呢', 'mscan-l'],
    ['the large one', 'mscan-l'],
    ['换 base', 'mscan-b'],
  ])('%s takes another size of the backbone', (text, backbone) => {
    expect(read(text, { held: { model: 'segnext', backbone: 'mscan-t' } }).backbone).toBe(backbone);
  });

  it.each<Row>([
    ['w18 呢', { backbone: 'hrnet-w18' }],
    ['w32', { backbone: 'hrnet-w32' }],
    ['换成 hrnet w48', { model: 'hrnet', backbone: 'hrnet-w48' }],
  ])('%s is a width of the held network, not of the picture', (text, want) => {
    const held: Slots = { model: 'ocrnet', backbone: 'hrnet-w48', imageHeight: 512, imageWidth: 1024, batchSize: 2 };
    expect(read(text, { held, answered: true })).toEqual(want);
    expect(read('ocrnet w48 batch 2').imageWidth).toBeUndefined();
  });

  it.each<readonly [string, string]>([
    ['smp 版呢', 'smp'],
    ["what about torchvision's", 'torchvision'],
    ['换成 mmseg 的', 'mmseg'],
  ])('%s is the held network of another library', (text, implementation) => {
    expect(read(text, { held: { model: 'deeplabv3plus', batchSize: 2 }, answered: true })).toEqual({ implementation });
    expect(read(text).implementation).toBeUndefined();
  });

  it.each<readonly [string, Slots, Slots]>([
    ['那 2 张呢', { gpu: { name: 'RTX 4090' }, batchSize: 2 }, { gpus: 2 }],
    ['2 of them', { gpu: { name: 'A10' }, batchSize: 4 }, { gpus: 2 }],
    ['那 8 张呢', { gpus: 4, batchSize: 2, batchScope: 'per_gpu' }, { batchSize: 8 }],
    ['那 8 张呢', { batchSize: 2 }, { batchSize: 8 }],
  ])('%s beside %o counts cards or images', (text, held, want) => {
    expect(read(text, { held: { model: 'unet', imageHeight: 512, imageWidth: 512, ...held }, answered: true })).toEqual(
      want,
    );
  });

  it('joins a size that was said before its family', () => {
    const first = understand('b5', FRESH, testCatalog());
    expect(first.ambiguities[0]?.candidates.length).toBe(2);
    expect(read('segformer 的', { held: first.slots }).backbone).toBe('mit-b5');
  });
});
