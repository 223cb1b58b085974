import { describe, expect, test } from 'vitest';
import { normalize } from '../../src/understanding/normalize.ts';
import { startReading } from '../../src/understanding/reading.ts';
import { readSize } from '../../src/understanding/slots/size.ts';

const read = (text: string) => readSize(startReading(normalize(text)), false);
const sides = (imageHeight: number, imageWidth: number) => ({ imageHeight, imageWidth });

describe('sides that carry their names', () => {
  test.each([
    '512高1024宽',
    '512 高 1024 宽',
    '512 高度, 1024 宽度',
    '512px 的高度和 1024px 的宽度',
    '512 像素的高，1024 像素的宽',
    '512 的高 x 1024 的宽',
    '1024宽512高',
    '1024 宽 512 高',
    '1024 宽度, 512 高度',
    '1024px 的宽度和 512px 的高度',
    '1024 像素的宽，512 像素的高',
    '1024 的宽 x 512 的高',
  ])('after the number: %s', (text) => expect(read(text)).toEqual(sides(512, 1024)));

  test.each([
    '512high1024wide',
    '512 high 1024 wide',
    '512px tall, 1024px wide',
    '512 tall and 1024 wide',
    '512h x 1024w',
    '512 (h) x 1024 (w)',
    '1024wide512high',
    '1024 wide 512 high',
    '1024px wide, 512px tall',
    '1024 wide and 512 tall',
    '1024w x 512h',
    '1024 (w) by 512 (h)',
  ])('in English: %s', (text) => expect(read(text)).toEqual(sides(512, 1024)));

  test.each([
    'height=512 width=1024',
    'img_h 512, img_w 1024',
    'image_height: 512px image_width: 1024px',
    '高度为512和宽度为1024',
    'width of 1024 and height of 512',
    '宽1024高512',
    'w1024,h512',
  ])('before the number: %s', (text) => expect(read(text)).toEqual(sides(512, 1024)));

  test('a name beside the sizes of a pair turns it', () => {
    expect(read('1024x512 w*h')).toEqual(sides(512, 1024));
    expect(read('1024x512 px (w,h)')).toEqual(sides(512, 1024));
    expect(read('1024x512 像素 宽高')).toEqual(sides(512, 1024));
    expect(read('1024x512(w/h)')).toEqual(sides(512, 1024));
    expect(read('1024x512 width by height')).toEqual(sides(512, 1024));
    expect(read('1024x512 wheels')).toEqual(sides(1024, 512));
    expect(read('1024x512 whale')).toEqual(sides(1024, 512));
    expect(read('1024x512, batch 4 (w x h)')).toEqual(sides(1024, 512));
  });

  test('a name before a pair turns it, one further ahead does not', () => {
    expect(read('宽高1024x512')).toEqual(sides(512, 1024));
    expect(read('wh=1024x512')).toEqual(sides(512, 1024));
    expect(read('width x height 1024x512')).toEqual(sides(512, 1024));
    expect(read('whole 1024x512')).toEqual(sides(1024, 512));
  });
});

