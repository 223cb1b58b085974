export interface Repeated {
  stop(): Promise<void>;
}

/** Runs `work` at once and then again and again, never twice at a time; jitter keeps replicas apart. */
export async function repeat(work: () => Promise<void>, everyMs: number): Promise<Repeated> {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let current = Promise.resolve();
  const schedule = (): void => {
    if (stopped) return;
    timer = setTimeout(
      () => {
        current = work().then(schedule);
      },
      everyMs * (0.8 + Math.random() * 0.4),
    );
    timer.unref();
  };
  await work();
  schedule();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await current;
    },
  };
}
