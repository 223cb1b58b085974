import { loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import { secondsPerIteration } from '../../src/estimator/timing.ts';
import type { Locale } from '../../src/message.ts';
import { composeProblem } from '../../src/reply/compose.ts';
import type { Reply } from '../../src/reply/reply.ts';
import type { AnswerPorts } from '../../src/turn/ports.ts';
import { decideTurn } from '../../src/turn/take-turn.ts';
import { cacheEstimates } from '../../src/workload/estimate-cache.ts';

const catalog = loadCatalog();
const prices = createPriceBook(catalog.prices);

/** The pure part of the product on the built-in facts, as every test of it uses it. */
export const answerPorts: AnswerPorts = {
  catalog,
  prices: () => prices,
  usdCny: 7.1,
  region: 'cn-hangzhou',
  estimate: cacheEstimates((workload) => estimate(workload)),
  secondsPerIteration,
};

/** The replies to the turns of one conversation. */
export function converse(locale: Locale, turns: readonly string[]): readonly Reply[] {
  let state = initialState(locale);
  return turns.map((text, index) => {
    const decided = decideTurn(state, text, answerPorts);
    state = decided.state;
    return decided.compose(decided.isEstimate ? `T${index}ST` : null);
  });
}

const OOM =
  'CUDA out of memory. Tried to allocate 1006.00 MiB (GPU 0; 10.91 GiB total capacity; 9.18 GiB already allocated; 569.81 MiB free; 9.49 GiB reserved in total by PyTorch)';

/** One reply of every kind in both languages, made by the product itself. */
export function goldenReplies(): readonly Reply[] {
  return [
    ...converse('zh', [
      '你好',
      '帮助',
      '我想训个分割模型，要多大的卡',
      'deeplabv3+ resnet50',
      '512x1024',
      '每卡2张',
      '预算 15 元/小时',
      '换成 segformer b2 呢',
      'A10 够吗',
      'A10 每卡最多放几张',
      'A10 多少钱',
      '下单命令',
      '为什么',
      'nvidia-smi 显示 9.2G',
      OOM,
      '撤销',
      '今天天气',
      '重新开始',
    ]),
    ...converse('en', [
      'hello',
      'help',
      'how big a gpu do i need?',
      'unet',
      '512x512',
      '8',
      '$2/h',
      'A10 or V100?',
      'largest batch on a T4?',
      'order command',
      'details',
      OOM,
      'undo',
      'start over',
    ]),
    composeProblem('zh', { code: 'internal', details: {} }),
    composeProblem('en', { code: 'overloaded', details: { seconds: '30' } }),
  ];
}

const hostile = '<script>*_~`[x](http://e.vil) <!channel> @all\u0000\u001b[31m';

/** Replies at the edge of what may come: every block long, many choices, markup of all platforms. */
export function extremeReplies(): readonly Reply[] {
  const long = `${hostile} ${'很长的字 long words '.repeat(3_000)}`;
  const tier = {
    tier: long,
    recommended: true,
    instance: long,
    gpu: long,
    result: long,
    price: long,
    secondsPerStep: long,
    costPerThousand: long,
    note: long,
  };
  const blocks: Reply['blocks'] = [
    { kind: 'verdict', level: 'main', text: long },
    { kind: 'tiers', level: 'main', title: long, columns: tier, rows: Array.from({ length: 30 }, () => tier) },
    { kind: 'bar', level: 'main', title: long, note: long, segments: [{ label: long, bytes: 0, hint: long }] },
    {
      kind: 'facts',
      level: 'main',
      title: long,
      items: Array.from({ length: 60 }, () => ({ label: long, value: long })),
    },
    { kind: 'list', level: 'details', title: long, items: Array.from({ length: 60 }, () => long) },
    { kind: 'text', level: 'main', text: long },
    { kind: 'code', level: 'details', title: long, text: long },
    { kind: 'note', level: 'main', text: long },
  ];
  const choices = Array.from({ length: 40 }, (_, index) => ({ label: `${index} ${hostile}`.slice(0, 20), say: long }));
  return [
    { locale: 'zh', kind: 'answer', fallback: long, blocks, choices, estimateCode: 'G7K2' },
    { locale: 'en', kind: 'notice', fallback: '.', blocks: [], choices: [] },
    {
      locale: 'en',
      kind: 'answer',
      fallback: hostile,
      blocks: [
        { kind: 'verdict', level: 'main', text: hostile },
        { kind: 'bar', level: 'main', title: '', note: '', segments: [], capacityBytes: 0 },
        { kind: 'tiers', level: 'main', title: '', columns: tier, rows: [] },
        { kind: 'list', level: 'main', title: '', items: [] },
        { kind: 'facts', level: 'main', title: '', items: [] },
      ],
      choices: [],
    },
  ];
}
