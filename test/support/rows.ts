/** Rows for `test.each`: one for each value that stands behind what its list is about. */
export const rowsOf = <Key, Value>(lists: [Key, ...Value[]][]) =>
  lists.flatMap(([key, ...values]) => values.map((value): [Key, Value] => [key, value]));
