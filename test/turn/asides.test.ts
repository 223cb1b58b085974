import { describe, expect, test } from 'vitest';

import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import type { Locale } from '../../src/message.ts';
import { takeConversationTurn } from '../../src/turn/take-turn.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

function talk(locale: Locale, ...texts: readonly string[]) {
  let state: DialogState = initialState(locale);
  let reply = '';
  for (const text of texts) {
    const turn = takeConversationTurn(state, text, answerPorts);
    state = turn.state;
    reply = turn.reply.fallback;
  }
  return { reply, state };
}

describe('two values left open', () => {
  test.each([
    ['zh', 'segformer b1 512，batch 4 到 8 都行', { batchSize: 8 }, 'batch 4'],
    ['zh', 'segformer b1 512，每卡 4 或 8 张', { batchSize: 8, batchScope: 'per_gpu' }, 'batch 4'],
    ['en', 'deeplabv3+ r50, batch between 8 and 12, 512px', { batchSize: 12 }, 'batch 8'],
    ['en', 'unet resnet34, 512 or 768, batch 8 on a T4', { imageHeight: 768, imageWidth: 768 }, '512x512'],
    ['zh', 'upernet swin-t 或 swin-s，512，bs 4', { backbone: 'swin-t' }, 'swin-s'],
  ] as const)('%s: %s: the larger one is sized and the other offered', (locale, text, slots, other) => {
    const { reply, state } = talk(locale, text);
    expect(state.slots).toMatchObject(slots);
    expect(reply).toContain(`"${other}"`);
  });

  test.each([
    [
      'en',
      'unet 256 batch 64, then same at 512',
      { imageHeight: 512, batchSize: 64 },
      /needs 23\.1 GiB\. Say "256x256"/,
    ],
    [
      'en',
      'segformer b2 512 batch 8, and also 1024 batch 2',
      { imageHeight: 1024, batchSize: 2 },
      /Say "512x512 batch 8"/,
    ],
    [
      'en',
      'unet 512 batch 8 and 1024 batch 2, 15 yuan per hour',
      { imageHeight: 1024, batchSize: 2 },
      /needs 11\.7 GiB/,
    ],
    ['zh', 'unet 512 bs 8，另外再看一下 768 的', { imageHeight: 768, batchSize: 8 }, /另一个要 11\.7 GiB/],
    ['zh', 'unet 512 batch 8 和 batch 16 分别要多少', { imageHeight: 512, batchSize: 16 }, /直接说"batch 8"/],
    ['zh', 'unet 512 和 1024 各要多少显存 batch 8', { imageHeight: 1024, batchSize: 8 }, /直接说"512x512"/],
    [
      'zh',
      'unet 512 batch 8 和 segformer b2 1024 batch 4 分别多少',
      { model: 'segformer', imageHeight: 1024, batchSize: 4 },
      /另一个要 11\.7 GiB.*"unet 512x512 batch 8"/,
    ],
  ] as const)('%s: %s: the last of two runs is sized, the other beside it', (locale, text, slots, other) => {
    const { reply, state } = talk(locale, text);
    expect(state.slots).toMatchObject(slots);
    expect(reply).toMatch(other);
  });

  test.each([
    ['unet 训练 512 batch 8，另外验证用 1024', { imageHeight: 512, batchSize: 8 }],
    ['unet 原图 1920x1080，然后裁成 512，batch 8', { imageHeight: 512, batchSize: 8 }],
    ['unet 512 batch 8 and 4 gpus', { imageHeight: 512, batchSize: 8, gpus: 4 }],
  ] as const)('%s is one run', (text, slots) => {
    const { reply, state } = talk('zh', text);
    expect(state.slots).toMatchObject(slots);
    expect(reply).not.toMatch(/两个里|Two runs/);
  });

  test('what the remark offers is understood', () => {
    expect(talk('zh', 'segformer b1 512，batch 4 到 8，预算不限', 'batch 4').state.slots.batchSize).toBe(4);
  });

  test('a change from one value to another leaves nothing open', () => {
    const { reply, state } = talk('zh', 'unet 512 batch 8 预算不限', 'batch 从 8 加到 16');
    expect(state.slots.batchSize).toBe(16);
    expect(reply).not.toContain('两个里');
  });

  test('two networks that are compared are both sized', () => {
    const { reply } = talk('en', 'segformer b3 or b4 at 512 batch 8, which one still fits in 16GB?');
    expect(reply).toContain('segformer b3');
    expect(reply).toContain('segformer b4');
  });
});

