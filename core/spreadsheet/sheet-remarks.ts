interface Seen {
  besides: readonly string[];
  endsThin: boolean;
  unknownResults: number;
}

/** What a reader of a sheet should know, in sentences without anything of its content. */
export function remarksOf({ besides, endsThin, unknownResults }: Seen): string[] {
  const kinds = [...new Set(besides)].map((kind) => {
    const count = besides.filter((other) => other === kind).length;
    return count === 1 ? kind : `${kind} (${count})`;
  });
  return [
    ...(kinds.length > 0 ? [`The workbook has values besides the rows of its sheet: ${kinds.join(', ')}.`] : []),
    ...(unknownResults > 0
      ? [`${unknownResults} cells have a formula whose result is not in the file: they are read as empty.`]
      : []),
    ...(endsThin
      ? ['The last row has fewer than half as many values as any other: it may be the text of an error.']
      : []),
  ];
}
