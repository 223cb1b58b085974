/** Widths in terminal columns; a terminal that does not say its width is taken as this wide (the classic 80 and some). */
export const consoleLimits = {
  defaultColumns: 100,
  minimumColumns: 40,
  /** Titles stand in a column of their own on the left. */
  titleColumns: 10,
  barColumns: 24,
  /** Widest cell of a table, widest label of a fact. */
  cellColumns: 48,
  /** Longest text of a block, most items of a list or table. */
  textCharacters: 8_000,
  items: 40,
  /** Longest accepted line of input, in characters: pasted logs fit. */
  inputCharacters: 1_048_576,
} as const;
