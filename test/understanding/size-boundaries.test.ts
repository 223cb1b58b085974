import { describe, expect, test } from 'vitest';
import { normalize } from '../../src/understanding/normalize.ts';
import { startReading } from '../../src/understanding/reading.ts';
import { readSize } from '../../src/understanding/slots/size.ts';

const read = (text: string, widthFirst = false) => readSize(startReading(normalize(text)), widthFirst);
const sides = (imageHeight: number, imageWidth: number) => ({ imageHeight, imageWidth });

describe('the smallest and largest side', () => {
  test.each([
    ['unet 16x16', sides(16, 16)],
    ['unet 15x16', {}],
    ['unet 16x15', {}],
    ['unet 100000x100000', sides(100_000, 100_000)],
    ['unet 100001x16', {}],
    ['unet 16x100001', {}],
    // Words or a zero show that a size is meant: it is kept for the answer to refuse.
    ['crop 15x15', sides(15, 15)],
    ['0x512', sides(0, 512)],
    ['512x0', sides(512, 0)],
  ])('%s', (text, want) => expect(read(text)).toEqual(want));

  test.each([
    ['crop 32', sides(32, 32)],
    ['crop 31', {}],
    ['x100', sides(100, 100)],
    ['x99', {}],
    ['patch 96', sides(96, 96)],
    ['高 512', { imageHeight: 512 }],
    ['高 15', {}],
    ['宽 1024', { imageWidth: 1024 }],
  ])('of one number: %s', (text, want) => expect(read(text)).toEqual(want));
});

describe('shapes of tensors', () => {
  test.each([
    ['4x512x640', { ...sides(512, 640), inputChannels: 4 }],
    ['(5, 512, 640)', { ...sides(512, 640), batchSize: 5 }],
    ['(64, 64, 64)', { ...sides(64, 64), batchSize: 64 }],
    ['(65, 64, 64)', {}],
    ['(64, 63, 64)', {}],
    ['(64, 64, 63)', {}],
    ['(512, 640, 4)', { ...sides(512, 640), inputChannels: 4 }],
    ['(15, 15, 4)', {}],
    ['(4, 15, 15)', {}],
  ])('three numbers: %s', (text, want) => expect(read(text)).toEqual(want));

  test.each([
    ['(2, 3, 512, 640)', { ...sides(512, 640), batchSize: 2 }],
    ['(8, 1, 512, 640)', { ...sides(512, 640), inputChannels: 1, batchSize: 8 }],
    ['(2, 16, 512, 640)', { ...sides(512, 640), inputChannels: 16, batchSize: 2 }],
    ['(2, 17, 512, 640)', {}],
    ['(2, 512, 640, 16)', { ...sides(512, 640), inputChannels: 16, batchSize: 2 }],
    ['(2, 512, 640, 17)', {}],
    ['(1, 3, 32, 64)', { ...sides(32, 64), batchSize: 1 }],
    ['(1, 3, 31, 64)', {}],
    ['(1, 3, 64, 31)', {}],
    ['16x16x16x16', {}],
  ])('four numbers: %s', (text, want) => expect(read(text)).toEqual(want));

  test('a list of numbers without brackets or × is no shape', () => {
    expect(read('2, 3, 512, 640')).toEqual({});
  });
});

describe('which side comes first', () => {
  test.each([
    [1920, 1080],
    [1280, 720],
    [2560, 1440],
    [3840, 2160],
    [4096, 2160],
    [640, 480],
    [800, 600],
    [1024, 768],
    [1600, 1200],
    [1280, 1024],
    [4000, 3000],
    [6000, 4000],
  ])('%i × %i is the size of a screen or camera: width first', (width, height) => {
    expect(read(`${width}x${height}`)).toEqual(sides(height, width));
    expect(read(`${height}x${width}`)).toEqual(sides(height, width));
  });

  test.each([
    ['1024x512', sides(1024, 512)],
    ['1024x512 (h x w)', sides(1024, 512)],
    ['1024x512 (w x h)', sides(512, 1024)],
    ['1024x512 (wxh)', sides(512, 1024)],
    ['1024x512 宽高', sides(512, 1024)],
    ['w x h = 1024x512', sides(512, 1024)],
    ['宽x高: 1024x512', sides(512, 1024)],
    ['h=512, w=1024', sides(512, 1024)],
    ['w=1024 h=512', sides(512, 1024)],
    ['height 512 and width 1024', sides(512, 1024)],
    ['512 high by 1024 wide', sides(512, 1024)],
    ['1024 wide, 512 tall', sides(512, 1024)],
    ['1k x 2k', sides(1024, 2048)],
    ['2k x 1024', sides(2048, 1024)],
  ])('%s', (text, want) => expect(read(text)).toEqual(want));

  test('a configuration that states width first turns its pairs, not sizes written with ×', () => {
    expect(read('crop_size=(512, 640)')).toEqual(sides(512, 640));
    expect(read('crop_size=(512, 640)', true)).toEqual(sides(640, 512));
    expect(read('512x640', true)).toEqual(sides(512, 640));
  });
});

describe('a comma between two sides', () => {
  test.each([
    ['(64, 64)', sides(64, 64)],
    ['crop_size=(63, 64)', {}],
    ['crop_size=(64, 63)', {}],
    ['crop 512, 640', sides(512, 640)],
    ['改成 512,640', sides(512, 640)],
    ['512, 640', {}],
    ['512,640', {}],
  ])('needs brackets or a word: %s', (text, want) => expect(read(text)).toEqual(want));
});

describe('what names a size, and what another number', () => {
  test.each([
    ['crop 1k', sides(1024, 1024)],
    ['2k的图', sides(2048, 2048)],
    ['3k的图', {}],
    ['720p', sides(720, 1280)],
    ['1440p', sides(1440, 2560)],
    ['4k uhd', sides(2160, 3840)],
    ['full hd', sides(1080, 1920)],
    ['512 px', sides(512, 512)],
    ['640 见方', sides(640, 640)],
    ['resize to 480', sides(480, 480)],
    ['crop 256 images', {}],
    ['crop 512张', {}],
    ['512 个', {}],
    ['imgsz 640.5', {}],
  ])('%s', (text, want) => expect(read(text)).toEqual(want));

  test.each([
    ['原图 2048x1024，crop 512x512', sides(512, 512)],
    ['crop 512x512，原图 2048x1024', sides(512, 512)],
    ['验证 1024x1024，训练 512x512', sides(512, 512)],
    ['训练 512x512，验证 1024x1024', sides(512, 512)],
    ['val 1024x1024', sides(1024, 1024)],
    ['从 512x512 改成 640x640', sides(640, 640)],
  ])('what is trained on wins: %s', (text, want) => expect(read(text)).toEqual(want));

  test('what was read is taken away for the rules that follow', () => {
    const reading = startReading(normalize('unet 512x640 batch 8'));
    readSize(reading, false);
    expect(reading.rest).not.toMatch(/512|640/);
    expect(reading.rest).toContain('batch 8');
  });
});
