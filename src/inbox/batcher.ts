/**
 * Collects calls while an earlier batch is under way and runs them together: one call at a time costs no delay, many
 * cost one round trip. Results belong to the items by position; a failure is everybody's.
 */
export function createBatcher<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  maximum: number,
): (item: Item) => Promise<Result> {
  interface Call {
    readonly item: Item;
    readonly resolve: (result: Result) => void;
    readonly reject: (error: unknown) => void;
  }
  const calls: Call[] = [];
  let running = false;

  const flush = async (batch: readonly Call[]): Promise<void> => {
    try {
      const results = await run(batch.map(({ item }) => item));
      for (const [index, result] of results.entries()) batch[index]?.resolve(result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };
  const drain = async (): Promise<void> => {
    while (calls.length > 0) await flush(calls.splice(0, maximum));
    running = false;
  };

  return (item) =>
    new Promise((resolve, reject) => {
      calls.push({ item, resolve, reject });
      if (running) return;
      running = true;
      // After the events of this turn of the loop, so that they share the first batch too.
      setImmediate(() => void drain());
    });
}
