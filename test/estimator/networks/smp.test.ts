import { describe, expect, test } from 'vitest';

import { estimate } from '../../../src/estimator/estimate.ts';
import { exactToTheByte } from '../byte-exact.ts';
import { scoreRows, truthRows, workloadOf } from '../truth.ts';

const scored = scoreRows(truthRows('own-smp'));

describe('segmentation_models_pytorch and the original U-Net beyond the given traces', () => {
  exactToTheByte(scored, 150);
});

/**
 * No-gradient passes of the official code in evaluation mode (segmentation_models_pytorch 0.6.0, timm 1.0.31, torch
 * 2.13.0, fake tensors, 2026-11-30). Batch norm's unused statistics make up to 4 KiB.
 */
const VALIDATION = [
  ["smp.DeepLabV3Plus('resnet50', classes=19)", 512, 1024, 19, 'fp32', 375434752],
  ["smp.Unet('resnet18', classes=7)", 256, 256, 7, 'fp16', 105616384],
  ["smp.UnetPlusPlus('resnet18', classes=7)", 256, 256, 7, 'fp32', 129915392],
  ["smp.MAnet('resnet18', classes=7)", 256, 256, 7, 'fp32', 112628224],
  ["smp.Linknet('resnet18', classes=7)", 256, 256, 7, 'fp32', 78857728],
  ["smp.FPN('resnet18', classes=7)", 256, 256, 7, 'fp16', 106596864],
  ["smp.PSPNet('resnet18', classes=7)", 256, 256, 7, 'fp32', 57296896],
  ["smp.DeepLabV3('resnet18', classes=7)", 256, 256, 7, 'fp32', 83859456],
  ["smp.PAN('resnet18', classes=7)", 256, 256, 7, 'fp16', 74896896],
  ["smp.UPerNet('resnet18', classes=7)", 256, 256, 7, 'fp16', 174906368],
  ["smp.Segformer('resnet18', classes=7)", 256, 256, 7, 'fp32', 121194496],
  ["smp.Unet('mobilenet_v2', classes=2)", 256, 256, 2, 'fp32', 48417280],
  ["smp.Unet('efficientnet-b1', classes=2)", 256, 256, 2, 'fp16', 69950464],
  ["smp.Unet('timm-efficientnet-b0', classes=2)", 256, 256, 2, 'fp16', 54831104],
  ["smp.Unet('se_resnet50', classes=2)", 256, 256, 2, 'fp16', 233022976],
  ["smp.Unet('vgg11_bn', classes=2)", 256, 256, 2, 'fp32', 124872704],
  ["smp.Unet('densenet121', classes=2)", 256, 256, 2, 'fp32', 86354432],
  ["smp.Unet('xception', classes=2)", 256, 256, 2, 'fp16', 193635840],
  ["smp.Unet('inceptionv4', classes=2)", 256, 256, 2, 'fp32', 225606656],
  ["smp.Unet('inceptionresnetv2', classes=2)", 256, 256, 2, 'fp32', 278516224],
  ["smp.Unet('mobileone_s0', classes=2)", 256, 256, 2, 'fp32', 59518976],
  ["smp.Unet('mit_b0', classes=2)", 256, 256, 2, 'fp16', 50869248],
  ["smp.Unet('tu-convnext_tiny', classes=2)", 256, 256, 2, 'fp32', 150357504],
  ["smp.Unet('tu-regnety_032', classes=2)", 256, 256, 2, 'fp16', 164655616],
  ["smp.Unet('tu-hrnet_w18', classes=2)", 256, 256, 2, 'fp32', 92877824],
  ["smp.Unet('tu-resnest50d', classes=2)", 256, 256, 2, 'fp32', 169845760],
  ["smp.Unet('tu-mobilenetv3_large_100', classes=2)", 256, 256, 2, 'fp16', 57767936],
  ["smp.Unet('tu-tf_efficientnetv2_s', classes=2)", 256, 256, 2, 'fp16', 150956032],
  ["smp.Unet('tu-swin_tiny_patch4_window7_224', classes=2)", 224, 224, 2, 'fp32', 144973312],
  ["smp.DPT('tu-vit_tiny_patch16_224', classes=5)", 224, 224, 5, 'fp32', 179939328],
  ["smp.Unet('tu-maxvit_tiny_tf_224', classes=2)", 224, 224, 2, 'fp16', 214990336],
  ["smp.Unet('resnet18', classes=5)", 512, 1024, 5, 'fp32', 263962112],
  ["smp.FPN('resnet34', classes=5)", 416, 608, 5, 'fp32', 213870592],
  ["smp.DeepLabV3Plus('resnet50', classes=19)", 512, 1024, 19, 'fp16', 337293312],
] as const;