describe('cards that are not wanted', () => {
  test('are in no tier, until they are asked about', () => {
    const request = 'segformer b1 512 batch 8 预算不限';
    expect(talk('zh', request).reply).toContain('V100');
    const refused = talk('zh', `${request}，不要 V100`);
    expect(refused.reply).not.toContain('V100');
    expect(refused.state.slots).toMatchObject({ avoid: ['V100'] });
    expect(talk('zh', `${request}，不要 V100`, '那 V100 呢').state.slots.avoid).toBeUndefined();
  });

  test('are judged no more where they were asked about', () => {
    const { reply, state } = talk('zh', 'upernet swin-b 512 batch 2 T4', '不要 T4');
    expect(reply).not.toContain('T4');
    expect(state.slots).toMatchObject({ avoid: ['T4'] });
    expect(state.slots.gpu).toBeUndefined();
  });

  test('a list is refused as a whole', () => {
    const { state } = talk('zh', '除了 T4 和 V100，别的卡都可以，deeplabv3 r50 513 bs 8');
    expect(state.slots).toMatchObject({ avoid: ['T4', 'V100'] });
    expect(state.slots.gpu).toBeUndefined();
  });

  test('a correction refuses nothing', () => {
    const { state } = talk('en', 'upernet vit-b 512 batch 8 on A10', 'I meant L20, not A10');
    expect(state.slots).toMatchObject({ gpu: { name: 'L20' } });
    expect(state.slots.avoid).toBeUndefined();
  });
});

describe('questions in between', () => {
  test.each([
    ['zh', 'gn7i 是什么卡', 'gn7i 是 A10 24 GB'],
    ['en', 'what card does gn7e have?', 'gn7e is A100 80 GB'],
  ] as const)('%s: %s', (locale, text, fact) => {
    const { reply, state } = talk(locale, 'unet 512x512', text);
    expect(reply).toContain(fact);
    expect(reply).toContain('batch');
    expect(state.slots.gpu).toBeUndefined();
    expect(state.asked).toBe('batchSize');
  });

  test.each([
    ['zh', 'AMP 是啥意思', '混合精度'],
    ['zh', '抢占式和按量有什么区别', '闲置资源'],
    ['en', 'what is gradient checkpointing?', 'time for memory'],
  ] as const)('%s: %s is explained and changes nothing', (locale, text, meaning) => {
    const { reply, state } = talk(locale, 'unet 512x512', text);
    expect(reply).toContain(meaning);
    expect(state).toMatchObject({ slots: { model: 'unet', imageHeight: 512, imageWidth: 512 }, asked: 'batchSize' });
    expect(state.slots.precision ?? state.slots.chargeType ?? state.slots.gradientCheckpointing).toBeUndefined();
  });

  test('who asks why is told the reason again', () => {
    expect(talk('zh', 'unet 512x512', '为什么要问 batch').reply).toContain('激活占的显存');
  });

  test('thanks are answered shortly and the question stays', () => {
    const { reply } = talk('zh', 'unet 512x512', '谢谢');
    expect(reply).toMatch(/^不客气[\s\S]*batch/);
    expect(reply).not.toContain('你好');
  });

  test('a price for a day is a price for a day', () => {
    expect(talk('zh', '一台 8 卡 V100 32G 一天多少钱').reply).toMatch(/24 小时共 ¥3,790/);
    expect(talk('en', 'what does an A10 cost per day?').reply).toMatch(/24 h cost ¥/);
  });
});

describe('asked for a budget, the person asks back', () => {
  test.each([
    ['zh', '多少钱', /推荐 ecs\.gn7i/],
    ['zh', '包月多少钱', /包月/],
    ['zh', '要跑多久', /^A10：每步/],
    ['zh', '怎么省显存', /省 [\d.]+ GiB/],
    ['zh', '有更便宜的吗', /^时价最低又放得下的，推荐 ecs\.gn7i-c8g1\.2xlarge/],
    ['en', 'how much does it cost', /take ecs\.gn7i/],
    ['en', 'order command', /RunInstances/],
  ] as const)('%s: %s', (locale, text, answer) => {
    const { reply, state } = talk(locale, 'segformer b2 512 batch 8', text);
    expect(reply).toMatch(answer);
    expect(state).toMatchObject({ asked: null, answered: true });
  });
});

