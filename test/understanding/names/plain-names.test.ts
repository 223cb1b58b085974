import { describe, expect, it } from 'vitest';
import { findModelMentions, parseModelName } from '../../../src/understanding/names/find-mentions.ts';

type Named = readonly [text: string, architecture: string | null, backbone: string | null];

const ENGLISH: readonly Named[] = [
  ['deeplab v3 plus with a ResNet-101', 'deeplabv3plus', 'resnet101'],
  ['DeepLabV3+ r50-d8', 'deeplabv3plus', 'resnet50'],
  ['deeplab-v3+resnet50', 'deeplabv3plus', 'resnet50'],
  ['DeepLab v3 (ResNet 101)', 'deeplabv3', 'resnet101'],
  ['PSPNet50 on Cityscapes', 'pspnet', 'resnet50'],
  ['psp r101', 'pspnet', 'resnet101'],
  ['U-Net', 'unet', null],
  ['u_net with a resnet34 encoder', 'unet', 'resnet34'],
  ['Unet++ / efficientnet-b3', 'unetplusplus', 'efficientnet-b3'],
  ['unet plus plus', 'unetplusplus', null],
  ['MAnet resnext50_32x4d', 'manet', 'resnext50_32x4d'],
  ['SegFormer-B5', 'segformer', 'mit-b5'],
  ['segformer (mit_b1)', 'segformer', 'mit-b1'],
  ['Segformer b-0', 'segformer', 'mit-b0'],
  ['Swin-L + UPerNet', 'upernet', 'swin-l'],
  ['UPerNet, Swin Transformer base backbone', 'upernet', 'swin-b'],
  ['uper net convnext-xlarge', 'upernet', 'convnext-xl'],
  ['Mask2Former with Swin tiny', 'mask2former', 'swin-t'],
  ['Mask 2 Former R50', 'mask2former', 'resnet50'],
  ['Mask R-CNN R101-FPN', 'maskrcnn', 'resnet101'],
  ['mask rcnn, x101 32x8d', 'maskrcnn', 'resnext101_32x8d'],
  ['HRNet-W48 + OCR', 'ocrnet', 'hrnet-w48'],
  ['OCRNet with HRNetV2-W18', 'ocrnet', 'hrnet-w18'],
  ['hrnet w18 small', 'hrnet', 'hrnet-w18-small'],
  ['FCN-HRNet-W32', 'fcn', 'hrnet-w32'],
  ['SegNeXt-Large', 'segnext', 'mscan-l'],
  ['Segmenter ViT-S/16', 'segmenter', 'vit-s/16'],
  ['SETR-PUP', 'setr', null],
  ['DPT-Large', 'dpt', 'vit-l/16'],
  ['BiSeNet V2', 'bisenetv2', null],
  ['STDC2-Seg', 'stdc', 'stdc2'],
  ['DDRNet-23-slim', 'ddrnet', 'ddrnet-23-slim'],
  ['PIDNet-M', 'pidnet', 'pidnet-m'],
  ['Fast-SCNN', 'fast-scnn', null],
  ['non-local R50', 'nonlocal', 'resnet50'],
  ['semantic FPN with PVTv2-B2', 'semantic-fpn', 'pvtv2-b2'],
  ['SAM ViT-H fine-tuning', 'sam', 'vit-h/16'],
  ['OneFormer DiNAT-L', 'oneformer', 'dinat-l'],
  ['Swin-Unet', 'swin-unet', null],
  ['Swin UNETR on CT', 'swin-unetr', null],
  ['nnU-Net 2d', 'nnunet', null],
  ['nnUNetv2', 'nnunet', null],
  ['nnU-Net ResEnc L', 'nnunet', 'resenc-l'],
  ['nnUNetResEncUNetMPlans', 'nnunet', 'resenc-m'],
  ['nnUNet 3d_fullres', 'nnunet-3d', null],
  ['Attention U-Net', 'attention-unet', null],
  ['U²-Net', 'u2net', null],
  ['u2-net', 'u2net', null],
  ['K-Net Swin-T', 'knet', 'swin-t'],
  ['UPerNet Twins-SVT-B', 'upernet', 'twins-svt-b'],
  ['upernet BEiT-large', 'upernet', 'beit-l'],
  ['LR-ASPP MobileNetV3', 'lraspp', 'mobilenet-v3-large'],
  ['deeplabv3+ on MobileNet', 'deeplabv3plus', 'mobilenet-v2'],
  ['DINOv2 ViT-B/14 features', null, 'dinov2-vit-b/14'],
  ['swin_tiny_patch4_window7_224', null, 'swin-t'],
  ['tf_efficientnet_b4', null, 'efficientnet-b4'],
  ['ResNeSt-101 FCN', 'fcn', 'resnest101'],
];

