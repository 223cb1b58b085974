/** The row of a table under a name that somebody typed: "constructor" and its like are no rows. */
export function lookUp<Row>(table: Readonly<Record<string, Row>>, name: string): Row | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
