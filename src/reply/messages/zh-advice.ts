import type { AdviceMessages } from './en-advice.ts';

export const zhAdvice: AdviceMessages = {
  hostShort: (vcpu, memory) => `主机只有 ${vcpu} 核 ${memory} GiB`,
  table: {
    late: (hours) => `来不及，要约 ${hours}`,
    nothingIn: (region, offer, where) =>
      `${region} 没有放得下又有价格的规格；${offer} 在 ${where} 有，说一个地域就按它算`,
  },
  notes: {
    'host-memory-below-rule': '主机内存不到显存的 1.5 倍：worker 少开几个，prefetch 调小。',
    'host-cpu-below-rule': '每张卡不到 8 核：解码和增强会拖慢训练。',
    'subscription-unverified': '这个规格的包月价是按 480 倍时价算的，没有核对过。',
    'spot-price-unknown': '没有抢占式价格，按按量价来判断。',
    'observed-price': '价格只有一次报价记录，不是价目表里的。',
    'old-gpu-wheels': 'Volta、Pascal 的卡只能装 CUDA 12.6 版的 PyTorch，安装时要指定源。',
    'no-bf16': '这张卡没有 bf16，用 fp16 加损失缩放。',
    'no-p2p': '卡间通信要绕主机走 PCIe（没有 P2P），多卡达不到线性加速。',
    'misses-deadline': '照这个速度，期限内训不完。',
  },
  oom: {
    diagnoses: {
      too_big: {
        verdict: '这张卡确实放不下',
        next: ['依次试：减 batch、开 AMP、开梯度检查点', '或者换显存更大的卡'],
      },
      fragmentation: {
        verdict: '显存碎了：PyTorch 手里有，但都是小块',
        next: ['设 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True', '输入尺寸固定下来，或者补边到几种尺寸'],
      },
      other_process: {
        verdict: '卡上还有别的进程占着',
        next: ['看 nvidia-smi，把残留的进程（崩掉的训练、notebook、桌面）停掉', '或者用 CUDA_VISIBLE_DEVICES 换一张卡'],
      },
      single_allocation: {
        verdict: '有一次申请大得不正常',
        next: [
          '多半是拿整图做验证，或者大图上用了没融合的注意力：改滑窗，或者换融合注意力',
          '核对一下标签和 logits 的尺寸',
        ],
      },
      first_iteration: {
        verdict: '只在头几步爆：cudnn.benchmark 在试大工作区',
        next: ['设 torch.backends.cudnn.benchmark = False', '或者留出 1–2 GiB 的余量'],
      },
      validation: {
        verdict: '爆在验证：整图要存每一类的 logits',
        next: ['验证用滑窗或者缩小图，batch 1，放在 torch.no_grad() 里', '每张图的结果算完就挪到 CPU'],
      },
      host_memory: {
        verdict: '爆的是主机内存（RAM 或 /dev/shm），不是显存',
        next: ['worker 少开几个，prefetch_factor 调小', '容器里把 --shm-size 调大', '或者换内存更大的实例'],
      },
      leak: {
        verdict: '显存越跑越多：有东西一直抓着计算图',
        next: ['记录 loss.item()，别存 loss 本身', '带梯度的输出别往列表里放，要存先 detach()'],
      },
    },
    unknown: '显存爆了，但从这段看不出为什么',
    unknownNext: ['把整段报错贴过来，数字都在里面', '告诉我模型、图多大、batch，我来算要多少'],
    figures: {
      triedGiB: '这次要申请',
      totalGiB: '卡上共有',
      allocatedGiB: '张量已占',
      freeGiB: '空闲',
      reservedGiB: 'PyTorch 预留',
      cachedGiB: '缓存',
      processGiB: '本进程共占',
      reservedUnallocatedGiB: '预留没用上',
      otherGiB: '其余（CUDA 上下文、别的进程）',
      estimate: '估算：张量',
      device: '估算：nvidia-smi',
      validation: '估算：验证',
    },
    fitsByEstimate: '按估算这张卡是放得下的',
    ask: (question) => `把报错整段贴过来，原因就在里面。要算显存的话：${question}`,
    withEstimate: (needed, total) => `这样训要 ${needed}，卡上只有 ${total}。`,
    fitsAlone: (needed, total) => `训练本身要 ${needed}，卡上有 ${total}：没有别的占着就放得下。`,
    disagrees: (pasted, estimated) => `报错时要 ${pasted}，照你说的配置只该要 ${estimated}：实际跑的比说的重`,
    causes: {
      larger: (pasted, batch, scale) =>
        `batch 或图比说的大：${pasted} 相当于每卡 ${batch} 张，或者边长放大到 ${scale} 倍`,
      library: '库不一样：同名网络在不同库里能差几倍，别的库的数见"假设"',
      besides: '同一进程里还有别的：EMA 或第二个模型、攒着没 detach 的 loss 和输出、没关梯度的验证',
    },
    disagreeTitle: '可能差在哪',
    disagreeNext: [
      '第一步之后打印 torch.cuda.max_memory_allocated()，连同实际的 batch 和图大小告诉我',
      '要马上能跑：依次试减 batch、开 AMP、开梯度检查点',
    ],
    onTheEdge: (needed, total) => `卡在边上：估算要 ${needed}，卡上有 ${total}，误差一点就爆`,
    otherMachine: (take) => `要换机器：${take}`,
    gpuLine: (index, name, used, total) => `GPU ${index} ${name}：已用 ${used} / ${total} MiB`,
    nextTitle: '怎么办',
    smi: '贴的 nvidia-smi',
    log: '日志里读到的',
  },
};