test('what a run costs is meant where the card is an own one', () => {
  expect(talk('zh', 'unet 512 batch 8', '我有 4 张 2080ti', '多少钱').reply).toMatch(/推荐 ecs\./);
  expect(talk('en', 'unet 512 batch 8', 'my card has 24GB', 'how much does it cost?').reply).toMatch(/take ecs\./);
});

test('an own card is called by its own memory', () => {
  const { reply } = talk('en', 'unet 512 batch 4', 'I have a 3060 with 6GB');
  expect(reply).toContain('RTX 3060 6GB');
  expect(reply).not.toContain('12GB');
});

describe('networks beside each other', () => {
  test('are compared whichever cards were compared before', () => {
    const { reply } = talk('zh', 'segformer b5 512 batch 4', 'A10 和 V100 哪个好', 'unet 和 segformer b2 哪个省');
    expect(reply.split('\n')[0]).toMatch(/unet/);
    expect(reply.split('\n')[0]).toMatch(/segformer b2/);
  });
});

describe('networks beside each other, with questions in between', () => {
  test('are both sized when the questions are answered', () => {
    const { reply, state } = talk('zh', 'unet 和 segformer b2 哪个省', '512', 'batch 4');
    expect(reply.split('\n')[0]).toMatch(/unet.*segformer b2|segformer b2.*unet/);
    expect(state.asked).toBeNull();
  });

  test('are forgotten once one is chosen, or with another network', () => {
    const asked = ['unet 和 segformer b2 哪个省', '512', 'batch 4'];
    expect(talk('zh', ...asked, '就 unet 吧').reply).toContain('推荐 ecs.');
    expect(talk('zh', 'unet 和 segformer b2 哪个省', '算了，就 pspnet r50 吧', '512', 'batch 4').reply).not.toContain(
      'segformer',
    );
  });
});

describe('a measured time', () => {
  const run = 'unet 512 batch 8，预算不限';

  test('below the range is faster, not smaller', () => {
    const { reply } = talk('zh', run, '0.01 s/iter');
    expect(reply).toContain('比估算快');
    expect(reply).not.toContain('batch 还能');
    expect(talk('zh', run, '9 s/iter').reply).toContain('比估算慢');
  });

  test('on a card without a name asks for the card', () => {
    expect(talk('zh', run, '24G 的卡够吗', '0.31 s/iter').reply).toMatch(/^在哪张卡上/);
  });
});

describe('two networks beside each other', () => {
  const both = (reply: string) => ['unet', 'segformer b2'].map((name) => reply.includes(`- ${name}: `));

  test('stay so for other figures of the run, until one is chosen', () => {
    const turns = ['unet 和 segformer b2 哪个省显存，512 batch 4', 'batch 8 呢', '图 1024 呢', '开 amp', 'batch 翻倍'];
    for (const count of turns.keys()) {
      expect(both(talk('zh', ...turns.slice(0, count + 1)).reply), turns[count]).toEqual([true, true]);
    }
    expect(talk('zh', ...turns, '那就 segformer b2 吧', 'batch 4').reply).toMatch(/^需要/);
  });

  const compared = ['unet 和 segformer b2 哪个省，512 batch 4', 'batch 8 呢'] as const;

  test('take one more beside them', () => {
    const { reply, state } = talk('zh', ...compared, '加上 deeplabv3+');
    expect(both(reply)).toEqual([true, true]);
    expect(reply).toContain('- deeplabv3+: 13.7 GiB');
    expect(state.slots.model).toBe('unet');
  });

  test.each(['撤销', 'undo', '换回来'])('%s goes back to the comparison of before', (undo) => {
    expect(talk('zh', ...compared, undo).reply).toMatch(/(?:已退回上一步|Back to before).*segformer b2.*1\.5/);
    const { reply } = talk('zh', ...compared, '加上 deeplabv3+', undo);
    expect(both(reply)).toEqual([true, true]);
    expect(reply).not.toContain('deeplabv3+');
    expect(both(talk('zh', ...compared, 'segformer b2', undo).reply)).toEqual([true, true]);
  });

  test('end with a next step: one of them is taken', () => {
    const { reply } = talk('zh', ...compared);
    expect(reply).toMatch(/1\) segformer b2: 就用 segformer b2\n2\) unet: 就用 unet$/);
    expect(talk('zh', ...compared, '就用 segformer b2').reply).toMatch(/^需要 7\.5 GiB/);
    expect(talk('en', 'unet vs segformer b2 at 512 batch 8, which is lighter', 'use unet').reply).toMatch(
      /^Needs 11\.7/,
    );
  });

  test('of cards that are compared, one more stands beside them', () => {
    const cards = talk('zh', 'A10 和 V100 哪个好，unet 512 batch 8', '加上 L20');
    expect(cards.state.slots.gpu).toEqual([{ name: 'A10' }, { name: 'V100' }, { name: 'L20' }]);
  });

  test('are judged on the card that is named', () => {
    const { reply } = talk('zh', 'unet 和 segformer b2 哪个省，1024 batch 4', 'A10 上呢');
    expect(reply.match(/(?:放得下|放不下)[^\n]*A10|A10 放得下/g)).toHaveLength(2);
  });
});