const CHINESE: readonly Named[] = [
  ['分割的unet', 'unet', null],
  ['注意力unet', 'attention-unet', null],
  ['nnunet 的 resenc m', 'nnunet', 'resenc-m'],
  ['swin-t 的 upernet', 'upernet', 'swin-t'],
  ['R50 的 PSPNet', 'pspnet', 'resnet50'],
  ['hrnet w48 ocr 训练要多大显存', 'ocrnet', 'hrnet-w48'],
  ['segnext 最小的那个 MSCAN-T', 'segnext', 'mscan-t'],
  ['用deeplabv3+，主干resnet101', 'deeplabv3plus', 'resnet101'],
  ['我想训练segformer的b3', 'segformer', 'mit-b3'],
  ['B5 的 segformer', 'segformer', 'mit-b5'],
  ['把mask2former跑起来，骨干用 swin-L', 'mask2former', 'swin-l'],
  ['ＤｅｅｐＬａｂ Ｖ３＋ Ｒ５０', 'deeplabv3plus', 'resnet50'],
  ['unet++（efficientnet-b4）', 'unetplusplus', 'efficientnet-b4'],
  ['ocrnet hr18s 每卡2张', 'ocrnet', 'hrnet-w18-small'],
  ['mask rcnn r50 fpn，800x1333', 'maskrcnn', 'resnet50'],
  ['convnext-base做骨干的upernet', 'upernet', 'convnext-b'],
  ['setr naive 8卡', 'setr', null],
  ['fcn的r101', 'fcn', 'resnet101'],
  ['pp-liteseg', 'pp-liteseg', null],
  ['想跑 bisenetv2 1024x1024', 'bisenetv2', null],
  ['SAM 微调，vit_b', 'sam', 'vit-b'],
  ['danet，resnet-101', 'danet', 'resnet101'],
  ['upernet配vit-base', 'upernet', 'vit-b'],
  ['模型是 unet，编码器 resnet34', 'unet', 'resnet34'],
  ['mobilenetv3 的 deeplabv3', 'deeplabv3', 'mobilenet-v3-large'],
  ['dpt 大模型', 'dpt', null],
  ['用分割一切做微调', 'sam', null],
  ['全卷积网络 r50', 'fcn', 'resnet50'],
];

describe('names in running text', () => {
  it.each([...ENGLISH, ...CHINESE])('%s', (text, architecture, backbone) => {
    const mention = parseModelName(text);
    expect({ architecture: mention?.architecture ?? null, backbone: mention?.backbone ?? null }).toEqual({
      architecture,
      backbone,
    });
  });

  it('stand where the mention says', () => {
    for (const [text] of [...ENGLISH, ...CHINESE]) {
      for (const { start, end, text: typed } of findModelMentions(text)) {
        expect(typed).toBe(text.slice(start, end));
        expect(typed).toBe(typed.trim());
      }
    }
  });
});

describe('names written as one word', () => {
  it.each([
    ['unetresnet34，256x256', 'unet', 'resnet34'],
    ['mask2formerswin-t，512', 'mask2former', 'swin-t'],
    ['segformerb22048x1024bs2', 'segformer', 'mit-b2'],
    ['pspnetr50713x713bs4', 'pspnet', 'resnet50'],
    ['ocrnethr18s512x1024batch2/卡', 'ocrnet', 'hrnet-w18-small'],
    ['fcnresnet50ade20k512x512', 'fcn', 'resnet50'],
    ['unet512', 'unet', null],
    ['bisenetv21024x1024每卡4张', 'bisenetv2', null],
    ['PSPNet101', 'pspnet', 'resnet101'],
  ])('%s', (text, architecture, backbone) => {
    expect(parseModelName(text)).toMatchObject({ architecture, backbone, confidence: 1 });
  });

  it('a longer word is another word', () => {
    for (const word of ['unetr', 'sampan', 'unet3d', 'fcnn', 'swinging', 'resnet1010']) {
      expect(findModelMentions(`${word} 512`).filter(({ confidence }) => confidence === 1)).not.toContainEqual(
        expect.objectContaining({ text: word.slice(0, -1) }),
      );
    }
    expect(parseModelName('unetr')).toMatchObject({ architecture: 'unetr' });
  });
});

