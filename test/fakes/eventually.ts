/** Waits until `check` gives something; the test fails with `what` after some seconds. */
export async function eventually<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  ms = 8_000,
): Promise<T> {
  const until = Date.now() + ms;
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > until) throw new Error(`did not happen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
