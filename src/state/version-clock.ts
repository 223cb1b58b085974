const stepsPerMillisecond = 1_024;

/**
 * Versions that are never given twice, so that a value which was deleted and written again is not taken for the old
 * one. They grow with time (newest first in lists), within one process even when the clock is set back.
 */
export function createVersionClock(now: () => number): () => number {
  let last = 0;
  return () => {
    last = Math.max(
      last + 1,
      Math.floor(now()) * stepsPerMillisecond + Math.floor(Math.random() * stepsPerMillisecond),
    );
    return last;
  };
}
