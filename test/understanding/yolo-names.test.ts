import { describe, expect, test } from 'vitest';

import { loadCatalog } from '../../catalog/index.ts';
import { builtInModels } from '../../catalog/models.ts';
import { resolveModel } from '../../catalog/resolve-model.ts';
import { topicsOutOfScope } from '../../src/understanding/intents/scope.ts';
import { parseModelName } from '../../src/understanding/names/find-mentions.ts';
import { understand } from '../../src/understanding/understand.ts';
import type { Slots } from '../../src/understanding/understanding.ts';

/** How people write the sizes of YOLO segmentation, weights and configuration files included. */
const SIZED = [
  ['yolov8s-seg', 'yolov8s-seg'],
  ['YOLOv8l-seg', 'yolov8l-seg'],
  ['yolov8n-seg.pt', 'yolov8n-seg'],
  ['yolov8x-seg.yaml', 'yolov8x-seg'],
  ['yolo8s-seg', 'yolov8s-seg'],
  ['YOLOv8-Seg-m', 'yolov8m-seg'],
  ['yolov8m分割', 'yolov8m-seg'],
  ['YOLOv8s instance segmentation', 'yolov8s-seg'],
  ['yolo11m-seg', 'yolo11m-seg'],
  ['yolov11l-seg', 'yolo11l-seg'],
  ["YOLO('yolo11s-seg.pt')", 'yolo11s-seg'],
  ['yolo11 nano segmentation', 'yolo11n-seg'],
  ['yolo11x 实例分割', 'yolo11x-seg'],
  ['用 yolo11s 做分割', 'yolo11s-seg'],
  ['yolo segment train model=yolov8m-seg.pt data=coco.yaml imgsz=640', 'yolov8m-seg'],
] as const;

test.each(SIZED)('%s is %s of ultralytics', (typed, architecture) => {
  const mention = parseModelName(typed);
  expect(mention).toMatchObject({ architecture, backbone: null, alternatives: [] });
  const resolution = resolveModel({ architecture, backbone: null }, builtInModels());
  expect(resolution).toMatchObject({ kind: 'model', spec: { implementation: 'ultralytics', architecture } });
});

test.each(['yolov8-seg', 'YOLO v8 分割', 'yolo11 seg', 'yolo 11 实例分割', 'yolo-seg'])(
  '%s is a question: which size?',
  (typed) => {
    const mention = parseModelName(typed);
    expect(mention?.confidence).toBe(0.5);
    expect(mention?.alternatives.length).toBeGreaterThan(2);
    const known = new Set(builtInModels().rows.map(({ architecture }) => architecture));
    expect(mention?.alternatives.filter((name) => !known.has(name))).toEqual([]);
  },
);

const NEAREST = [
  ['yolov5s-seg', 'yolov8s-seg'],
  ['yolov5-seg', 'yolov8s-seg'],
  ['yolov7-seg', 'yolov8l-seg'],
  ['yolov9c-seg', 'yolo11l-seg'],
  ['yolov9e-seg', 'yolo11x-seg'],
  ['yolo12x-seg', 'yolo11x-seg'],
  ['yolo26n-seg', 'yolo11n-seg'],
  ['yolo26 分割', 'yolo11n-seg'],
] as const;

test.each(NEAREST)('%s is not known: the nearest is %s', (typed, nearest) => {
  const mention = parseModelName(typed);
  if (mention === undefined) throw new Error('not read');
  expect(resolveModel(mention, builtInModels())).toMatchObject({
    kind: 'unknown',
    what: 'architecture',
    nearby: [nearest],
  });
});

describe('a size that answers the question or changes the held network', () => {
  const held = { model: 'yolov8n-seg' };
  const read = (text: string, slots: Slots = held) =>
    understand(text, { held: slots, asked: 'model', answered: false, lastIntent: 'size', locale: 'zh' }, loadCatalog())
      .slots.model;

  test.each([
    ['m', 'yolov8m-seg'],
    ['用 l', 'yolov8l-seg'],
    ['the x one', 'yolov8x-seg'],
    ['s 呢', 'yolov8s-seg'],
  ])('%s', (text, model) => expect(read(text)).toBe(model));

  test.each(['l', 's'])('%s alone names no size of another network', (text) => {
    expect(read(text, { model: 'unet' })).toBeUndefined();
  });

  test('every size is offered', () => {
    const context = { held: {}, asked: null, answered: false, lastIntent: null, locale: 'en' } as const;
    const [ambiguity] = understand('yolov8-seg 640 batch 16', context, loadCatalog()).ambiguities;
    expect(ambiguity?.candidates.map(({ say }) => say)).toEqual(
      ['n', 's', 'm', 'l', 'x'].map((size) => `yolov8${size}-seg`),
    );
  });
});

describe('the detector of the same name', () => {
  test.each(['how much memory to train yolov8?', 'yolo11 训练要多少显存'])('%s is out of scope', (message) => {
    expect(parseModelName(message)).toBeUndefined();
    expect(topicsOutOfScope(message)).toContain('detection');
  });

  test.each(['train yolov8s-seg', 'yolov8m分割 训练'])('%s is not', (message) => {
    expect(topicsOutOfScope(message)).not.toContain('detection');
  });
});
