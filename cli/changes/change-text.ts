import { manyText, plainLine } from '../support/text.ts';
import type { Row, RowChange } from './row-changes.ts';

/** As `diff` marks keys. */
const MARKS = { insert: '+', delete: '-', update: '~' };
const INDENT = '    ';
const GAP = '  ';
/** On a terminal; elsewhere values are whole. */
const WIDEST_VALUE = 40;
/** What two values have in common in front of their difference, and is shown where they are cut. */
const SHOWN_IN_COMMON = 8;

/** A column whose values differ; `null` is no value. */
export interface ChangedColumn {
  column: string;
  before: string | null;
  after: string | null;
}

/** How a feed knows rows, and which columns it does not compare. */
interface Compared {
  key: readonly string[];
  ignore: readonly string[];
}

/** The columns in which two rows differ, without those that are ignored. A row may lack a column. */
export function changedColumns(before: Row, after: Row, ignore: readonly string[]): ChangedColumn[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].flatMap((column) => {
    const values = { before: before[column] ?? null, after: after[column] ?? null };
    return values.before === values.after || ignore.includes(column) ? [] : [{ column, ...values }];
  });
}

/** A change for a person: its mark, the key, and what differs or the first columns. @param width of the terminal, or infinite */
export function changeText({ change, before, after }: RowChange, { key, ignore }: Compared, width: number): string {
  const row = after ?? before ?? {};
  const known = `${MARKS[change]} ${keyText(key.map((name) => [name, row[name] ?? null]))}`;
  if (before && after)
    return `${known}${updateText(changedColumns(before, after, ignore), width - known.length, width)}`;
  return `${known}${GAP}${rowText(row, key, width - known.length - GAP.length)}`;
}

/** The key of a row. */
export function keyText(parts: [name: string, value: string | null][]): string {
  return parts.map(([name, value]) => `${plainLine(name)} ${valueText(value)}`).join(', ');
}

/** What differs, on the same line where it has room, else a line for each column. */
export function updateText(columns: ChangedColumn[], room: number, width: number): string {
  const texts = columns.map(({ column, before, after }) => {
    const [old, recent] = differingTexts(before, after, width);
    return `${plainLine(column)}: ${old} -> ${recent}`;
  });
  const line = texts.join(', ');
  if (line.length + GAP.length <= room) return `${GAP}${line}`;
  return ['', ...texts.map((text) => `${INDENT}${text}`)].join('\n');
}

/** As many columns as there is room for, the key and those without a value aside; the rest is counted. */
export function rowText(row: Row, key: readonly string[], room: number): string {
  const filled = Object.entries(row).filter(([name, value]) => !key.includes(name) && value !== null && value !== '');
  const texts = filled.map(([name, value]) => `${plainLine(name)}: ${valueText(value, mostOf(room))}`);
  const lineOf = (count: number) => {
    const left = texts.length - count;
    return [...texts.slice(0, count), ...(left > 0 ? [`… ${manyText(left, 'more column')}`] : [])].join(', ');
  };
  let count = texts.length;
  while (count > 0 && lineOf(count).length > room) count -= 1;
  return lineOf(count);
}

const mostOf = (width: number) => (width === Number.POSITIVE_INFINITY ? width : WIDEST_VALUE);

function valueText(value: string | null, most = Number.POSITIVE_INFINITY, from = 0): string {
  if (value === null) return '(none)';
  if (value === '') return '(empty)';
  const text = plainLine(value);
  const part = text.slice(from, from + most);
  return `${from > 0 ? '…' : ''}${part}${from + part.length < text.length ? '…' : ''}`;
}

/** Two values that differ, cut so that it is seen; as JSON writes them where only what nobody sees differs. */
function differingTexts(before: string | null, after: string | null, width: number): [string, string] {
  const texts = [before, after].map((value) => valueText(value)) as [string, string];
  if (seen(texts[0]) === seen(texts[1])) return [escaped(before), escaped(after)];
  const most = mostOf(width);
  if (Math.max(texts[0].length, texts[1].length) <= most) return texts;
  let common = 0;
  while (common < texts[0].length && texts[0][common] === texts[1][common]) common += 1;
  const from = common < most - SHOWN_IN_COMMON ? 0 : common - SHOWN_IN_COMMON;
  return [valueText(before, most, from), valueText(after, most, from)];
}

/** What an eye can tell apart: no marks of direction or width, any blank as a blank, letters composed in one way. */
function seen(text: string): string {
  return text
    .normalize('NFC')
    .replace(/\p{Cf}/gu, '')
    .replace(/\p{Z}/gu, ' ')
    .trim();
}

/** With the code in place of each character that is not seen, or that is a part of the letter before it. */
function escaped(value: string | null): string {
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{M}]|(?! )\p{Z}/gu, codeOf);
}

function codeOf(character: string): string {
  const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return units.map((unit) => `\\u${unit}`).join('');
}
