import type { Draw } from '../../../../sandbox/data/draw.ts';

/** The form of a service's texts. */
export interface Texture {
  hebrew: boolean;
  /** Special characters in texts: separators, quotation marks, line breaks. */
  odd: readonly string[];
}

/**
 * A column whose values encode their column and row, so that a reader can check them without a header. `oracle.py`
 * repeats the forms.
 */
export interface Column {
  name: string;
  label: string | null;
  type: 'text' | 'number' | 'date';
  value: (row: number, draw: Draw, texture: Texture) => string;
}

const LATIN = ['Dana', 'Avi Cohen', 'O Neill', 'x', '12 Main Street'] as const;
const HEBREW = ['דנה כהן', 'רחוב הרצל 5', 'לוי', 'שם מלא מאוד'] as const;

function text(name: string, row: number, draw: Draw, { hebrew, odd }: Texture): string {
  const words = hebrew && draw.chance(0.7) ? draw.pick(HEBREW) : draw.pick(LATIN);
  const more = odd.length > 0 && draw.chance(0.2) ? `${odd[draw.int(0, odd.length - 1)]}and more` : '';
  return `${name}.${row}=${words}${more}=${name}`;
}

const digits = (row: number, count: number) => String(row).padStart(count, '0');
const textColumn = (name: string, label: string | null): Column => ({
  name,
  label,
  type: 'text',
  value: (row, draw, texture) => text(name, row, draw, texture),
});

/** The columns that the CRM lists, and `extra`, which it does not list. */
export const COLUMNS = {
  id: {
    name: 'id',
    label: 'מזהה',
    type: 'text',
    value: (row) => `1d000000-0000-4000-8000-${digits(row, 12)}`,
  },
  name: textColumn('name', 'שם מלא'),
  phone: { name: 'phone', label: 'טלפון', type: 'text', value: (row) => `+97257${digits(row, 7)}` },
  email: { name: 'email', label: 'דוא"ל', type: 'text', value: (row) => `row${row}.email@mail.test` },
  city: textColumn('city', null),
  notes: textColumn('notes', 'הערות'),
  score: { name: 'score', label: 'ציון', type: 'number', value: (row) => `42${digits(row, 6)}` },
  updated: {
    name: 'updated',
    label: 'תאריך עדכון',
    type: 'date',
    value: (row) => `2071-0${1 + (row % 9)}-1${row % 10}`,
  },
  idNumber: { name: 'idNumber', label: 'מספר זהות', type: 'text', value: (row) => `31234${digits(row, 4)}` },
  extra: textColumn('extra', null),
} satisfies Record<string, Column>;
export type ColumnName = keyof typeof COLUMNS;

export const LISTED = (Object.keys(COLUMNS) as ColumnName[]).filter((name) => name !== 'extra');
/** The left-out column, if there is one. */
export const LEFT_OUT = COLUMNS.idNumber;
