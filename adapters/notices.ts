const windowMs = 10_000;
const noticesInWindow = 3;
const peopleRemembered = 10_000;

/**
 * Whether a person is told once more that there is too much to do: three times in ten seconds, since in a flood the
 * notices would cost more than the answers that they stand for.
 */
export function createNotices(now: () => number): (userId: string) => boolean {
  const told = new Map<string, { readonly since: number; count: number }>();
  return (userId) => {
    const at = now();
    const known = told.get(userId);
    if (known !== undefined && Math.abs(at - known.since) < windowMs) {
      known.count += 1;
      return known.count <= noticesInWindow;
    }
    if (told.size >= peopleRemembered) told.clear();
    told.set(userId, { since: at, count: 1 });
    return true;
  };
}
