import { gzipSync } from 'node:zlib';
import { type Options, parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import type { Manifest } from '../../../core/export/manifest.ts';
import { readStored } from '../../../lambdas/publish-file/read.ts';
import { run } from '../../support/builders.ts';
import { testDeps } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { storedRun } from '../../support/stored-run.ts';
import { END_OF_ZIP, zipOf, zipOfFiles } from '../../support/zip.ts';

/** The fields that the CRM lists: seven, five of them with a label. */
const NAMES = ['id', 'name', 'phone', 'email', 'city', 'notes', 'status'];
const LABELS = ['מזהה', 'שם מלא', 'טלפון', 'דוא"ל', 'עיר', null, null];

/** A customer in every file with records: a manifest with one of these words has leaked a record. */
const DANA = ['7d2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e10', 'דנה כהן', '0501234567'];
const RON = ['1c2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e11', 'Ron, "R"', ''];

const quoted = (cell: string) => (/[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
const csv = (records: string[][], separator = ',', end = '\r\n') =>
  records.map((cells) => `${cells.map(quoted).join(separator)}${end}`).join('');
const THREE = ['id', 'name', 'phone'];
const TABLE = [THREE, DANA, RON];

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();
/** Encodes Hebrew letters and ASCII only. */
const windows1255 = (text: string) =>
  Buffer.from([...text].map((letter) => (letter >= 'א' ? letter.charCodeAt(0) - 0x05d0 + 0xe0 : letter.charCodeAt(0))));

/** Hebrew rows of other customers than the table's. */
const MANY = Array.from({ length: 50 }, (_, row) => [`${row}`, 'לוי', 'חיפה']);
/** A header and many rows, with a byte in the middle that is invalid in UTF-8. */
const damaged = (header: string[], row: string[]) =>
  Buffer.concat([
    Buffer.from(csv([header, ...Array<string[]>(1500).fill(row)])),
    Buffer.of(0xff),
    Buffer.from(csv(Array<string[]>(1500).fill(row))),
  ]);

interface Row {
  name: string;
  bytes: string | Uint8Array;
  /** The requested columns; by default the first three. */
  columns?: string[];
  /** The settings of the independent parser, and whether its first record is a header. */
  reads?: { encoding?: string; headed?: boolean; skipLines?: number } & Omit<Options, 'encoding'>;
  /** `null` = the test expects no row count and does not use the parser's. */
  rows?: null;
  /** The reported header, if it differs from the first record of the parser. */
  header?: string[] | null;
  dialect?: Partial<Manifest['file']['dialect']>;
  warns?: string;
  /** A text that no warning may contain. */
  without?: string;
}

const PUBLISHED: Row[] = [
  { name: 'Windows line breaks', bytes: csv(TABLE), dialect: { separator: ',', lineBreak: 'crlf', encoding: 'utf-8' } },
  { name: 'Unix line breaks', bytes: csv(TABLE, ',', '\n'), dialect: { lineBreak: 'lf' } },
  { name: 'mixed line breaks', bytes: `${csv([THREE])}${csv([DANA], ',', '\n')}`, dialect: { lineBreak: 'mixed' } },
  {
    name: 'line breaks of old Macs',
    bytes: csv(TABLE, ',', '\r'),
    reads: { record_delimiter: '\r' },
    dialect: { lineBreak: 'cr' },
  },
  { name: 'semicolons', bytes: csv(TABLE, ';'), reads: { delimiter: ';' }, dialect: { separator: ';' } },
  { name: 'tabs', bytes: csv(TABLE, '\t'), reads: { delimiter: '\t' }, dialect: { separator: '\t' } },
  { name: 'a byte order mark', bytes: `\uFEFF${csv(TABLE)}`, dialect: { byteOrderMark: true, encoding: 'utf-8' } },
  {
    name: 'UTF-16 little-endian with its mark',
    bytes: Buffer.from(`\uFEFF${csv(TABLE)}`, 'utf16le'),
    reads: { encoding: 'utf-16le' },
    dialect: { encoding: 'utf-16le', byteOrderMark: true },
  },
  {
    name: 'UTF-16 little-endian without a mark, and tabs, as Excel writes text',
    bytes: Buffer.from(csv(TABLE, '\t'), 'utf16le'),
    reads: { encoding: 'utf-16le', delimiter: '\t' },
    dialect: { encoding: 'utf-16le', byteOrderMark: false, separator: '\t' },
  },
  {
    name: 'UTF-16 without a mark, with short names in other letters',
    bytes: Buffer.from(csv([...TABLE.slice(0, 1), ['1', 'Иван', 'حيفا 😀']]), 'utf16le'),
    reads: { encoding: 'utf-16le' },
    dialect: { encoding: 'utf-16le', byteOrderMark: false },
  },
  {
    name: 'UTF-16 big-endian with its mark',
    bytes: utf16be(`\uFEFF${csv(TABLE, ';', '\n')}`),
    reads: { encoding: 'utf-16be', delimiter: ';' },
    dialect: { encoding: 'utf-16be', separator: ';', lineBreak: 'lf' },
  },
  {
    name: 'UTF-16 big-endian without a mark',
    bytes: utf16be(csv(TABLE)),
    reads: { encoding: 'utf-16be' },
    dialect: { encoding: 'utf-16be' },
  },
  {
    name: 'windows-1255',
    bytes: windows1255(csv(TABLE)),
    reads: { encoding: 'windows-1255' },
    dialect: { encoding: 'windows-1255' },
  },
  {
    name: 'windows-1255, including the header',
    bytes: windows1255(
      csv([
        ['מזהה', 'עיר'],
        ['1', 'חיפה'],
      ]),
    ),
    columns: ['id', 'city'],
    reads: { encoding: 'windows-1255' },
    header: ['id', 'city'],
    dialect: { encoding: 'windows-1255' },
  },
  {
    name: 'an unknown encoding',
    bytes: Buffer.from('id,name,phone\r\n1,Jos\xe9 Andr\xe9,2\r\n', 'latin1'),
    reads: { encoding: 'latin1' },
    dialect: { encoding: null },
    warns: 'is not recognised',
  },
  {
    name: 'one damaged byte far below a header of labels',
    bytes: damaged(['מזהה', 'שם מלא'], ['1', 'חיפה']),
    columns: ['id', 'name'],
    header: ['id', 'name'],
    dialect: { encoding: 'utf-8' },
    warns: 'UTF-8 except for 1 byte, the first in row 1501.',
  },
  {
    name: 'one damaged byte below a header of labels as wide as requested',
    bytes: damaged(['מזהה', 'שם מלא', 'טלפון'], ['1', 'חיפה', '2']),
    header: THREE,
    dialect: { encoding: 'utf-8' },
  },
  {
    name: 'one damaged byte in windows-1255, below a header of labels and a sep= line',
    bytes: Buffer.concat([
      windows1255('sep=,\r\nמזהה,עיר\r\n1,חיפה\r\n2,'),
      Buffer.of(0xff),
      windows1255('\r\n3,עכו\r\n'),
    ]),
    columns: ['id', 'city'],
    reads: { encoding: 'windows-1255', skipLines: 1 },
    header: ['id', 'city'],
    dialect: { encoding: null },
  },
  {
    name: 'windows-1255, then UTF-8',
    bytes: Buffer.concat([windows1255(csv([THREE, ...MANY])), Buffer.from(csv(MANY))]),
    dialect: { encoding: null },
  },
  {
    name: 'UTF-8, then windows-1255',
    bytes: Buffer.concat([Buffer.from(csv([THREE, ...MANY])), windows1255(csv(MANY))]),
    dialect: { encoding: null },
  },
  {
    name: 'windows-1255, then letters that only another code page has',
    bytes: Buffer.concat([windows1255(csv([THREE, ...MANY])), Buffer.from('3,M\xfcller,1\r\n', 'latin1')]),
    dialect: { encoding: null },
  },
  {
    name: 'windows-1255, then accents of another code page',
    bytes: Buffer.concat([windows1255(csv([THREE, ...MANY])), Buffer.from('3,Jos\xe9,1\r\n', 'latin1')]),
    dialect: { encoding: null },
  },
  {
    name: 'French, whose accented letters have the codes of Hebrew ones',
    bytes: Buffer.from('id,name,phone\r\n1,\xe0,\xe0\r\n2,\xe0 la carte,x\r\n', 'latin1'),
    reads: { encoding: 'latin1' },
    dialect: { encoding: null },
  },
  {
    name: 'Russian in windows-1251',
    bytes: Buffer.from('id,name,phone\r\n1,\xc0\xed\xed\xe0,2\r\n2,\xc8\xe2\xe0\xed,3\r\n', 'latin1'),
    reads: { encoding: 'windows-1251' },
    dialect: { encoding: null },
  },
  {
    name: 'no header, and two separators that give equally many fields',
    bytes: 'Cohen, Avi;0501234567;Haifa, IL\nLevi, Dana;0521234567;Eilat, IL\nBar;0531234567;Akko\n',
    reads: { delimiter: ';', headed: false },
    header: null,
    rows: null,
    dialect: { separator: null },
    without: 'another number of fields',
  },
  {
    name: 'a single column whose values contain separators',
    bytes: 'name\nCohen, Avi\nLevi; Dana\n',
    columns: ['name'],
    reads: { delimiter: '\t' },
    dialect: { separator: null },
    without: 'another number of fields',
  },
  {
    name: 'a sep= line',
    bytes: `sep=;\r\n${csv(TABLE, ';')}`,
    reads: { delimiter: ';', skipLines: 1 },
    dialect: { separator: ';', separatorLine: true },
  },
  {
    name: 'a sep= line after a byte order mark in UTF-16',
    bytes: Buffer.from(`\uFEFFsep=,\r\n${csv(TABLE)}`, 'utf16le'),
    reads: { encoding: 'utf-16le', skipLines: 1 },
    dialect: { separatorLine: true, encoding: 'utf-16le' },
  },
  { name: 'the end mark of DOS', bytes: `${csv(TABLE)}\x1a` },
  { name: 'the end mark of DOS after a last line without a break', bytes: 'id,name,phone\r\n1,a,2\x1a' },
  {
    name: 'the end mark of DOS in the middle',
    bytes: `${csv([THREE])}\x1a1,a,2\r\n2,b,3\r\n`,
    rows: null,
    warns: 'not counted',
  },
  { name: 'no line break at its end', bytes: csv(TABLE).trimEnd() },
  { name: 'line breaks, separators and marks in quotation marks', bytes: csv([THREE, ['1', 'a\r\nb\n"c"', ';\t,']]) },
  { name: 'a quoted header', bytes: '"id","name","phone"\r\n1,a,2\r\n' },
  { name: 'spaces around the names in the header', bytes: 'id, name ,phone\r\n1,a,2\r\n', header: THREE },
  {
    name: 'labels as the header',
    bytes: csv([LABELS.slice(0, 3) as string[], DANA]),
    header: THREE,
  },
  {
    name: 'a label with a quotation mark',
    bytes: csv([['דוא"ל'], ['a@b.test']]),
    columns: ['email'],
    header: ['email'],
  },
  {
    name: 'other columns than were requested',
    bytes: csv([
      ['city', 'id'],
      ['חיפה', '1'],
    ]),
  },
  { name: 'a column name twice', bytes: csv([['id', 'name', 'name'], DANA]), warns: 'a column twice' },
  { name: 'a column without a name', bytes: csv([['id', 'name', ''], DANA]), header: ['id', 'name', ''] },
  { name: 'a name that the CRM does not list', bytes: csv([['id', 'name', 'שם אחר'], DANA]), header: null },
  { name: 'only a header', bytes: csv([THREE]) },
  { name: 'rows wider or narrower than the header', bytes: 'id,name,phone\r\n1\r\n1,2,3,4\r\n' },
  { name: 'empty lines', bytes: '\r\n\r\nid,name,phone\r\n\r\n1,a,2\r\n\r\n' },
  {
    name: 'no header, only records',
    bytes: csv([DANA, RON]),
    reads: { headed: false },
    header: null,
    warns: 'no header',
  },
  {
    name: 'no header, and records that could be a header',
    bytes: 'a,b,c\r\nd,e,f\r\n',
    rows: null,
    header: null,
  },
  { name: 'column names in capitals', bytes: 'ID,Name,Phone\r\n1,a,2\r\n', header: THREE },
  {
    name: 'a first line of 400 KB that is not a header',
    bytes: csv([[DANA[0] ?? '', 'א'.repeat(200_000), ''], DANA]),
    reads: { headed: false },
    header: null,
  },
  {
    name: 'a header of 400 KB',
    bytes: csv([
      ['id', ' '.repeat(400_000), 'name', 'phone'],
      ['1', '', 'a', '2'],
    ]),
    columns: ['id', 'name', 'phone', 'email'],
    header: ['id', '', 'name', 'phone'],
  },
  { name: 'a single column', bytes: 'id\r\n1\r\n2\r\n', columns: ['id'], dialect: { separator: null } },
  {
    name: 'blank values in a single column',
    bytes: 'id\n1\n\n2\n\n',
    columns: ['id'],
    rows: null,
    warns: 'empty values',
  },
  { name: 'quoted blank values in a single column', bytes: 'id\n""\n1\n""\n', columns: ['id'] },
  { name: 'a lone carriage return in a field', bytes: 'id,name,phone\n1,a\rb,2\n', rows: null, warns: 'differently' },
  {
    name: 'doubled carriage returns',
    bytes: 'id,name,phone\r\r\n1,a,2\r\r\n',
    header: THREE,
    rows: null,
    warns: 'differently',
  },
  { name: 'NUL characters', bytes: `${csv(TABLE)}1,\0\0,\r\n`, warns: 'damaged' },
  { name: 'an HTML doctype in a cell', bytes: csv([THREE, ['1', '<!doctype html>', '']]) },
];

const text = (bytes: Uint8Array, encoding = 'utf-8') => new TextDecoder(encoding).decode(bytes);

/** The records by a parser that knows the form of the file. */
function read({ bytes, reads: { encoding, headed = true, skipLines = 0, ...options } = {} }: Row) {
  const lines = text(Buffer.from(bytes), encoding)
    .replaceAll('\x1a', '')
    .split(/(?<=\n)/);
  const records: string[][] = parse(lines.slice(skipLines).join(''), {
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n'],
    ...options,
  });
  return { rows: records.length - (headed ? 1 : 0), header: headed ? (records[0] ?? null) : null };
}

function stored(row: Row, options: { chunkBytes?: number } = {}) {
  const listed = { others: NAMES, labels: [] as (string | null)[], types: null, complete: true };
  const columns = row.columns ?? THREE;
  listed.others = NAMES.filter((name) => !columns.includes(name));
  listed.labels = [...columns, ...listed.others].map((name) => LABELS[NAMES.indexOf(name)] ?? null);
  const { bucket, state } = storedRun(row.bytes, options);
  return { bucket, state: { ...state, run: run({ request: { columns }, listed }) } };
}

/** Reads the file to its end. */
async function knownFacts(row: Row, options: { chunkBytes?: number } = {}) {
  const { bucket, state } = stored(row, options);
  const { file, run: asked } = state;
  if (!file) throw new Error('nothing was stored');
  return await readStored(file, asked, { ...testDeps(), bucket });
}

describe('finds the same facts as an independent parser, or reports them as unknown', () => {
  test.each(PUBLISHED.map((row) => [row.name, row] as const))('%s', async (_, row) => {
    const { facts, warnings } = await knownFacts(row);
    const expected = read(row);

    expect(facts).toMatchObject({ format: 'csv', compression: null, dialect: row.dialect ?? {} });
    expect(facts.rows).toBe(row.rows === null ? null : expected.rows);
    expect(facts.header).toEqual(row.header === undefined ? expected.header : row.header);
    if (row.warns) expect(warnings.join('\n')).toContain(row.warns);
    if (row.without) expect(warnings.join('\n')).not.toContain(row.without);
    for (const word of [...DANA, ...RON.slice(0, 2)]) expect(JSON.stringify({ facts, warnings })).not.toContain(word);
  });

  test.each(PUBLISHED.map((row) => [row.name, row] as const))(
    '%s: the same facts for any chunk size',
    async (_, row) => {
      const whole = await knownFacts(row);
      const chunkBytes = Math.max(3, Math.ceil(Buffer.byteLength(row.bytes) / 40));

      expect(await knownFacts(row, { chunkBytes })).toEqual(whole);
    },
  );

  test.each(PUBLISHED.map((row) => [row.name, row] as const))(
    '%s: the same facts in gzip, and in a zip archive with one file',
    async (_, row) => {
      const plain = await knownFacts(row);
      const packed = [
        ['gzip', gzipSync(row.bytes)],
        ['zip', zipOfFiles({ name: 'leads.csv', content: row.bytes })],
      ] as const;

      for (const [compression, bytes] of packed) {
        const { facts, warnings } = await knownFacts({ ...row, bytes });

        expect(facts).toEqual({ ...plain.facts, bytes: bytes.length, compression });
        expect(warnings).toEqual(plain.warnings);
      }
    },
  );
});

test('finishes with a cell of a megabyte in the part of the file that it judges', async () => {
  const bytes = `1,a@${'.'.repeat(1_000_000)} ,x\n1,a@b.c,y\n`;
  const { facts } = await knownFacts({ name: 'a long cell', bytes });

  expect(facts).toMatchObject({ format: 'csv', header: null, rows: null, content: { headed: null } });
});

const HTML = '<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please, sign in, again</body></html>\n';
const ERROR = '{"error":"link expired, please, ask again","code":404}';

/** Both lines have the requested number of fields. */
const ERROR_OF_TWO_LINES = '{"error":"link expired","code":404,"a":1\n,"b":2,"c":3}';

const REFUSED: [name: string, bytes: string | Uint8Array, looks: string][] = [
  ['a JSON error', ERROR, 'JSON'],
  ['a JSON error after white space', ` \n\t${ERROR}\n`, 'JSON'],
  ['a JSON error after a byte order mark', `\uFEFF${ERROR}`, 'JSON'],
  ['a JSON error in UTF-16', Buffer.from(`\uFEFF${ERROR}`, 'utf16le'), 'JSON'],
  ['JSON records, which are not configured', '[{"id":1,"name":"a"}]', 'JSON'],
  ['JSON lists as wide as a record', '["a","b","c"]\n["d","e","f"]\n', 'JSON'],
  ['a web page', HTML, 'a web page'],
  ['a web page after a byte order mark', `\uFEFF${HTML}`, 'a web page'],
  ['a web page in UTF-16', Buffer.from(`\uFEFF${HTML}`, 'utf16le'), 'a web page'],
  ['a web page in UTF-16 without a mark', utf16be(HTML), 'a web page'],
  [
    'an XML error of an object store',
    '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>',
    'an XML document',
  ],
  ['markup as wide as a record', '<a>,<b>,<c>\n<d>,<e>,<f>\n', 'an XML document'],
  ['a sentence', 'The link has expired.', 'text whose first record has one field, 0 of them listed'],
  [
    'a sentence with two commas',
    'Sorry, this link, expired\n',
    'text whose first record has 3 fields, 0 of them listed',
  ],
  ['a sentence in two lines', 'Sorry, this link, expired\nAsk again\n', 'text whose first record has 3 fields'],
  ['only white space', ' \r\n\t\n', 'text whose first record has'],
  ['only line breaks', '\r\n\n\n', 'text without a single record'],
  [
    'records with more fields than requested',
    csv([
      [...DANA, 'x'],
      [...RON, 'y'],
    ]),
    'text whose first record has 4 fields',
  ],
  ['gzip of a web page', gzipSync(HTML), 'a web page, compressed with gzip'],
  ['gzip of a JSON error', gzipSync(ERROR), 'JSON, compressed with gzip'],
  ['gzip of 80 MB of zeros', gzipSync(Buffer.alloc(80_000_000)), 'binary data of an unrecognised kind'],
  ['gzip that is cut off in its first bytes', gzipSync(csv(TABLE)).subarray(0, 20), 'gzip that is cut off'],
  ['gzip that is cut off in its records', gzipSync(csv(TABLE)).subarray(0, -9), 'gzip that is cut off'],
  ['a JSON error after a sep= line', `sep=,\r\n${ERROR_OF_TWO_LINES}`, 'text whose first record'],
  ['a JSON error after a zero-width space', `\u200B${ERROR_OF_TWO_LINES}`, 'text whose first record'],
  ['a JSON error after the end mark of DOS', `\x1a${ERROR_OF_TWO_LINES}`, 'text whose first record'],
  ['a JSONP error', `callback(${ERROR_OF_TWO_LINES})`, 'text whose first record'],
  ["a JSON error after the prefix )]}'", `)]}',,\n,,${ERROR}`, 'text whose first record'],
  ['only empty fields', ',,\r\n,,\r\n', 'text whose first record'],
  ['a file that only begins like a zip archive', Buffer.from(`PK\x03\x04${ERROR}`), 'no directory of a zip archive'],
  ['a zip archive that is cut off', zipOf('leads.csv').subarray(0, -22), 'no directory of a zip archive'],
  ['a zip archive without a file', END_OF_ZIP, 'a zip archive without a file'],
  ['gzip inside of gzip', gzipSync(gzipSync(csv(TABLE))), 'gzip inside of gzip'],
  [
    'gzip that is damaged',
    Buffer.concat([gzipSync('').subarray(0, 10), Buffer.alloc(50, 0xff)]),
    'gzip that is damaged',
  ],
  ['Zstandard', Buffer.from('28b52ffd24', 'hex'), 'compressed with Zstandard'],
  ['bzip2', Buffer.from('425a6839314159265359', 'hex'), 'compressed with bzip2'],
  ['xz', Buffer.from('fd377a585a000004', 'hex'), 'compressed with xz'],
  ['PDF', '%PDF-1.7\n', 'a PDF document'],
  ['a document of Word', zipOf('[Content_Types].xml', 'word/document.xml'), 'a document of Word or PowerPoint'],
  ['a spreadsheet of Excel 97, which is not configured', Buffer.from('d0cf11e0a1b11ae100', 'hex'), 'Excel 97'],
  ['zeros', Buffer.alloc(5000), 'binary data'],
  ['a first line that never ends', `"${'a,'.repeat(700_000)}`, 'text whose first record never ends'],
];

describe('ends in FileRejected for a file that is not the requested export', () => {
  test.each(REFUSED)('%s', async (name, bytes, looks) => {
    const error = await failureOf(knownFacts({ name, bytes }), 'FileRejected');

    expect(error.message).toContain(looks);
    expect(error.message).not.toMatch(/expired|sign in|AccessDenied|Sorry/i);
  });
});
