import type { CsvRecord } from './csv-cells.ts';
import { FIELD_RULES, type FieldKind } from './customer-fields.ts';
import { keepsDigits, numberOf } from './kept-digits.ts';
import { type Problem, shownName } from './problems.ts';
import { unknownField } from './update-line.ts';

/** A column of a CSV file: `id` or a field. */
export interface CsvColumn {
  name: string;
  /** The value of a cell; the text itself, to be refused, where it is none of the field's kind. */
  read: (cell: string) => unknown;
}

const WHOLE = /^(0|-?[1-9]\d{0,15})$/;

const asWhole = (cell: string) => (WHOLE.test(cell) ? Number(cell) : cell);

/** Values of all other kinds stay text. */
const READERS: Partial<Record<FieldKind, CsvColumn['read']>> = {
  code: asWhole,
  int32: asWhole,
  number: (cell) => (keepsDigits(cell) ? (numberOf(cell) ?? cell) : cell),
  flag: (cell) => (cell === 'true' ? true : cell === 'false' ? false : cell),
};

/** `columns` is `null`, and the file unreadable, when `id` is missing or a name occurs twice. An unknown column is left out. */
export function readHeader({ line, cells, wrong }: CsvRecord): {
  columns: (CsvColumn | null)[] | null;
  problems: Problem[];
} {
  if (wrong) return { columns: null, problems: [{ line, field: null, sentence: wrong }] };
  const problems: Problem[] = [];
  const seen = new Set<string>();
  const names = cells.map((cell) => cell ?? '');
  const columns = names.map((name) => {
    const sentence = wrongColumn(name, seen, names);
    if (sentence) problems.push({ line, field: shownName(name), sentence });
    seen.add(name);
    const read = READERS[FIELD_RULES.get(name)?.kind ?? 'text'] ?? ((cell: string) => cell);
    return sentence ? null : { name, read };
  });
  if (!seen.has('id')) problems.push({ line, field: 'id', sentence: missingId(names) });
  const readable = seen.has('id') && seen.size === names.length;
  return { columns: readable ? columns : null, problems };
}

function wrongColumn(name: string, seen: Set<string>, names: string[]): string | undefined {
  if (seen.has(name)) return 'is the name of two columns';
  if (name === '') return `is column ${names.indexOf(name) + 1}: each column needs the name of a field`;
  if (name === 'customFields') return 'is an object, which a cell cannot hold: use JSON Lines (and it is deprecated)';
  return name === 'id' || FIELD_RULES.has(name) ? undefined : unknownField(name);
}

function missingId(names: string[]): string {
  const [only = ''] = names;
  if (names.length === 1 && /[;\t|]/.test(only)) return 'is missing: columns are separated by commas, nothing else';
  return 'is missing: the first line names the columns, one of them id';
}
