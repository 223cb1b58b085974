import { describe, expect, it } from 'vitest';
import { findModelMentions, parseModelName } from '../../../src/understanding/names/find-mentions.ts';

describe('segmentation_models_pytorch', () => {
  it.each([
    ["smp.Unet('resnet34', classes=2)", { architecture: 'unet', encoder: 'resnet34', numClasses: 2 }],
    [
      'segmentation_models_pytorch.DeepLabV3Plus(encoder_name="tu-convnext_tiny", in_channels=4, classes=7)',
      {
        architecture: 'deeplabv3plus',
        encoder: 'tu-convnext_tiny',
        backbone: 'convnext-t',
        inputChannels: 4,
        numClasses: 7,
      },
    ],
    ["smp.create_model('Unet', encoder_name='mit_b2', classes=1)", { architecture: 'unet', backbone: 'mit-b2' }],
    [
      "smp.create_model('fpn', 'resnet18', 'imagenet', 3, 5)",
      { architecture: 'fpn', encoder: 'resnet18', numClasses: 5 },
    ],
    [
      "smp.Unet('resnet50', encoder_depth=4, decoder_channels=[256, 128, 64, 32], decoder_attention_type='scse')",
      { options: { encoderDepth: 4, decoderChannels: [256, 128, 64, 32], decoderAttentionType: 'scse' } },
    ],
    ["smp.PAN('resnet50', encoder_output_stride=32)", { options: { encoderOutputStride: 32 } }],
    ["smp.Unet('vgg16_bn', activation='sigmoid', encoder_weights=None)", { options: { activation: 'sigmoid' } }],
    ['Unet(encoder_name="resnet34", encoder_weights="imagenet")', { implementation: 'smp', architecture: 'unet' }],
    ["smp.Linknet('timm-efficientnet-b3'", { encoder: 'timm-efficientnet-b3', backbone: 'efficientnet-b3' }],
  ])('%s', (code, expected) => {
    expect(parseModelName(code)).toMatchObject({ implementation: 'smp', form: 'constructor', ...expected });
  });

  it('follows a variable that the same text sets', () => {
    const code = `ENCODER = "se_resnext50_32x4d"
CLASSES = ["car"]
model = smp.FPN(
    encoder_name=ENCODER,
    classes=len(CLASSES),
)`;
    const mentions = findModelMentions(code);
    expect(mentions).toHaveLength(1);
    expect(mentions[0]).toMatchObject({ architecture: 'fpn', encoder: 'se_resnext50_32x4d' });
    expect(mentions[0]?.numClasses).toBeUndefined();
  });

  it('holds a class that it does not know', () => {
    expect(parseModelName("smp.Foo('resnet34')")).toMatchObject({ architecture: 'foo', confidence: 0.3 });
  });

  it('does not take losses and metrics for networks', () => {
    expect(findModelMentions("loss = smp.losses.DiceLoss('multiclass')")).toEqual([]);
  });
});

describe('transformers', () => {
  it.each([
    [
      'SegformerForSemanticSegmentation.from_pretrained("nvidia/mit-b0", num_labels=19, ignore_mismatched_sizes=True)',
      { architecture: 'segformer', backbone: 'mit-b0', numClasses: 19, options: { checkpoint: 'nvidia/mit-b0' } },
    ],
    [
      "AutoModelForSemanticSegmentation.from_pretrained('nvidia/segformer-b4-finetuned-ade-512-512', num_labels=5)",
      { architecture: 'segformer', backbone: 'mit-b4', numClasses: 5, imageHeight: 512 },
    ],
    [
      'UperNetForSemanticSegmentation("openmmlab/upernet-convnext-small", num_labels=150)',
      { architecture: 'upernet', backbone: 'convnext-s' },
    ],
    [
      'BeitForSemanticSegmentation("beit-base", image_size=512, num_labels=150)',
      { backbone: 'beit-b', imageHeight: 512, options: { imageSize: 512 } },
    ],
    [
      'Mask2FormerForUniversalSegmentation("facebook/mask2former-swin-large", num_labels=80, num_queries=200)',
      { options: { numQueries: 200 }, backbone: 'swin-l' },
    ],
    ['MaskFormerForInstanceSegmentation.from_pretrained("facebook/maskformer-swin-base-coco")', { backbone: 'swin-b' }],
    [
      'transformers.SegformerForSemanticSegmentation(SegformerConfig(depths=[3, 4, 18, 3], num_labels=4))',
      { backbone: 'mit-b3', numClasses: 4, configured: true },
    ],
    [
      'MobileNetV2ForSemanticSegmentation("google/deeplabv3_mobilenet_v2_1.0_513", output_stride=8)',
      { options: { outputStride: 8 } },
    ],
    ['SamModel.from_pretrained("facebook/sam-vit-huge")', { architecture: 'sam', backbone: 'vit-h/16' }],
    [
      'SegformerForSemanticSegmentation.from_pretrained("nvidia/mit-b1", attn_implementation="eager")',
      { attention: 'eager' },
    ],
  ])('%s', (code, expected) => {
    expect(parseModelName(code)).toMatchObject({ implementation: 'transformers', form: 'constructor', ...expected });
  });
});

