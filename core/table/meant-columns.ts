/** A column as the CRM lists it. */
export interface NamedColumn {
  name: string;
  label: string | null;
}

/**
 * The names of the columns that an entry of `columns.except`, `tables.except` or `tables.hash` means: the one that is called
 * exactly so, or else all whose name or label differs in its spelling alone.
 */
export function meantBy(entry: string, columns: readonly NamedColumn[]): string[] {
  if (columns.some(({ name }) => name === entry)) return [entry];
  const wanted = folded(entry);
  const alike = columns.filter(({ name, label }) => [name, label].some((text) => text && folded(text) === wanted));
  return [...new Set(alike.map(({ name }) => name))];
}

/** Without what programs write differently: letter case, forms of letters, separators, quotation marks, invisible characters. */
function folded(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\p{Z}\p{C}\p{Pd}\p{Pc}\p{Pi}\p{Pf}"'`´״׳.,:;/\\|]/gu, '');
}
