/** A record, as far as it was seen. */
export interface SeenRecord {
  cells: string[];
  /** The text of the record without its line break. */
  text: string;
  /** What ends it; '' = it goes on, or is the last one. */
  lineBreak: string;
}

/** The records of a text, by the same grammar as `scanCsv`. Behind the last line break comes one more, perhaps empty. */
export function* csvRecordsIn(text: string, separators: string): Generator<SeenRecord> {
  // Quoted parts, where a doubled quotation mark closes one and opens the next; the rest; the end of the field.
  const ends = `([${separators}]|\\r\\n|\\n|\\r|$)`;
  const field = new RegExp(`((?:"[^"]*(?:"|$))*)([^${separators}\\r\\n]*)${ends}`, 'g');
  let cells: string[] = [];
  let start = 0;
  for (const { index, 0: whole, 1: quoted = '', 2: rest = '', 3: end = '' } of text.matchAll(field)) {
    const parts = quoted.split('"').filter((_, place) => place % 2 === 1);
    cells.push(parts.join('"') + rest);
    if (end !== '' && separators.includes(end)) continue;
    const next = index + whole.length;
    // Whether a carriage return at the end of what is seen is alone is not known.
    const cut = end === '\r' && next === text.length;
    yield { cells, text: text.slice(start, next - end.length), lineBreak: cut ? '' : end };
    cells = [];
    start = next;
  }
}
