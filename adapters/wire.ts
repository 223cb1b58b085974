/** A field of somebody else's JSON by its path (`user.id`, `actions.0.value`); undefined where there is none. */
export function fieldAt(json: unknown, path: string): unknown {
  let found = json;
  for (const key of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

/** The text at the first of the paths that holds one. */
export function textAt(json: unknown, ...paths: readonly string[]): string | undefined {
  for (const path of paths) {
    const found = fieldAt(json, path);
    if (typeof found === 'string') return found;
  }
  return undefined;
}

/** The list at a path; empty where there is none. */
export function listAt(json: unknown, path: string): readonly unknown[] {
  const found = fieldAt(json, path);
  return Array.isArray(found) ? found : [];
}
