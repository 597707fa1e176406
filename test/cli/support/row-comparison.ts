/** The comparison of two files by their first column, without an engine. The first row of each key counts. */
export function comparisonOf(before: string[][], after: string[][], names: string[]) {
  const [old, recent] = [firstRows(before), firstRows(after)];
  const inBoth = [...recent.keys()].filter((id) => old.has(id));
  const differing = (at: number) => inBoth.filter((id) => old.get(id)?.[at] !== recent.get(id)?.[at]);
  const counts = names.map((name, at): [string, number] => [name, differing(at).length]);
  const changed = new Set(names.flatMap((_, at) => differing(at)));
  const inOrder = (rows: string[][], which: (id: string) => boolean) => [...firstRows(rows).keys()].filter(which);
  const repeated = (rows: string[][]) => rows.filter(([id]) => id !== '').length - firstRows(rows).size;
  const empty = (rows: string[][]) => rows.filter(([id]) => id === '').length;
  return {
    keys: {
      column: names[0],
      ...{ added: recent.size - inBoth.length, removed: old.size - inBoth.length, kept: inBoth.length },
      repeated: { before: repeated(before), after: repeated(after) },
      empty: { before: empty(before), after: empty(after) },
    },
    changed: { rows: changed.size, columns: Object.fromEntries(counts.filter(([, count]) => count > 0)) },
    addedKeys: inOrder(after, (id) => !old.has(id)),
    removedKeys: inOrder(before, (id) => !recent.has(id)),
    changedKeys: inOrder(after, (id) => changed.has(id)),
  };
}

/** The first row of each key, in the order of the file. */
function firstRows(rows: string[][]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const row of rows) if (row[0] && !found.has(row[0])) found.set(row[0], row);
  return found;
}
