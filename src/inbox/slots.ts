/** Lets at most `limit` pieces of work run at once; the others wait in order of arrival. */
export function createSlots(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = limit;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/** Turns of the event loop from the arrival of a message until it is stored and acknowledged. */
const turnsOfArrival = 2;
/** Messages between two answers that make a crowd: whoever sends them sends more once they are acknowledged. */
const crowd = 8;
/** How long a crowd must keep still. */
const calmMs = 5;

export interface Turns {
  /** A message is here. */
  arrived(): void;
  /** Resolves for one caller after the other. */
  next(): Promise<void>;
}

/**
 * Lets one caller go per turn of the event loop, and none while messages arrive: computing an answer keeps the thread
 * busy, and whoever waits for an acknowledgement goes first. After `patienceMs` one goes all the same: a flood must not
 * end the answers.
 */
export function createTurns(patienceMs = 25): Turns {
  let last = Promise.resolve();
  let arrivals = 0;
  let arrivalsBefore = 0;
  const quiet = async (): Promise<void> => {
    const since = performance.now();
    let lastArrival = since;
    let still = 0;
    for (let now = since; now - since < patienceMs; now = performance.now()) {
      const crowded = arrivals - arrivalsBefore > crowd;
      if (still >= turnsOfArrival && (!crowded || now - lastArrival >= calmMs)) break;
      const before = arrivals;
      await new Promise((resolve) => setImmediate(resolve));
      still = arrivals === before ? still + 1 : 0;
      if (still === 0) lastArrival = now;
    }
    arrivalsBefore = arrivals;
  };
  return {
    arrived() {
      arrivals += 1;
    },
    next() {
      last = last.then(quiet);
      return last;
    },
  };
}