describe('memory that is shared with the system', () => {
  test.each([
    ['zh', 'segformer b2 512 batch 8 Jetson AGX Orin 32G 能跑吗', '32 GB 要和系统、数据加载共用'],
    ['en', 'unet 512 batch 4 on a DGX Spark, fits?', 'shared with the system'],
    ['en', 'segformer b0 512 batch 2 on my M2 Max 64GB?', 'no CUDA'],
  ] as const)('%s: %s', (locale, text, remark) => {
    expect(talk(locale, text).reply).toContain(remark);
  });

  test('is not said of a card with its own', () => {
    expect(talk('zh', 'unet 512 batch 4 RTX 3090 24G 能跑吗').reply).not.toContain('共用');
  });
});

describe('the time that a machine is wanted', () => {
  test.each([
    ['zh', 'segformer b2 512 batch 8 只租10小时', /：10 小时共 ¥100\.9/],
    ['zh', 'segformer b2 512 batch 8，租 3 天多少钱', /：72 小时共 ¥726/],
    ['en', 'segformer b2 512 batch 8, how much for 10 hours?', /: 10 h cost ¥100\.9/],
    ['zh', 'A10 租 2 天多少钱', /48 小时共 ¥457/],
    ['zh', '三万块能用多久 A100 80G', /¥30,000 能用 864 小时（36 天）/],
    ['zh', 'segformer b2 512 batch 8，三万块能用多久', /¥30,000（总共）内，够用 2972 小时（124 天）/],
    ['en', 'how long would $300 last on an A10?', /\$300 buys 223 h/],
  ] as const)('%s: %s', (locale, text, cost) => {
    expect(talk(locale, text).reply).toMatch(cost);
  });
});

describe('a refused value', () => {
  const run = 'swin-unet 224 batch 4，预算不限';

  test.each([['300x300'], ['300x300', '500x600']])('%s %s is taken back as one change', (...refused) => {
    expect(talk('zh', run, ...refused, '撤销').reply).toMatch(/^已退回上一步：需要 1\.1 GiB/);
  });
});

describe('what a run costs for some time, asked after its estimate', () => {
  const run = 'unet 512x512 batch 8';

  test.each([
    ['zh', '一个月多少钱', /^ecs\.gn7i-c16g1\.4xlarge：1 个月按量 720 小时 ¥7,267，包月 ¥4,845。/],
    ['zh', '一年下来要多少钱', /：12 个月按量 8,640 小时 ¥87,207，包月 12 个月 ¥58,138。/],
    ['zh', '那半年呢', /：6 个月按量 4,320 小时 ¥43,603/],
    ['zh', '三个月呢', /：3 个月按量 2,160 小时 ¥21,802/],
    ['zh', '一周多少钱', /：168 小时共 ¥1,696。/],
    ['en', 'what is that per month', /^ecs\.gn7i-c16g1\.4xlarge: 1 month: ¥7,267 for 720 h pay-as-you-go, ¥4,845/],
    ['en', 'and for a year?', /: 12 months: ¥87,207 for 8,640 h/],
    ['en', 'monthly cost?', /: 1 month: ¥7,267/],
  ] as const)('%s: %s: the sum comes first', (locale, question, sum) => {
    expect(talk(locale, run, question).reply).toMatch(sum);
  });

  test('counts the hours of the month that the machine is used', () => {
    expect(talk('zh', run, '每天用 8 小时', '一个月多少钱').reply).toMatch(/1 个月按量 240 小时 ¥2,422，包月 ¥4,845/);
  });

  test.each([
    ['zh', '最便宜的是哪个'],
    ['zh', '越便宜越好'],
    ['en', 'cheapest?'],
    ['en', 'which is the cheapest one'],
  ] as const)('%s: %s: the lowest price that holds it comes first', (locale, question) => {
    expect(talk(locale, run, question).reply).toMatch(/^[^\n]*ecs\.gn7i-c8g1\.2xlarge[^\n]*¥9\.53/);
  });

  test('of cards that were named side by side, the cheapest of these', () => {
    expect(talk('zh', `${run}，V100 和 L20 选哪个`, '哪个最便宜').reply).toMatch(/^[^\n]*最低[^\n]*1×(?:V100|L20)/);
  });
});