describe('torchvision', () => {
  it.each([
    ['fcn_resnet50(num_classes=21, aux_loss=True)', { numClasses: 21, auxiliaryHead: true }],
    ['torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(num_classes=2)', { backbone: 'mobilenet-v3-large' }],
    [
      'maskrcnn_resnet50_fpn_v2(weights=None, weights_backbone=None, num_classes=2)',
      { architecture: 'maskrcnn', options: { version: 'v2', pretrainedBackbone: false } },
    ],
    [
      'maskrcnn_resnet50_fpn(weights="DEFAULT", trainable_backbone_layers=2)',
      { options: { pretrained: true, trainableBackboneLayers: 2 } },
    ],
    [
      'torch.hub.load("pytorch/vision:v0.10.0", "deeplabv3_resnet101", pretrained=True)',
      { architecture: 'deeplabv3', backbone: 'resnet101' },
    ],
    ['deeplabv3_resnet50(weights="DEFAULT")', { options: { pretrained: true, auxiliaryHead: true } }],
  ])('%s', (code, expected) => {
    expect(parseModelName(code)).toMatchObject({ implementation: 'torchvision', form: 'constructor', ...expected });
  });
});

describe('classic repositories', () => {
  it('know milesial’s U-Net by its arguments, and leave another one open', () => {
    expect(parseModelName('UNet(n_channels=1, n_classes=2, bilinear=True)')).toMatchObject({
      implementation: 'milesial',
      inputChannels: 1,
      numClasses: 2,
      options: { bilinear: true },
    });
    const other = parseModelName('net = UNet(in_channels=3, out_channels=1, init_features=32)');
    expect(other).toMatchObject({ architecture: 'unet', baseChannels: 32, numClasses: 1 });
    expect(other?.implementation).toBeUndefined();
  });

  it.each([
    [
      'UNet(spatial_dims=2, in_channels=1, out_channels=4, channels=(16, 32), strides=(2,), num_res_units=2)',
      { architecture: 'unet', inputChannels: 1, numClasses: 4, options: { channels: [16, 32], numResUnits: 2 } },
    ],
    [
      'monai.networks.nets.AttentionUnet(2, 3, 5, channels=(64, 128, 256), strides=(2, 2))',
      { architecture: 'attention-unet', inputChannels: 3, numClasses: 5, options: { strides: [2, 2] } },
    ],
  ])('know MONAI by its arguments or module: %s', (code, expected) => {
    expect(parseModelName(code)).toMatchObject({ implementation: 'monai', ...expected });
  });

  it('name networks of volumes as such', () => {
    expect(parseModelName('AttentionUnet(spatial_dims=3, in_channels=1, out_channels=2)')).toMatchObject({
      architecture: 'unet3d',
    });
  });

  it('read U²-Net and its small form', () => {
    expect(parseModelName('net = U2NET(3, 1)')).toMatchObject({
      architecture: 'u2net',
      inputChannels: 3,
      numClasses: 1,
    });
    expect(parseModelName('net = U2NETP(3, 1)')).toMatchObject({ architecture: 'u2net', options: { small: true } });
  });

  it('read Swin-Unet and timm', () => {
    expect(parseModelName('SwinUnet(img_size=224, num_classes=9)')).toMatchObject({
      architecture: 'swin-unet',
      imageHeight: 224,
    });
    expect(parseModelName("timm.create_model('swin_base_patch4_window7_224')")).toMatchObject({
      architecture: null,
      backbone: 'swin-b',
    });
  });
});

describe('pasted configs', () => {
  it('reads MMSegmentation’s Python', () => {
    const config = `model = dict(
  type='EncoderDecoder',
  backbone=dict(type='ResNetV1c', depth=101, num_stages=4, dilations=(1, 1, 2, 4)),
  decode_head=dict(type='DepthwiseSeparableASPPHead', in_channels=2048, num_classes=19),
  auxiliary_head=dict(type='FCNHead', in_channels=1024))`;
    expect(parseModelName(config)).toMatchObject({
      architecture: 'deeplabv3plus',
      backbone: 'resnet101',
      implementation: 'mmseg',
      numClasses: 19,
    });
  });

  it.each(['constructor', 'toString', '__proto__'])('takes %s for no class that it knows', (type) => {
    const config = `model = dict(backbone=dict(type='${type}', depth=50), decode_head=dict(type='${type}'))`;
    expect(parseModelName(config)).toMatchObject({ architecture: type.toLowerCase(), backbone: null, confidence: 0.3 });
    const depth = `backbone=dict(type='ResNet', depth='${type}'), decode_head=dict(type='FCNHead')`;
    expect(parseModelName(depth)).toMatchObject({ architecture: 'fcn', backbone: null });
  });

  it('reads metafile fragments', () => {
    expect(parseModelName('  Architecture:\n  - R-50-D8\n  - ANN')).toMatchObject({
      architecture: 'ann',
      backbone: 'resnet50',
      outputStride: 8,
    });
  });

  it('survives code that breaks off', () => {
    for (const code of [
      "smp.Unet('resnet34', classes=",
      'UNet(((',
      "smp.Unet(encoder_name='",
      'decode_head=dict(type=',
    ]) {
      expect(() => findModelMentions(code)).not.toThrow();
    }
  });
});