test.each(VALIDATION)(
  'validation of %s at %d×%d, %d classes, %s',
  (model, height, width, numClasses, precision, peak) => {
    const size = { validationHeight: height, validationWidth: width, validationBatch: 1 };
    const input = { model, imageHeight: height, imageWidth: width, batchSize: 2, numClasses, precision, ...size };
    const { validationPeak } = estimate(workloadOf(input)).bytes;
    expect(Math.abs(validationPeak - peak)).toBeLessThanOrEqual(4096);
  },
);

describe('what the library refuses is refused with a reason', () => {
  const refusal = (input: Record<string, unknown>): unknown => {
    try {
      estimate(workloadOf({ imageHeight: 512, imageWidth: 512, batchSize: 2, numClasses: 2, ...input }));
    } catch (error) {
      return error;
    }
    return undefined;
  };

  test.each([
    ["smp.DeepLabV3Plus('vgg16', classes=2)", 'a VGG encoder cannot be dilated'],
    ["smp.PAN('densenet121', classes=2)", 'nor can a DenseNet'],
    ["smp.DeepLabV3('tu-hrnet_w18', classes=2)", 'timm has no output stride for HRNet'],
    ["smp.DeepLabV3('resnet34', classes=2, encoder_output_stride=32)", 'DeepLabV3 dilates to 8 or 16'],
    ["smp.FPN('resnet34', classes=2, encoder_depth=4)", 'the logits are twice as large as the target'],
    ["smp.UnetPlusPlus('mit_b0', classes=2)", 'UnetPlusPlus has no MiT'],
    ["smp.Linknet('mit_b0', classes=2)", 'Linknet has no MiT'],
  ])('%s: %s', (model) => {
    expect(refusal({ model })).toMatchObject({ code: 'unsupported-combination' });
  });

  test('sides that the output stride does not divide, except for Unet', () => {
    expect(refusal({ model: "smp.FPN('resnet34', classes=2)", imageHeight: 500 })).toMatchObject({
      code: 'unsupported-combination',
      details: { multipleOf: 32 },
    });
    expect(refusal({ model: "smp.Unet('resnet34', classes=2)", imageHeight: 500 })).toBeUndefined();
  });

  test('a network of fixed size names it', () => {
    const error = refusal({ model: "smp.Unet('tu-swin_tiny_patch4_window7_224', classes=2)" });
    expect(error).toMatchObject({ code: 'unsupported-combination', details: { side: 224 } });
  });

  test('the pyramid attention of PAN halves its map three times', () => {
    const error = refusal({ model: "smp.PAN('resnet34', classes=2)", imageHeight: 64, imageWidth: 64 });
    expect(error).toMatchObject({ code: 'unsupported-combination', details: { minimumSide: 128 } });
  });
});

describe('what makes a difference in practice', () => {
  const bytes = (input: Record<string, unknown>) =>
    estimate(workloadOf({ imageHeight: 512, imageWidth: 512, batchSize: 4, outputHeld: false, ...input })).bytes;

  test('smp.Unet(resnet34) is more than three times lighter than the 64-channel U-Net', () => {
    const small = bytes({ model: "smp.Unet('resnet34', classes=2)" }).saved;
    const classic = bytes({
      model: 'UNet(n_channels=3, n_classes=2, bilinear=False)',
      implementation: 'milesial',
    }).saved;
    expect(classic / small).toBeGreaterThan(3);
  });

  test('a frozen encoder keeps no map of its own', () => {
    const model = "smp.DeepLabV3Plus('resnet50', classes=19)";
    expect(bytes({ model, frozenBackbone: true }).saved).toBeLessThan(0.5 * bytes({ model }).saved);
  });

  test('a held output adds its logits to the peaks of backward and step', () => {
    const model = "smp.Unet('resnet34', classes=19)";
    const logits = 4 * 19 * 512 * 512 * 4;
    const held = bytes({ model, outputHeld: true });
    expect(held.peakBackward - bytes({ model }).peakBackward).toBe(logits);
    expect(held.peakStep - bytes({ model }).peakStep).toBe(logits);
  });
});
