import type { SurfaceTexts } from '../../../adapters/adapter.ts';
import type { Locale } from '../../message.ts';
import { enDialog } from './en-dialog.ts';
import { zhDialog } from './zh-dialog.ts';

const helpText = ({ title, intro, items }: typeof enDialog.help): string =>
  [title, intro, ...items.map((item) => `• ${item}`)].join('\n');

const en: SurfaceTexts = {
  help: helpText(enDialog.help),
  helpInThreads: 'Commands do not work inside threads: mention me there, or just reply where I already answered.',
  formTitle: 'Size a GPU',
  formSubmit: 'Size it',
  formCancel: 'Cancel',
  fieldModel: 'Model',
  fieldModelHint: 'deeplabv3+ resnet50, segformer b2, smp.Unet("resnet34"), a config name …',
  fieldSize: 'Training image size (crop)',
  fieldSizeHint: '512x1024',
  fieldBatch: 'Batch size per GPU',
  fieldBudget: 'Budget',
  fieldBudgetHint: '15 CNY/h, 5000 a month, $2/h, or empty for no limit',
  fieldInvalid: 'That does not look right. For example:',
  details: 'Details',
  share: 'Share in channel',
  helpful: 'Helpful',
  notHelpful: 'Not helpful',
  thanks: 'Thank you, noted.',
  homeTitle: 'GPUs for training segmentation models',
  homeIntro:
    'Tell me model, image size, batch size and budget: I say how much memory it needs, what to rent and what it costs.',
  homeRecent: 'Your recent estimates',
  homeEmpty: 'Nothing yet. Start with one.',
  newEstimate: 'New estimate',
  textOnly: 'I read text only. Paste the error message or the command as text.',
  overloaded: 'Too many messages at once. Please try again in a minute.',
  failed: 'Something went wrong on my side; it is in the log. Please say it once more.',
  otherCard: 'Other GPU',
  pickByNumber: 'Or reply with a number:',
  pickInGroups: 'Mention me and reply with a number:',
  suggestedPrompts: [
    { title: 'What do I need?', message: 'deeplabv3+ resnet50, 512x1024, batch 2 per GPU, budget 15 CNY/h' },
    { title: 'Does it fit?', message: 'Does segformer b2 at 1024x1024 batch 2 fit on an A10?' },
    { title: 'Out of memory', message: 'CUDA out of memory, what can I change?' },
    { title: 'A10 or V100?', message: 'A10 or V100 for unet 512x512 batch 8?' },
  ],
};

const zh: SurfaceTexts = {
  help: helpText(zhDialog.help),
  helpInThreads: '线程里不能用命令：在线程里 @ 我，或直接回复我已经答过的线程。',
  formTitle: '算显存',
  formSubmit: '开始算',
  formCancel: '取消',
  fieldModel: '模型',
  fieldModelHint: 'deeplabv3+ resnet50、segformer b2、smp.Unet("resnet34")、配置名……',
  fieldSize: '训练图尺寸（裁剪后）',
  fieldSizeHint: '512x1024',
  fieldBatch: '每卡 batch',
  fieldBudget: '预算',
  fieldBudgetHint: '15 元/小时、5000/月、$2/h，不填就是不限',
  fieldInvalid: '好像不对，比如：',
  details: '详情',
  share: '发到群里',
  helpful: '有用',
  notHelpful: '没用',
  thanks: '收到，谢谢。',
  homeTitle: '训练分割模型要多大的 GPU',
  homeIntro: '告诉我模型、图多大、batch、预算，我来算显存、挑机器、算价钱。',
  homeRecent: '最近算过的',
  homeEmpty: '还没有，先算一个。',
  newEstimate: '新算一个',
  textOnly: '我只看得懂文字，把报错或者命令贴成文字发过来。',
  overloaded: '消息太多了，过一分钟再试。',
  failed: '我这边出错了，日志里有记录，麻烦再说一遍。',
  otherCard: '换张卡',
  pickByNumber: '点按钮，或者回复序号：',
  pickInGroups: '点按钮，或者 @我 回复序号：',
  suggestedPrompts: [
    { title: '要多大的卡', message: 'deeplabv3+ resnet50，512x1024，每卡2张，预算 15 元/小时' },
    { title: '放得下吗', message: 'segformer b2 1024x1024 batch 2，A10 够吗' },
    { title: '爆显存了', message: '爆显存了，能改什么' },
    { title: 'A10 还是 V100', message: 'unet 512x512 batch 8，A10 和 V100 选哪个' },
  ],
};

/** Words of the platforms' own surfaces: forms, home pages, declines. */
export function surfaceTexts(locale: Locale): SurfaceTexts {
  return locale === 'zh' ? zh : en;
}