describe('several networks in one message', () => {
  const named = (text: string) =>
    findModelMentions(text).map(({ architecture, backbone }) => `${architecture ?? ''} ${backbone ?? ''}`.trim());

  it.each([
    ['segformer b2 or deeplabv3+ r50?', ['segformer mit-b2', 'deeplabv3plus resnet50']],
    ['unet 还是 pspnet r50', ['unet', 'pspnet resnet50']],
    ['upernet swin-t vs upernet convnext-t', ['upernet swin-t', 'upernet convnext-t']],
    ['mask2former r50，不行就换成 segformer b1', ['mask2former resnet50', 'segformer mit-b1']],
  ])('%s', (text, expected) => {
    expect(named(text)).toEqual(expected);
  });

  it('keeps a bare name out when the full one stands beside it', () => {
    expect(findModelMentions("from unet import UNet\nmodel = smp.Unet('resnet34')").length).toBe(1);
  });
});

describe('what decides the library', () => {
  it.each([
    ['deeplabv3+ resnet101 in mmseg', 'mmseg'],
    ['smp 的 unet resnet34', 'smp'],
    ['segformer b2 from HF', 'transformers'],
    ['用 huggingface 的 mask2former swin-t', 'transformers'],
    ['torchvision deeplabv3 resnet50', 'torchvision'],
    ['fcn_resnet50', 'torchvision'],
    ['detectron2 mask rcnn r50', 'detectron2'],
    ['monai 的 2d unet', 'monai'],
    ['unet resnet34', undefined],
    ['mmseg and smp both have deeplabv3plus', undefined],
  ])('%s', (text, implementation) => {
    expect(parseModelName(text)?.implementation).toBe(implementation);
  });
});

describe('options said beside a name', () => {
  it.each([
    ['pspnet r50 (os16)', 16],
    ['deeplabv3+ resnet101, output stride 8', 8],
    ['deeplabv3+ resnet101 in mmseg (the d8 one)', 8],
    ['deeplabv3+ resnet101, 8 imgs', undefined],
  ])('%s', (text, outputStride) => {
    expect(parseModelName(text)?.outputStride).toBe(outputStride);
  });

  it('reads window and final norm', () => {
    expect(parseModelName('swin-b window12 upernet')?.options).toEqual({ window: 12 });
    expect(parseModelName('vit_vit-b16-ln_mln_upernet_8xb2-160k_ade20k-512x512')?.options).toEqual({
      finalNorm: true,
      neck: 'mln',
    });
  });
});

describe('less than a name', () => {
  it('keeps a size without its family apart', () => {
    expect(parseModelName('预算一小时30，b5，1024')).toMatchObject({
      architecture: null,
      backbone: null,
      variant: 'b5',
      confidence: 0.5,
    });
  });

  it('takes the usual size of a family, less surely', () => {
    expect(parseModelName('upernet swin')).toMatchObject({
      backbone: 'swin-t',
      confidence: 0.6,
      alternatives: ['upernet swin-s', 'upernet swin-b', 'upernet swin-l'],
    });
  });

  it('asks which DeepLab and which BiSeNet', () => {
    expect(parseModelName('deeplab 512')).toMatchObject({
      alternatives: ['deeplabv3plus', 'deeplabv3'],
      confidence: 0.5,
    });
    expect(parseModelName('bisenet')).toMatchObject({ alternatives: ['bisenetv1', 'bisenetv2'], confidence: 0.5 });
  });

  it('holds what no table has as typed, in lower case', () => {
    expect(parseModelName('train FooNet at 512')).toMatchObject({ architecture: 'foonet', confidence: 0.3 });
    expect(parseModelName('upernet + FooFormer')).toMatchObject({ architecture: 'upernet', backbone: 'fooformer' });
  });

  it.each([
    'how big a gpu do I need?',
    '8 imgs on a single 24G card, A10 or T4?',
    'segmentation of images with 4 classes, reset everything',
    'CUDA out of memory. Tried to allocate 1006.00 MiB (GPU 0; 10.91 GiB total capacity)',
    '预算五千一个月，图 512x512，batch 8',
    'the internet network is planned, transformers and imagenet',
    'thanks, Sam and Ann',
    'RuntimeError: an exception in the network',
    '',
    '   ',
  ])('finds nothing in: %s', (text) => {
    expect(findModelMentions(text)).toEqual([]);
  });
});
