import type { scope as english } from '../en/scope.ts';

/** What the product has no answer for. */
export const scope = {
  inference: ['推理', '部署', '只(?:做|跑)?预测', '线上服务', '前向推断', '只测试', '不训练'],
  llm: ['大(?:语言)?模型', '语言模型', '千问', '通义', '文生图', '对话模型', '智谱', '语音(?:识别|合成)', '文心'],
  volume: ['三维', '3 ?维', '体数据', '体素', '点云', 'ct ?序列', '立体'],
  detection: [
    '目标检测',
    '检测(?:模型|任务|网络|头)',
    '只检测',
    '不是分割',
    '分类(?:任务|网络)',
    '姿态估计',
    '关键点',
    '文字识别',
    '人脸识别',
  ],
  otherCloud: [
    '腾讯云',
    '华为云',
    '百度云',
    '亚马逊',
    '谷歌云',
    '微软云',
    '火山引擎',
    '天翼云',
    '京东云',
    '恒源云',
    '矩池云',
    '算力云',
    'ucloud',
  ],
  buying: ['帮我(?:买|下单|租|开一?台|购买|订)', '直接(?:下单|买|开)', '替我(?:买|下单|租)', '你来下单'],
} as const satisfies Readonly<Record<keyof typeof english, readonly string[]>>;
