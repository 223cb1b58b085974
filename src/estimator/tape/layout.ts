/** Row-major strides of a shape. */
export function contiguousStrides(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    strides[axis] = step;
    step *= shape[axis] ?? 1;
  }
  return strides;
}

export function isContiguous(shape: readonly number[], strides: readonly number[] | null): boolean {
  if (strides === null) return true;
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    const side = shape[axis] ?? 1;
    if (side !== 1 && strides[axis] !== step) return false;
    step *= side;
  }
  return true;
}

/** Strides as the tape keeps them: null when row-major. */
export function normalStrides(shape: readonly number[], strides: readonly number[]): readonly number[] | null {
  return isContiguous(shape, strides) ? null : strides;
}

/** Whether the elements fill their memory without gaps or overlap (in any order of axes). */
export function isDense(shape: readonly number[], strides: readonly number[] | null): boolean {
  if (strides === null) return true;
  let left = shape.reduce((count, side) => (side === 1 ? count : count + 1), 0);
  // Without gaps every next axis starts where the ones so far end, so following the steps visits each axis once.
  for (let step = 1; left > 0; left -= 1) {
    const side = sideOfStep(shape, strides, step);
    if (side < 0) return false;
    step *= side;
  }
  return true;
}

/** Side of the axis (longer than 1) with this stride; −1 when there is none. */
function sideOfStep(shape: readonly number[], strides: readonly number[], step: number): number {
  for (let axis = 0; axis < shape.length; axis += 1) {
    const side = shape[axis] ?? 1;
    if (side !== 1 && strides[axis] === step) return side;
  }
  return -1;
}

/**
 * Strides of a view with another shape, or undefined where torch has to copy.
 * Same rule as `computeStride` in ATen/TensorUtils.cpp (read 2026-11): runs of axes that are contiguous with each
 * other may be split and merged, nothing else.
 */
export function viewStrides(
  shape: readonly number[],
  strides: readonly number[] | null,
  target: readonly number[],
): readonly number[] | null | undefined {
  if (strides === null) return null;
  const old = strides;
  const result = new Array<number>(target.length).fill(1);
  let targetAxis = target.length - 1;
  let chunkBase = old[old.length - 1] ?? 1;
  let chunk = 1;
  let viewed = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    chunk *= shape[axis] ?? 1;
    const above = axis > 0 ? (shape[axis - 1] ?? 1) : 0;
    if (axis > 0 && (above === 1 || old[axis - 1] === chunk * chunkBase)) continue;
    while (targetAxis >= 0 && (viewed < chunk || target[targetAxis] === 1)) {
      result[targetAxis] = viewed * chunkBase;
      viewed *= target[targetAxis] ?? 1;
      targetAxis -= 1;
    }
    if (viewed !== chunk) return undefined;
    if (axis > 0) {
      chunkBase = old[axis - 1] ?? 1;
      chunk = 1;
      viewed = 1;
    }
  }
  return targetAxis === -1 ? normalStrides(target, result) : undefined;
}

/** Numpy-style broadcast of two shapes. */
export function broadcastShape(a: readonly number[], b: readonly number[]): readonly number[] {
  if (sameShape(a, b)) return a;
  const rank = Math.max(a.length, b.length);
  const result: number[] = [];
  for (let axis = 0; axis < rank; axis += 1) {
    const left = a[axis - rank + a.length] ?? 1;
    const right = b[axis - rank + b.length] ?? 1;
    result.push(Math.max(left, right));
  }
  return result;
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let axis = 0; axis < a.length; axis += 1) if (a[axis] !== b[axis]) return false;
  return true;
}

/** Strides of a new tensor that keeps the order of axes of an existing one (torch's preserve_format). */
export function preservedStrides(
  shape: readonly number[],
  strides: readonly number[] | null,
): readonly number[] | null {
  if (strides === null || isDense(shape, strides)) return strides;
  const order = shape.map((_, axis) => axis).sort((a, b) => (strides[b] ?? 0) - (strides[a] ?? 0) || a - b);
  const result = new Array<number>(shape.length).fill(1);
  let step = 1;
  for (const axis of order.reverse()) {
    result[axis] = step;
    step *= shape[axis] ?? 1;
  }
  return normalStrides(shape, result);
}
