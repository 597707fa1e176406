import { gzipSync } from 'node:zlib';
import type { Draw } from '../../../../sandbox/data/draw.ts';
import { zipOfTexts } from '../../../support/zip.ts';
import { type ColumnName, LEFT_OUT } from './columns.ts';
import type { Fault } from './fault.ts';
import type { Service } from './service.ts';
import { type Table, withColumn, withoutColumn } from './table.ts';
import { csvText, encoded } from './write-csv.ts';

const NAME = LEFT_OUT.name as ColumnName;
const LABEL = LEFT_OUT.label ?? '';
const wide = (text: string) =>
  text.replace(/[A-Za-z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0));

/** Texts above a column that must not be there. */
const DISGUISES: [what: string, text: string][] = [
  ['its name', NAME],
  ['its label', LABEL],
  ['capitals', NAME.toUpperCase()],
  ['a separated name', 'id_number'],
  ['spaces around it', ` ${NAME} `],
  ['a path', `lead.${NAME}`],
  ['a path before its label', `lead.${LABEL}`],
  ['a suffix', `${NAME} (text)`],
  ['a colon', `${LABEL}:`],
  ['a direction mark', `\u200f${LABEL}`],
  ['an embedding', `\u202b${LABEL}\u202c`],
  ['a soft hyphen', `id\u00adNumber`],
  ['a joiner', `id\u200dNumber`],
  ['full-width letters', wide(NAME)],
  ['an empty name', ''],
  ['a blank name', ' \u00a0'],
  ['an invisible name', '\u200b'],
  ['an unlisted name', 'Passport'],
  ['a Cyrillic letter', NAME.replace('i', '\u0456')],
  ['quotation marks', `"${NAME}"`],
  ['a name with a line break', 'id\nNumber'],
  ['a path of its own', `${NAME}.value`],
];

const further = (table: Table) => table.columns.length;
const replaced = (table: Table, draw: Draw) => draw.int(0, table.columns.length - 1);

const disguised: Fault[] = DISGUISES.flatMap(([what, text]) => [
  {
    name: `left-out column, added: ${what}`,
    wish: { except: true },
    table: (table, draw) => withColumn(table, NAME, text, further(table), draw),
  },
  {
    name: `left-out column, instead of another: ${what}`,
    wish: { except: true, width: 2 },
    table: (table, draw) => withColumn(table, NAME, text, replaced(table, draw), draw),
  },
]);

const LEFT_OUT_FAULTS: Fault[] = [
  ...disguised,
  {
    name: 'left-out column, without a header',
    wish: { except: true, width: 3 },
    table: (table, draw) => {
      withColumn(table, NAME, '', replaced(table, draw), draw);
      table.header = null;
    },
  },
  {
    name: 'left-out column, beyond the header in one row',
    wish: { except: true, usual: true },
    table: (table) => table.rows[table.rows.length >> 1]?.push('312340001'),
  },
  {
    name: 'left-out column, beyond the header in all rows',
    wish: { except: true },
    table: (table, draw) => {
      const { header } = table;
      withColumn(table, NAME, '', further(table), draw);
      table.header = header;
    },
  },
  ...([NAME, LABEL, 'id_number', `lead.${NAME}`] as const).map(
    (text): Fault => ({
      name: `left-out column, below a header further down: ${text}`,
      wish: { except: true, kind: 'csv', width: 3 },
      table: (table, draw) => below(table, text, draw),
    }),
  ),
  {
    name: 'left-out column, below an exact name further down in a file of two columns',
    wish: { except: true, kind: 'csv', header: 'plain', width: 2 },
    table: (table, draw) => below(table, NAME, draw),
  },
  {
    name: 'left-out column, in a second member of gzip',
    wish: { except: true, kind: 'csv', compression: 'gzip', width: 3 },
    packed: (bytes, _, { dialect }) => {
      const text = csvText(
        { header: ['id', NAME, 'name'], rows: [['1', '312340001', 'x']], tail: [] },
        { ...dialect, separatorLine: false, titles: 0, byteOrderMark: false },
      );
      return Buffer.concat([bytes, gzipSync(encoded((dialect.finalBreak ? '' : dialect.lineBreak) + text, dialect))]);
    },
  },
  {
    name: 'left-out column, on a hidden sheet',
    wish: { except: true, kind: 'xlsx' },
    table: (table) => table.sheets.push({ name: 'All', hidden: true, rows: [[NAME], ['312340001']] }),
  },
  {
    name: 'left-out column, on a further sheet without a header',
    wish: { except: true, kind: 'xlsx' },
    table: (table) => table.sheets.push({ name: 'All', hidden: false, rows: [['312340001', '312340002']] }),
  },
  {
    name: 'left-out column, in a comment',
    wish: { except: true, kind: 'xlsx' },
    table: (table) => {
      table.comment = '312340001';
    },
  },
  {
    name: 'left-out column, in a macOS file beside the file',
    wish: { except: true, compression: null, kind: 'csv' },
    packed: (bytes) => zipOfTexts({ 'leads.csv': bytes, '__MACOSX/._leads.csv': '312340001' }),
  },
  {
    name: 'left-out column, after the end of the archive',
    wish: { except: true, compression: 'zip' },
    packed: (bytes) => withComment(bytes, '312340001'),
  },
];

