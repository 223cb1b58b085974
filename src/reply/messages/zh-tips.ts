import type { TipMessages } from './en-tips.ts';

/** Sources of corrections whose names have a Chinese form. */
const SOURCES: Readonly<Record<string, string>> = {
  'Alibaba Cloud documentation, GPU instance families': '阿里云文档，GPU 规格族',
  'Alibaba Cloud documentation and ECS API catalogue': '阿里云文档和 ECS 规格目录',
  'Alibaba Cloud documentation, regions and zones': '阿里云文档，地域和可用区',
  'Alibaba Cloud documentation, spot instances': '阿里云文档，抢占式实例',
  'Alibaba Cloud documentation, ESSD limits': '阿里云文档，ESSD 性能',
  'Alibaba Cloud documentation, PAI': '阿里云文档，PAI',
  'replay of official code and traces (docs/estimator.md)': '逐算子重放官方代码，docs/estimator.md',
  'list prices of gn7i-c8g1.2xlarge and gn8is.2xlarge': 'gn7i-c8g1.2xlarge 和 gn8is.2xlarge 的目录价',
};

export const zhTips: TipMessages = {
  tips: {
    amp: ({ precision }) => `开混合精度 ${precision ?? 'fp16'}`,
    sdpa: () => '换融合注意力（SDPA）',
    checkpointing: () => '开梯度检查点',
    accumulation: ({ microBatch, steps, batchNorm }) =>
      `每次 ${microBatch} 张、累积 ${steps} 步${batchNorm === 'no' ? '' : `；BatchNorm 就只看得到 ${microBatch} 张`}`,
    'output-stride': () => '步长从 8 改成 16，边缘稍粗一点',
    'smaller-crop': ({ imageHeight, imageWidth }) => `裁剪改成 ${imageHeight}×${imageWidth}`,
    'frozen-backbone': () => '冻结骨干，只微调头',
    'auxiliary-head': () => '去掉辅助头',
    'lighter-variant': ({ to, metric, accuracyFrom, accuracyTo, dataset }) =>
      `换 ${to}：${dataset} 上公布的 ${metric} 从 ${accuracyFrom} 变成 ${accuracyTo}`,
    'low-resolution-loss': ({ classes }) => `在 1/4 分辨率的 logits 上算损失（${classes} 类，全尺寸太占地方）`,
    'set-to-none': () => 'zero_grad(set_to_none=True)',
    'fused-optimizer': () => '用融合的优化器（fused=True），更新时少些临时量',
    'expandable-segments': ({ reservedGiB, afterGiB }) =>
      `设 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True：预留从 ${reservedGiB} 降到 ${afterGiB} GiB`,
    'sliding-validation': ({ wholeGiB, slidingGiB }) =>
      `验证改滑窗：${wholeGiB} → ${slidingGiB} GiB，不改的话验证比训练还吃显存`,
    'channels-last': () => 'AMP 下用 channels_last',
    workers: ({ workers, vcpuPerGpu }) =>
      `每个进程 num_workers=${workers}（每卡 ${vcpuPerGpu} 核），persistent_workers=True，pin_memory=True`,
    dali: () => '大图 JPEG 的解码和增强交给 DALI',
    'local-cache': ({ diskGB }) => `数据有 ${diskGB} GB：放 NAS 或 OSS（ossfs），本地做缓存`,
    spot: () => '抢占式更便宜，但随时可能被回收：checkpoint 存在不随机器释放的盘上',
    'spot-checkpoints': () => '抢占式：checkpoint 存在不随机器释放的盘上，回收前只提前 5 分钟通知',
    release: () => '训完就释放（设 AutoReleaseTime）；只关机可能还在计费',
    subscription: ({ thresholdHours }) => `每月用满 ${thresholdHours} 小时包月才划算，用不满按量便宜`,
    'pai-dlc': ({ hours }) => `要跑约 ${hours} 小时：用 PAI-DLC，断了能自动续训`,
    'ddp-or-accumulation': ({ gpus }) => `这 ${gpus} 张卡之间没有 P2P：单卡加梯度累积可能差不多快`,
    'cudnn-benchmark': () => '余量小：torch.backends.cudnn.benchmark 保持 False，开了头几步会多吃很多',
    'zero-helps-little': ({ percent }) => `上 ZeRO 只能省 ${percent} %：显存几乎都是激活`,
  },
  beliefs: {
    'gn7e-is-a100': ({ family, gpu, a10Family }) => `${family} 是 ${gpu}，A10 是 ${a10Family}`,
    'gn6v-is-16gb': ({ family, memoryGB, largerFamily, largerMemoryGB }) =>
      `${family} 是 ${memoryGB}G 的 V100，${largerMemoryGB}G 的是 ${largerFamily}`,
    'gn8i-is-no-family': ({ family, a100Family, nearFamily, nearGpu }) =>
      `没有 ${family} 这个规格族：A100 80G 是 ${a100Family}，${nearFamily} 是 ${nearGpu}`,
    'gn9y-is-no-family': ({ family, h20Family }) => `没有 ${family} 这个规格族：H20 是 ${h20Family}`,
    'gn7-is-a100-40gb': ({ family, gpu, a10Family }) => `${family} 是 ${gpu}，A10 是 ${a10Family}`,
    'gn7s-is-a30': ({ family, gpu, h20Family }) => `${family} 是 ${gpu}，H20 是 ${h20Family}`,
    'gn8v-is-h20': ({ family, gpu }) => `${family} 是 ${gpu}`,
    'gn7i-c8g1-4xlarge-is-no-type': ({ smaller, larger }) =>
      `没有 ecs.gn7i-c8g1.4xlarge 这个规格，有的是 ${smaller} 和 ${larger}`,
    'h20-is-not-domestic': ({ vendor, domestic }) =>
      `H20 是 ${vendor} 的，不算国产卡；国产的是 ${domestic}，价格要问销售`,
    'vgpu-does-not-train': ({ driver, cuda }) =>
      `vGPU 切片不适合训练：驱动 ${driver} 只到 CUDA ${cuda}，装不了现在的 PyTorch`,
    't4-is-not-cheapest': ({ t4CnyPerHour, a10CnyPerHour, region }) =>
      `T4 不是最便宜的：${region} 一小时 ¥${t4CnyPerHour}，A10 才 ¥${a10CnyPerHour}，还更快`,
    'subscription-needs-480-hours': ({ thresholdHours, percent }) =>
      `包月省 ${percent} % 说的是整月都开着；用不满 ${thresholdHours} 小时反而更贵`,
    'spot-has-no-fixed-discount': ({ api }) => `抢占式没有固定折扣，价格一直在变，查 ${api}`,
    'pl3-is-rarely-needed': ({ level, maximumMBps, minimumGiB }) =>
      `ESSD ${level} 到 ${maximumMBps} MB/s 都够用；PL3 从 ${minimumGiB} GiB 起卖，很少用得上`,
    'system-disk-dot-category': ({ wrong, right }) => `RunInstances 的参数叫 ${right}，不是 ${wrong}`,
    'image-ids-change': ({ api }) => `镜像 id 会变，用 ${api} 现查，别照抄`,
    'eas-serves': ({ training, serving }) => `${serving} 是做推理服务的，训练用 ${training}`,
    'amp-does-not-halve': ({ resnetPercent, segformerPercent, swinPercent }) =>
      `AMP 不会减半：ResNet 约省 ${resnetPercent} %，SegFormer 约 ${segformerPercent} %，Swin 约 ${swinPercent} %`,
    'gpu-memory-does-not-add-up': () => '多张卡的显存不能相加：每张卡都要放一整份，能变小的只有每卡的 batch',
    'zero-saves-little': ({ percent }) => `分割模型上 ZeRO 省不到 ${percent} %：激活还在原地`,
    'accumulation-saves-by-micro-batch': () => '梯度累积本身不省显存，省的是每次的 batch 变小了',
    'no-bf16-before-ampere': ({ gpus }) => `${gpus} 没有 bf16，也没有 TF32：用 fp16 加损失缩放`,
    'family-is': ({ family, gpu }) => `${family} 是 ${gpu}`,
    'family-is-so': ({ family, gpu }) => `对，${family} 就是 ${gpu}`,
    'family-unknown': ({ family }) => `没有 ${family} 这个规格族`,
    'type-unknown': ({ instanceType, types }) => `没有 ${instanceType} 这个规格，相近的有 ${types}`,
    'amp-is': () => 'AMP 就是混合精度：前向和反向大多用 16 位算，权重和优化器留 32 位；省的主要是激活，还更快',
    'checkpointing-is': () => '梯度检查点：前向只留每一段的输入，反向再算一遍，拿时间换显存',
    'accumulation-is': () => '梯度累积：几个小 batch 的梯度加起来才更新一次；显存按小 batch 算，效果接近大 batch',
    'spot-is': ({ minutes }) =>
      `抢占式用的是闲置资源，价格一直在变，可能被回收，回收前只提前 ${minutes} 分钟通知；按量是目录价，不会被回收`,
    'region-is-closing': ({ region }) => `${region} 正在关停，别在那里长期放东西，最好换个地域`,
    'ram-is-not-vram': () => '主机内存不能当显存用：一步训练要整个放进卡里',
    'a10-has-no-nvlink': ({ gpu, family }) => `${gpu}（${family}）没有 NVLink，也没有 P2P，卡间通信要绕主机走 PCIe`,
  },
  reasons: {
    'cached-memory': 'PyTorch 会留着释放掉的显存当缓存，真实需要看 max_memory_allocated()',
    'varying-sizes': '输入尺寸不固定，缓存越积越多',
    'first-iterations': '头几步 cudnn.benchmark 在试算法',
    'other-process': '卡上还有别的进程',
    'validation-included': '把验证也算进去了',
    'context-of-old-torch': 'torch 2.0 以前 CUDA 上下文更大',
    'output-kept': '训练循环把输出一直留到反向之后',
    'other-library-version': '库或者网络版本不一样',
    'smaller-input': '实际的图或者 batch 更小',
    'data-loading': '卡在读数据上',
    'faster-kernels': '算子或者内存布局比假设的好（channels_last、compile）',
  },
  sourced: (fact, source, date) => `${fact}（来源：${SOURCES[source] ?? source}，${date}）`,
};
