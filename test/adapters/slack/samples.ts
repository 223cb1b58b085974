import type { SurfaceTexts } from '../../../adapters/adapter.ts';
import type { Locale } from '../../../src/message.ts';
import type { Block, Reply, TierColumns, TierLine } from '../../../src/reply/reply.ts';

export const englishTexts: SurfaceTexts = {
  help: 'Type /gpu-size <what you train>, for example: unet 512x512 batch 8 & budget $2000',
  helpInThreads: 'In threads, mention me',
  formTitle: 'Size a GPU',
  formSubmit: 'Estimate',
  formCancel: 'Cancel',
  fieldModel: 'Model',
  fieldModelHint: 'segformer b2',
  fieldSize: 'Image size',
  fieldSizeHint: '512x512',
  fieldBatch: 'Batch size per GPU',
  fieldBudget: 'Budget',
  fieldBudgetHint: '15 CNY/hour',
  fieldInvalid: 'Not understood. For example:',
  details: 'Details',
  share: 'Share in Channel',
  helpful: 'Helpful',
  notHelpful: 'Not Helpful',
  thanks: 'Thanks for telling us',
  homeTitle: 'GPU sizes',
  homeIntro: 'How big a GPU does training need?',
  homeRecent: 'Your recent estimates',
  homeEmpty: 'None yet',
  newEstimate: 'New Estimate',
  textOnly: 'I read text only',
  overloaded: 'Too much to do, please try again',
  failed: 'That did not work, please try again',
  otherCard: 'Another card',
  pickByNumber: 'Or reply',
  pickInGroups: 'Or mention me',
  suggestedPrompts: [
    { title: 'U-Net', message: 'unet 512x512 batch 8' },
    { title: 'Budget', message: 'deeplabv3+ 1024x1024 batch 4 budget 2000' },
  ],
};

export const chineseTexts: SurfaceTexts = {
  ...englishTexts,
  help: '用法：/gpu-size 模型 尺寸',
  formTitle: '估算显存',
  homeTitle: '显存估算',
  overloaded: '忙不过来',
  thanks: '谢谢',
};
export const textsOf = (locale: Locale): SurfaceTexts => (locale === 'zh' ? chineseTexts : englishTexts);

export const columns: TierColumns = {
  tier: 'Tier',
  instance: 'Instance',
  gpu: 'GPU',
  result: 'Result',
  price: 'Price',
  secondsPerStep: 's/step',
  costPerThousand: 'Per 1,000',
  note: 'Note',
};

export const tier = (name: string, recommended = false): TierLine => ({
  tier: name,
  recommended,
  instance: 'ecs.gn7i-c8g1.2xlarge',
  gpu: '1×A10 22.1 GiB',
  result: 'fits',
  price: '¥10.09/h',
  secondsPerStep: '0.7–1.1',
  costPerThousand: '—',
  note: recommended ? 'cheapest per image' : '',
});

/** A reply with every kind of block. */
export function fullReply(changes: Partial<Reply> = {}): Reply {
  const blocks: Block[] = [
    { kind: 'verdict', level: 'main', text: 'Needs about 18.4 GB; A10 24 GB fits' },
    { kind: 'tiers', level: 'main', title: 'What to rent', columns, rows: [tier('A'), tier('B', true), tier('C')] },
    {
      kind: 'bar',
      level: 'main',
      title: 'Where it goes',
      segments: [
        { label: 'activations', bytes: 12e9, hint: 'decoder' },
        { label: '权重', bytes: 1.7e8 },
      ],
      capacityBytes: 24e9,
      note: 'of 22.1 GiB',
    },
    {
      kind: 'facts',
      level: 'main',
      title: 'Run',
      items: [
        { label: 'GPUs', value: '1' },
        { label: 'Price', value: '¥10' },
      ],
    },
    { kind: 'list', level: 'main', title: 'Tips', items: ['AMP saves 3 GiB', '<!channel> & *bold*'] },
    { kind: 'text', level: 'details', text: 'The peak is in backward' },
    { kind: 'code', level: 'details', title: 'Order', text: 'aliyun ecs RunInstances --x <y>' },
    { kind: 'note', level: 'main', text: 'Assumed: 19 classes. Prices of 2026-11-30' },
  ];
  const choices = ['fp16', 'batch 4', 'batch 16', 'budget 20', 'A10', 'V100', 'A100'].map((say, index) => ({
    label: say,
    say,
    primary: index === 0,
  }));
  return {
    locale: 'en',
    kind: 'answer',
    fallback: 'Needs about 18.4 GB; A10 24 GB fits\nmore',
    blocks,
    choices,
    estimateCode: 'G7K2',
    ...changes,
  };
}
