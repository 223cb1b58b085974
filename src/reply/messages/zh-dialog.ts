import type { DialogMessages } from './en-dialog.ts';

export const zhDialog: DialogMessages = {
  errors: {
    'invalid-input': () => '没看懂这句。可以这样说："segformer b2，512x512，batch 8，预算 10 元/小时"。',
    'unknown-model': ({ name, nearest }) =>
      `没有收录叫"${name ?? '?'}"的网络。${nearest ? `最接近的是 ${nearest}。` : ''}换一个，或者告诉我它是在哪个网络上改的。`,
    'unknown-backbone': ({ name, nearest }) =>
      `这个网络没有"${name ?? '?'}"这种骨干。${nearest ? `能用的有 ${nearest}。` : ''}挑一个就行。`,
    'unsupported-combination': () => '这个组合训不了。换掉其中一个，我重新算。',
    'unknown-gpu': ({ name, nearest }) =>
      `没有收录"${name ?? '?'}"这张卡。${nearest ? `是不是 ${nearest}？` : ''}直接说显存也行，比如"24G 的卡"。`,
    'out-of-range': ({ field, limit }) =>
      `${field || '这个数'}${/[a-z]$/i.test(field ?? '') ? ' ' : ''}超出了能训练的范围${limit ? `（${limit}）` : ''}，确认一下数字再说一遍。`,
    'too-large': () => '这条消息太长了，只贴报错那几行或者训练命令就够，别超过 100 KB。',
    'invalid-config': ({ names }) => `配置不完整${names ? `：${names}` : ''}。补齐之后重新启动。`,
    'invalid-catalog': () => '目录数据读不出来，管理员可以在日志里看到是哪个文件、哪一行、哪个字段。',
    'store-unavailable': () => '存对话的地方暂时连不上，过一分钟再试。',
    'platform-refused': () => '平台拒收了这条消息，原因在日志里。',
    'platform-unreachable': () => '平台暂时连不上，恢复之后会补上回复。',
    overloaded: ({ seconds }) => `消息太多，一时答不过来，${seconds ?? '60'} 秒后再发。`,
    internal: () => '我这边出错了，日志里有记录。再说一遍，或者发"重置"重新开始。',
  },
  refused: {
    'multiple-of': ({ multipleOf, height, width }) =>
      `这个网络要求边长是 ${multipleOf} 的倍数，${height}×${width} 不行。换成多大？`,
    'square-multiple-of': ({ multipleOf, height, width }) =>
      `这个网络只收正方形的图，边长要是 ${multipleOf} 的倍数，${height}×${width} 不行。换成多大？`,
    square: ({ height, width }) => `这个网络只收正方形的图，${height}×${width} 不行。换成多大？`,
    'fixed-size': ({ side }) => `这个网络只收 ${side}×${side} 的图，按这个算行吗？`,
    'at-least': ({ minimumSide }) => `这个网络的边长至少要 ${minimumSide}。换成多大？`,
    'two-classes': () => '这个库只有一类的时候不算损失，背景也要算一类。一共几类？',
    'needs-auxiliary-head': () => '这个库里它关掉辅助头就算不了损失，会报错。辅助头留着吧。',
    'no-checkpointing': () => '这个库里它没有梯度检查点，打开会报错。说"不开梯度检查点"，我接着算。',
    'output-stride': ({ outputStride }) => `这个网络没有输出步长 ${outputStride} 的。换成多少，8、16 还是 32？`,
    'cannot-dilate': ({ nearest }) =>
      `这个编码器不能做空洞卷积，接不上这个头。${nearest ? `可以用 ${nearest}。` : ''}换个骨干或者换个头。`,
    'no-mit': ({ nearest }) =>
      `smp 的这个解码器不支持 MiT 编码器。${nearest ? `可以用 ${nearest}。` : ''}换个骨干，或者用 smp.Unet、smp.Segformer。`,
    'vit-needs-dpt': () =>
      'smp 里纯 ViT 编码器只能配 DPT。用 smp.DPT，或者换成有金字塔的骨干（ResNet、Swin、ConvNeXt）。',
    'encoder-depth': ({ depth, least }) =>
      `编码器深度 ${depth} 不行，只能是 ${least ?? '1'} 到 5。改一下 encoder_depth 再发。`,
    widths: ({ count, depth }) => `给了 ${count} 个宽度，却有 ${depth} 层，一层要一个。改一下再发。`,
    option: ({ option, known }) => `${option} 只能是 ${known} 里的一个。改一下再发。`,
    'unequal-sizes': ({ logits, target }) => `输出是 ${logits}，标签是 ${target}，算损失会报错。改一下上采样或者深度。`,
  },
  fieldNames: {
    imageHeight: '图的高',
    imageWidth: '图的宽',
    batchSize: 'batch',
    numClasses: '类别数',
    inputChannels: '输入通道数',
    baseChannels: '首层通道数',
    gpus: '卡数',
    gpu: '卡',
    other: '这个数',
  },
  limits: {
    imageHeight: '16 到 16384 像素',
    imageWidth: '16 到 16384 像素',
    batchSize: '每卡 1 到 4096 张',
    numClasses: '1 到 100000',
    inputChannels: '1 到 1024',
    baseChannels: '1 到 1024',
    gpus: '1 到 1024',
  },

  ask: {
    model: [
      '训什么模型？不同网络的显存能差五倍。',
      '哪个模型？比如"deeplabv3+ resnet50"、"segformer b2"，贴配置名或者 smp.Unet("resnet34") 这样的代码也行。',
      '不知道模型就没法算。先按最常用的 DeepLabV3+ ResNet-50 来，行吗？',
    ],
    imageHeight: [
      '训练时图多大（裁剪后的尺寸）？显存跟像素数成正比。',
      '图多大？比如"512x512"、"1024*512"、"裁 769"。说进网络的尺寸，不是原图。',
      '不说的话按 512×512 算，行吗？',
    ],
    batchSize: [
      '每张卡每步几张图（batch）？激活占的显存基本随它成倍涨。',
      'batch 多少？比如"8"、"每卡 4 张"、"4 卡总共 16"。',
      '不说的话按每卡 4 张算，行吗？',
    ],
    budget: [
      '预算多少？我好挑机器。',
      '预算，比如"15 元/小时"、"5000/月"、"$2/h"、"总共 2000"；说"不限"也行。',
      '不说的话就挑单张图最便宜的，行吗？',
    ],
    gpu: [
      '你的是什么卡？说型号或者显存都行。',
      '比如"RTX 3090"、"4 张 2080 Ti"、"24G 的卡"。',
      '只说显存多少 G 也行。',
    ],
    other: ['你说的是哪一个？', '再说一遍名字，按配置文件里的写法就行。', '这里可以用默认值，行吗？'],
  },
  memoryFirst: (verdict) => `${verdict}。`,
  resume: (question) => `接下来：${question}`,
  confirm: [
    (typed, candidates) => `"${typed}"是指 ${candidates}？`,
    (typed, candidates) => `还没定下"${typed}"是哪一个，显存差得多：${candidates}？回复名字，或者"第一个"。`,
    (typed, first) => `不说的话"${typed}"按 ${first} 算，行吗？`,
  ],
  alternative: (taken, other, needs) =>
    `两个里先按 ${taken} 算；${needs === '' ? '' : `另一个要 ${needs}，`}要看它的机器和价格，直接说"${other}"。`,
  leftOpen: (taken) => `按 ${taken} 算；不是它就说一声。`,
  or: ' 还是 ',
  unifiedMemory: (card, memory, cuda) =>
    `${card} 没有独立显存：${memory === null ? '内存' : `${memory} GB `}要和系统、数据加载共用，得多留几 GB${cuda ? '' : '；它也没有 CUDA，这里的数是按 CUDA 算的'}。`,
  otherVersion: (name) => `“${name}”改过，这里按原版算的。差多少，跑一步看 torch.cuda.max_memory_allocated()。`,
  withoutCuda: (card) =>
    `${card} 没有 CUDA，这里的数是按 CUDA 算的；它自己的软件栈上显存和速度会不一样，先短跑一次看看。`,
  rented: (machine, sum) => `${machine}：${sum}。`,
  share: (total, gpus, each) => `总 batch ${total} 分到 ${gpus} 张卡，每卡 ${each} 张。`,

  greet: '你好！告诉我想训什么，我来算要多大的显存、在阿里云租哪种机器、多少钱。',
  welcome: '不客气，接着说就行。',
  help: {
    title: '我来算训练分割模型要多大的 GPU',
    intro: '告诉我模型、图多大、batch、预算，一句话说完或者一样一样说都行：',
    items: [
      '"deeplabv3+ resnet50，512x1024，每卡2张，预算 15 元/小时"：显存、机器、价格一次给齐',
      '"A10 够吗"、"T4 上 batch 最大多少"、"A10 和 V100 选哪个"',
      '接着随便改："batch 8"、"开 AMP"、"换成 segformer b2"、"预算 5000/月"、"撤销"',
      '爆显存的报错、配置名、训练命令、nvidia-smi 的表格，直接贴过来',
      '跑起来之后告诉我 nvidia-smi 显示多少，我来对比',
    ],
  },
  declined: {
    inference: '我只算训练：推理不留激活，要的显存少得多。可以告诉你训练这个模型要多少。',
    llm: '大语言模型我不会算，我只算图像分割网络的训练。',
    '3d': '三维体数据我算不了，收录的都是二维网络。如果是切片训练，告诉我切片尺寸和 batch。',
    detection: '纯检测的模型我不算。实例分割可以（YOLOv8-seg、YOLO11-seg、Mask R-CNN）：告诉我模型、图多大、batch。',
    'other-cloud': '机器我只认得阿里云的。显存在哪家云都一样：告诉我模型、图多大、batch。',
    buying: '我不能替你下单，可以给你下单命令，你自己执行。',
    unclear: '没听懂。告诉我模型、图多大、batch，比如"unet 512x512 batch 8"，或者发"帮助"。',
  },
  aside: {
    'other-cloud': '别家云：显存一样算数，机器和价格这里只有阿里云的。',
    'other-currency': '预算只认人民币和美元，换算一下再告诉我。',
    buying: '我不替你下单：要下单命令的话说一声，你自己执行。',
  },
  closed: {
    reset: '清空了。这次想训什么？',
    undo: '退回到上一步改动之前。',
    'nothing-to-undo': '没有可以撤销的了。想训什么？',
  },
  held: (text) => `现在记着的：${text}`,
  unsupported: {
    checkpointing: '这个库的版本没有梯度检查点开关，开不了，数没变；要省显存就开 AMP、减 batch 或者换库。',
    sdpa: '这个版本换不了融合注意力（没有注意力，或者库里写死了），数没变。',
  },
  unknownGpuAside: (name) => `没有收录"${name}"这张卡，先不算它；告诉我显存多大也行。`,
};