describe('a recipe on another number of GPUs', () => {
  const official = ['官方 segformer b2 是 8卡x2，512', '换成单卡'];

  test('held before the number was changed', () => {
    const { reply } = talk('zh', ...official, '总batch 不变呢');
    expect(reply).toContain('每卡 2 张 × 累积 8 步');
    expect(talk('zh', ...official, '总batch 不变呢', '学习率呢').reply).toBe(reply);
  });

  test.each(['what if the total batch stays the same?', 'the effective batch should be kept', 'keep the total batch'])(
    'in English too: %s',
    (kept) =>
      expect(talk('en', 'segformer b2 512 8 gpus x 2', 'now on one card', kept).reply).toMatch(
        /^1 GPU: 2 per GPU × 8 accumulation steps/,
      ),
  );

  test('without accumulation the learning rate follows the total', () => {
    expect(talk('zh', ...official, '总batch 不变呢').reply).toMatch(
      /从 16 变成 2：SGD 的学习率除以 8，AdamW 除以 2\.8/,
    );
    const larger = talk('en', 'upernet r50 512, 4x4 -> 8x8').reply;
    expect(larger).toMatch(/from 16 to 64: multiply the learning rate by 4 with SGD/);
  });

  test.each([
    [
      'zh',
      '官方 segformer b5 1024x1024 8x2，我只有一张 3090，怎么设',
      /每卡 1 张 × 累积 16 步.*RTX 3090 可用 23\.6 GiB/s,
    ],
    [
      'en',
      'the paper trains deeplabv3+ r50 512x1024 with 8x2, I have a single 3090',
      /2 per GPU × 8 accumulation.*fits on RTX 3090/s,
    ],
    [
      'en',
      'the recipe is 8 gpus x 2, I have one 2080 ti, segformer b5 1024',
      /Not as it is .*with gradient checkpointing it fits on RTX 2080 Ti/,
    ],
  ] as const)('%s: %s: no more than the own card holds, and whether it does', (locale, text, split) => {
    expect(talk(locale, text).reply).toMatch(split);
  });

  test('as many images as are said for the own cards', () => {
    expect(talk('en', 'upernet swin-t: official 8xb2, mine 1xb4, what lr?').reply).toContain(
      '4 per GPU × 4 accumulation steps',
    );
  });
});

describe('recipes of others', () => {
  test.each([
    ['官方 segformer 是 8 卡 bs 2，我们只有 4 卡，想保持总 batch，每卡要开几', '总 batch 16（每卡 2 × 8 卡）'],
    ['paper trains segformer b5 with 8 GPUs, 1 image each at 1024. i have one GPU, how do i match it', 'total batch 8'],
    ['the config is 4xb4-80k (pspnet r50 512x1024). only 1 card here, keep the total batch', 'total batch 16'],
    ['repo says 16 gpus with 1 image per gpu. I have four A10s - accumulate how many steps?', 'total batch 16'],
  ])('%s', (text, total) => {
    expect(talk('en', text).reply).toContain(total);
  });
});

describe('figures', () => {
  test('an effective batch is shared among accumulation steps too', () => {
    const shared = talk('en', 'upernet r50 512, effective batch 32 with accumulation 4 on 2 gpus, no limit');
    const direct = talk('en', 'upernet r50 512, 4 per gpu with accumulation 4 on 2 gpus, no limit');
    expect(shared.reply.split('\n')[0]).toBe(direct.reply.split('\n')[0]);
  });

  test('without a budget the fastest is not called affordable', () => {
    const run = 'deeplabv3plus r50 512 bs 8 100 epoch，数据 5000 张，半小时内能训完吗';
    expect(talk('zh', run).reply).toMatch(/30 分钟内都训不完，最快的也要约/);
  });

  test('over budget, a cheaper machine with changes is named', () => {
    const { reply } = talk('en', 'deeplabv3+ r101 640x640 batch 6, budget 4,500 yuan per month');
    expect(reply).toMatch(/without changes is ecs\.gn6e.*; with AMP ecs\.gn7i.* costs less/);
  });
});
