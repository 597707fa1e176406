import { gzipSync } from 'node:zlib';
import type { Draw } from '../../../../sandbox/data/draw.ts';
import { zipOfTexts } from '../../../support/zip.ts';
import { type ColumnName, LEFT_OUT } from './columns.ts';
import { type Fault, ofPacked, ofTable } from './fault.ts';
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
  ofTable(`left-out column, added: ${what}`, { except: true }, (table, draw) =>
    withColumn(table, NAME, text, further(table), draw),
  ),
  ofTable(`left-out column, instead of another: ${what}`, { except: true, width: 2 }, (table, draw) =>
    withColumn(table, NAME, text, replaced(table, draw), draw),
  ),
]);

const LEFT_OUT_FAULTS: Fault[] = [
  ...disguised,
  ofTable('left-out column, without a header', { except: true, width: 3 }, (table, draw) => {
    withColumn(table, NAME, '', replaced(table, draw), draw);
    table.header = null;
  }),
  ofTable('left-out column, beyond the header in one row', { except: true, usual: true }, (table) =>
    table.rows[table.rows.length >> 1]?.push('312340001'),
  ),
  ofTable('left-out column, beyond the header in all rows', { except: true }, (table, draw) => {
    const { header } = table;
    withColumn(table, NAME, '', further(table), draw);
    table.header = header;
  }),
  ...([NAME, LABEL, 'id_number', `lead.${NAME}`] as const).map(
    (text): Fault => ({
      name: `left-out column, below a header further down: ${text}`,
      wish: { except: true, kind: 'csv', width: 3 },
      table: (table, draw) => below(table, text, draw),
    }),
  ),
  ofTable(
    'left-out column, below an exact name further down in a file of two columns',
    { except: true, kind: 'csv', header: 'plain', width: 2 },
    (table, draw) => below(table, NAME, draw),
  ),
  ofPacked(
    'left-out column, in a second member of gzip',
    { except: true, kind: 'csv', compression: 'gzip', width: 3 },
    (bytes, _, { dialect }) => {
      const text = csvText(
        { header: ['id', NAME, 'name'], rows: [['1', '312340001', 'x']], tail: [] },
        { ...dialect, separatorLine: false, titles: 0, byteOrderMark: false },
      );
      return Buffer.concat([bytes, gzipSync(encoded((dialect.finalBreak ? '' : dialect.lineBreak) + text, dialect))]);
    },
  ),
  ofTable('left-out column, on a hidden sheet', { except: true, kind: 'xlsx' }, (table) =>
    table.sheets.push({ name: 'All', hidden: true, rows: [[NAME], ['312340001']] }),
  ),
  ofTable('left-out column, on a further sheet without a header', { except: true, kind: 'xlsx' }, (table) =>
    table.sheets.push({ name: 'All', hidden: false, rows: [['312340001', '312340002']] }),
  ),
  ofTable('left-out column, in a comment', { except: true, kind: 'xlsx' }, (table) => {
    table.comment = '312340001';
  }),
  ofPacked(
    'left-out column, in a macOS file beside the file',
    { except: true, compression: null, kind: 'csv' },
    (bytes) => zipOfTexts({ 'leads.csv': bytes, '__MACOSX/._leads.csv': '312340001' }),
  ),
  ofPacked('left-out column, after the end of the archive', { except: true, compression: 'zip' }, (bytes) =>
    withComment(bytes, '312340001'),
  ),
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
  ofTable('required column missing', { named: true, required: true, width: 2 }, lacksRequired),
  ofTable(
    'required column under another name',
    { named: true, required: true, width: 2 },
    (table, draw, { required: [name] }) =>
      withColumn(table, 'extra', 'Zusatz', table.columns.indexOf(name ?? 'id'), draw),
  ),
  ofTable('column missing', { named: true, drift: { removed: 'stop' }, width: 2 }, (table) =>
    withoutColumn(table, table.columns[1] ?? 'id'),
  ),
  ofTable(
    'column instead of another, with a listed name',
    { named: true, drift: { removed: 'stop' }, width: 2 },
    (table, draw) => withColumn(table, 'email', 'email', 1, draw),
  ),
  ofTable(
    'column instead of another, with an unlisted name',
    { named: true, drift: { removed: 'stop' }, width: 2 },
    (table, draw) => withColumn(table, 'extra', 'Zusatz', 1, draw),
  ),
  ofTable('extra column, listed', { named: true, drift: { added: 'stop' } }, (table, draw) =>
    withColumn(table, 'email', 'email', further(table), draw),
  ),
  ofTable('extra column, unlisted', { named: true, drift: { added: 'stop' } }, (table, draw) =>
    withColumn(table, 'extra', 'Zusatz', further(table), draw),
  ),
  ofTable('extra column, without a name', { named: true, drift: { added: 'stop' } }, (table, draw) =>
    withColumn(table, 'extra', '', further(table), draw),
  ),
  ofTable(
    'no header, after nights with one',
    { header: 'plain', drift: { removed: 'stop' }, width: 3 },
    (table, draw) => {
      withColumn(table, 'extra', '', 1, draw);
      table.header = null;
    },
  ),
  ofTable('another header than the released one', { header: 'unknown', drift: { removed: 'stop' } }, (table, draw) =>
    withColumn(table, 'extra', 'Zusatz', 1, draw),
  ),
];

function lacksRequired(table: Table, _draw: Draw, { required }: Service): void {
  for (const name of required) withoutColumn(table, name);
}

export const COLUMN_FAULTS: Fault[] = [...LEFT_OUT_FAULTS, ...OTHER_FAULTS];
