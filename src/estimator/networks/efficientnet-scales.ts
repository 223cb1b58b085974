/** Width and depth factors by size. */
export type Scales = Readonly<Record<string, readonly [number, number]>>;

/** Tan and Le 2019, and the sizes that its authors added. */
export const EFFICIENTNET_SCALES: Scales = {
  b0: [1, 1],
  b1: [1, 1.1],
  b2: [1.1, 1.2],
  b3: [1.2, 1.4],
  b4: [1.4, 1.8],
  b5: [1.6, 2.2],
  b6: [1.8, 2.6],
  b7: [2, 3.1],
  b8: [2.2, 3.6],
};

export const EFFICIENTNET_LITE_SCALES: Scales = {
  lite0: [1, 1],
  lite1: [1, 1.1],
  lite2: [1.1, 1.2],
  lite3: [1.2, 1.4],
  lite4: [1.4, 1.8],
};