describe('one number for both sides', () => {
  test.each([
    'crop 640',
    'crop_size=640',
    'crop-size: 640',
    'cropsize 640',
    'imgsz=640',
    'image size of 640',
    'img_size 640',
    'input size is 640',
    '--img 640',
    'resized to 640',
    '分辨率改成640',
    '图片大小是 640',
    '图片尺寸为640',
    '切片 640',
    '640px',
    '640 pixels',
    '640 pixel square',
    '640像素见方',
    '640^2',
    '640的图',
    '640 大小的图',
    '640大小输入',
    '640尺寸的裁剪',
    '640 尺寸 crop',
    '640分辨率的切片',
    '640 分辨率 patch',
    '640 crop',
    '640crops',
    '640 input',
    '640 inputs',
    '640 patch',
    '640 patches',
    '640 tile',
    '640tiles',
    '640 resolution',
    '640 squared',
    'x640',
  ])('%s', (text) => expect(read(text)).toEqual(sides(640, 640)));

  test.each([
    '1.640px',
    '1.640 的图',
    '1.640 crops',
    '640 cropsy',
    '640 inputting',
    'ax640',
    '3x640 5',
    'x6400',
    '1.4k图',
    '14k图',
    'v1080p',
    '21080p',
    '1080px',
    '2720p',
    '1720p',
    '11440p',
    '12160p',
  ])('another number than 640 in %s', (text) => expect(read(text)).not.toEqual(sides(640, 640)));

  test.each([
    ['2k crop', 2048],
    ['2k crops', 2048],
    ['2k image', 2048],
    ['2k images', 2048],
    ['2k tile', 2048],
    ['4k tiles', 4096],
    ['1k 的 图', 1024],
    ['8k遥感', 8192],
    ['2k输入', 2048],
  ])('in thousands: %s', (text, side) => expect(read(text)).toEqual(sides(side, side)));

  test.each(['1.4k图', '14k图', '2k iterations'])('no thousands in %s', (text) => expect(read(text)).toEqual({}));

  test.each([
    ['crop 8', 8],
    ['crop_size=8', 8],
    ['crop size: 8', 8],
    ['cropsize 8', 8],
    ['image size of 8', 8],
    ['imagesize=8', 8],
    ['input_size 8', 8],
    ['inputsize 8', 8],
    ['input size 8', 8],
    ['imgsz 0', 0],
    ['resolution is 8', 8],
    ['尺寸是 8', 8],
    ['图大小为8', 8],
    ['图片大小 8', 8],
  ])('is kept for the answer to refuse: %s', (text, side) => expect(read(text)).toEqual(sides(side, side)));

  test.each(['尺寸 8张', '尺寸 8 张', 'crop 8 类', 'crop 8个', 'crop 8k', 'crop 8.5', 'crop 8 x'])(
    'no size of eight in %s',
    (text) => expect(read(text)).not.toEqual(sides(8, 8)),
  );
});

describe('sizes with a name of their own', () => {
  test.each([
    ['1080p', 1080, 1920],
    ['fullhd', 1080, 1920],
    ['fhd', 1080, 1920],
    ['1080p图', 1080, 1920],
    ['720p', 720, 1280],
    ['720p图', 720, 1280],
    ['1440p 图', 1440, 2560],
    ['2160p', 2160, 3840],
    ['4kuhd', 2160, 3840],
    ['uhd', 2160, 3840],
  ])('%s', (text, height, width) => expect(read(text)).toEqual(sides(height, width)));

  test.each(['720p6', '720pa', '1440p6', '1440pa', '2160p6', 'uhdx', '1720p', '21440p', '12160p', '21080p', '1080px2'])(
    'not in %s',
    (text) => {
      const { imageHeight, imageWidth } = read(text);
      expect(imageHeight === imageWidth).toBe(true);
    },
  );
});

describe('which of several sizes is trained on', () => {
  test.each([
    ['图片大小从512改到640px', 640],
    ['从 512 x 512 降到 384x384', 384],
    ['从512x512改到384px', 384],
    ['由 1024 改为 768x768', 768],
    ['crop from 512 to 640 px', 640],
    ['输入从1024缩到768px', 768],
    ['输入从 1024 缩 到 768 px', 768],
    ['输入从1024px缩小到 768px', 768],
    ['输入从 1024x1024 缩到 768px', 768],
    ['输入由10240 x 10240缩至768px', 768],
    ['input size from 1024 down to 768px', 768],
    ['crop from 1024 x 1024 to 640px', 640],
  ])('what is left behind is not: %s', (text, side) => expect(read(text)).toEqual(sides(side, side)));

  test.each([
    ['crop 512x512, images 1024x1024', 512],
    ['images 1024x1024, crop 512x512', 512],
    ['原图 4000x3000, 切片 512', 512],
    ['训练 512x512; 验证用 2048x2048', 512],
    ['训练和验证都是 768x768', 768],
    ['train 768x768 val 1024x1024', 1024],
    ['full image 2048x2048, 640px', 640],
    ['一张图 4096x4096，切成 1024 的 patch', 1024],
    ['pictures are 4000x3000, crop size 512', 512],
    ['crop size 512, pictures are 4000x3000', 512],
  ])('%s', (text, side) => expect(read(text)).toEqual(sides(side, side)));

  test('a shape beside an impossible one, and one of three colours', () => {
    expect(read('(3, 512, 640)')).toEqual(sides(512, 640));
    expect(read('tensor [2, 3, 512, 640]')).toEqual({ ...sides(512, 640), batchSize: 2 });
    expect(read('(2, 17, 16, 640)')).toEqual({});
    expect(read('(2, 16, 16, 640)')).toEqual({});
    expect(read('gpu (4, 200000, 640)')).toEqual({});
    expect(read('512, 640, 4')).toEqual({});
  });
});
