/** Work of one key one after the other, in the order in which it was asked for; a failure does not hold up the next. */
export function createOrder() {
  const tails = new Map<string, Promise<unknown>>();
  return <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const next = (tails.get(key) ?? Promise.resolve()).catch(() => undefined).then(work);
    const tail = next.finally(() => {
      if (tails.get(key) === tail) tails.delete(key);
    });
    tail.catch(() => undefined);
    tails.set(key, tail);
    return next;
  };
}
