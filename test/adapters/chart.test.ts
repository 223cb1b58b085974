import fc from 'fast-check';
import { expect, test } from 'vitest';
import { barChart, squareOf } from '../../adapters/chart.ts';
import { readPng } from './png.ts';

const blue = '#55acee';
const orange = '#f4900c';
const green = '#78b159';
const black = '#31373d';
const grey = '#e6e7e8';
const edge = '#000000';
const rim = '#ffffff';
const colours = (sizes: readonly number[], capacity: number | undefined, ...places: number[]): string[] => {
  const picture = readPng(barChart(sizes, capacity));
  return places.map((x) => picture.pixel(x, 48));
};

test('a small PNG of 800 × 96', () => {
  const bytes = barChart([1, 2], 4);
  const { width, height, chunks } = readPng(bytes);
  expect([width, height]).toEqual([800, 96]);
  expect(chunks).toEqual(['IHDR', 'PLTE', 'IDAT', 'IEND']);
  expect(bytes.length).toBeLessThan(1_000);
});

test('each size in its colour, what is free in grey, the capacity at the right', () => {
  const places = [0, 199, 200, 599, 600, 793, 794, 796, 799];
  expect(colours([1, 2], 4, ...places)).toEqual([blue, blue, orange, orange, grey, grey, rim, edge, rim]);
});

test('more than the capacity: the line stands inside the bar', () => {
  expect(colours([2, 4, 2], 4, 199, 396, 397, 400, 402, 403, 599, 600, 799)).toEqual([
    blue,
    orange,
    rim,
    edge,
    rim,
    orange,
    orange,
    green,
    green,
  ]);
});

test('no capacity: no free part and no line', () => {
  expect(colours([1, 1], undefined, 0, 399, 400, 799)).toEqual([blue, blue, orange, orange]);
});

test('the ninth part and all after it share the last colour and the last square', () => {
  expect(colours(Array(10).fill(1), undefined, 600, 700, 799)).toEqual([black, black, black]);
  expect([0, 1, 2, 7, 8, 30].map(squareOf)).toEqual(['🟦', '🟧', '🟩', '⬛', '⬛', '⬛']);
});

test('top and bottom are the same', () => {
  const picture = readPng(barChart([3, 5], 10));
  for (let x = 0; x < 800; x += 1) expect(picture.pixel(x, 0)).toBe(picture.pixel(x, 95));
});

test('any numbers give a picture', () => {
  const number = fc.oneof(fc.double(), fc.nat(1e12));
  fc.assert(
    fc.property(fc.array(number, { maxLength: 20 }), fc.option(number, { nil: undefined }), (sizes, capacity) => {
      expect(readPng(barChart(sizes, capacity)).width).toBe(800);
    }),
  );
});
