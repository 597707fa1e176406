export type Separator = ',' | ';' | '\t';
export const SEPARATORS: readonly Separator[] = [',', ';', '\t'];

/** The texts of the cells of a record. @param quoted whether a cell is in quotation marks */
export function cellsOf(text: string, separator: string, quoted: boolean): string[] {
  if (!quoted) return text.split(separator);
  const cells: string[] = [];
  for (let at = 0; at <= text.length; ) {
    let cell = '';
    if (text[at] === '"') {
      const parts: string[] = [];
      do {
        const mark = text.indexOf('"', at + 1);
        const close = mark === -1 ? text.length : mark;
        parts.push(text.slice(at + 1, close));
        at = close + 1;
      } while (text[at] === '"');
      cell = parts.join('"');
    }
    const found = text.indexOf(separator, at);
    const end = found === -1 ? text.length : found;
    cells.push(cell + text.slice(at, end));
    at = end + separator.length;
  }
  return cells;
}