/** Adds another header below the rows, with the left-out column in the last position, and rows for it. */
function below(table: Table, text: string, draw: Draw): void {
  const header = [...(table.header ?? []).slice(0, -1), text];
  const rows = table.rows.slice(0, 3).map((cells) => [...cells.slice(0, -1), `31234000${draw.int(1, 9)}`]);
  table.rows.push(header, ...rows);
}

/** Adds a comment to an archive, which ends with the comment's length and text (APPNOTE.TXT, 4.3.16). */
function withComment(archive: Buffer, comment: string): Buffer {
  const end = Buffer.from(archive);
  end.writeUInt16LE(comment.length, end.length - 2);
  return Buffer.concat([end, Buffer.from(comment)]);
}

/** Faults with columns other than requested. */
const OTHER_FAULTS: Fault[] = [
  { name: 'required column missing', wish: { named: true, required: true, width: 2 }, table: lacksRequired },
  {
    name: 'required column under another name',
    wish: { named: true, required: true, width: 2 },
    table: (table, draw, { required: [name] }) =>
      withColumn(table, 'extra', 'Zusatz', table.columns.indexOf(name ?? 'id'), draw),
  },
  {
    name: 'column missing',
    wish: { named: true, drift: { removed: 'stop' }, width: 2 },
    table: (table) => withoutColumn(table, table.columns[1] ?? 'id'),
  },
  {
    name: 'column instead of another, with a listed name',
    wish: { named: true, drift: { removed: 'stop' }, width: 2 },
    table: (table, draw) => withColumn(table, 'email', 'email', 1, draw),
  },
  {
    name: 'column instead of another, with an unlisted name',
    wish: { named: true, drift: { removed: 'stop' }, width: 2 },
    table: (table, draw) => withColumn(table, 'extra', 'Zusatz', 1, draw),
  },
  {
    name: 'extra column, listed',
    wish: { named: true, drift: { added: 'stop' } },
    table: (table, draw) => withColumn(table, 'email', 'email', further(table), draw),
  },
  {
    name: 'extra column, unlisted',
    wish: { named: true, drift: { added: 'stop' } },
    table: (table, draw) => withColumn(table, 'extra', 'Zusatz', further(table), draw),
  },
  {
    name: 'extra column, without a name',
    wish: { named: true, drift: { added: 'stop' } },
    table: (table, draw) => withColumn(table, 'extra', '', further(table), draw),
  },
  {
    name: 'no header, after nights with one',
    wish: { header: 'plain', drift: { removed: 'stop' }, width: 3 },
    table: (table, draw) => {
      withColumn(table, 'extra', '', 1, draw);
      table.header = null;
    },
  },
  {
    name: 'another header than the released one',
    wish: { header: 'unknown', drift: { removed: 'stop' } },
    table: (table, draw) => withColumn(table, 'extra', 'Zusatz', 1, draw),
  },
];

function lacksRequired(table: Table, _draw: Draw, { required }: Service): void {
  for (const name of required) withoutColumn(table, name);
}

export const COLUMN_FAULTS: Fault[] = [...LEFT_OUT_FAULTS, ...OTHER_FAULTS];
