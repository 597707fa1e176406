import { deflateSync, gzipSync } from 'node:zlib';
import { type Options, parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import type { Manifest } from '../../../core/export/manifest.ts';
import { readStored } from '../../../lambdas/publish-file/read.ts';
import { run } from '../../support/builders.ts';
import { testDeps } from '../../support/deps.ts';
import { encodedAs } from '../../support/encoded.ts';
import { failureOf } from '../../support/failures.ts';
import { storedRun } from '../../support/stored-run.ts';
import { zipOfFiles } from '../../support/zip.ts';

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

const utf16 = (text: string) => encodedAs(text, 'utf-16le');
const utf16be = (text: string) => encodedAs(text, 'utf-16be');
const windows1255 = (text: string) => encodedAs(text, 'windows-1255');
const latin1 = (text: string) => Buffer.from(text, 'latin1');

/** Hebrew rows of other customers than the table's. */
const MANY = Array.from({ length: 50 }, (_, row) => [`${row}`, 'לוי', 'חיפה']);
const MANY1255 = windows1255(csv([THREE, ...MANY]));
/** A header and many rows, with a byte in the middle that is invalid in UTF-8. */
const damaged = (header: string, row: string) =>
  Buffer.concat([Buffer.from(`${header}\r\n${row.repeat(1500)}`), Buffer.of(0xff), Buffer.from(row.repeat(1500))]);

interface Facts {
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
type Row = [name: string, bytes: string | Uint8Array, facts?: Facts];

const UNKNOWN: Facts = { dialect: { encoding: null } };
const HEADERLESS: Facts = { reads: { headed: false }, header: null };
const inEncoding = (encoding: string, more: Facts['dialect'] = {}, options: Options = {}): Facts => ({
  reads: { ...options, encoding },
  dialect: { encoding, ...more },
});
const NO_WIDTH = 'more or fewer fields';
const LABELS_1255 = windows1255('מזהה,עיר\r\n1,חיפה\r\n');
const QUOTED_1255 = windows1255(csv([...TABLE, ['3', '\xd8הפניקס\xd8, מסך 27\xd8', 'כיתה 5\xd7']]));
const SIGNS_1255 = windows1255(csv([...TABLE, ['3', 'לחזור\xa0\xa0מחר', '\x93אולי\x85\x94, סכום\xa0\xa4']]));
const SEP_LINE_1255 = [windows1255('sep=,\r\nמזהה,עיר\r\n1,חיפה\r\n2,'), Buffer.of(0xff), windows1255('\r\n3,עכו\r\n')];
const TWO_SEPARATORS = 'Cohen, Avi;0501234567;Haifa, IL\nLevi, Dana;0521234567;Eilat, IL\nBar;0531234567;Akko\n';
const WIDE_LINE = csv([[DANA[0] ?? '', 'א'.repeat(200_000), ''], DANA]);
const RUSSIAN = latin1('id,name,phone\r\n1,\xc0\xed\xed\xe0,2\r\n2,\xc8\xe2\xe0\xed,3\r\n');

const PUBLISHED: Row[] = [
  ['Windows line breaks', csv(TABLE), { dialect: { separator: ',', lineBreak: 'crlf', encoding: 'utf-8' } }],
  ['mixed line breaks', `${csv([THREE])}${csv([DANA], ',', '\n')}`, { dialect: { lineBreak: 'mixed' } }],
  ['a byte order mark', `\uFEFF${csv(TABLE)}`, { dialect: { byteOrderMark: true, encoding: 'utf-8' } }],
  [
    'UTF-16 without a mark, with short names in other letters',
    utf16(csv([THREE, ['1', 'Иван', 'حيفا 😀']])),
    inEncoding('utf-16le', { byteOrderMark: false }),
  ],
  [
    'UTF-16 big-endian with its mark',
    utf16be(`\uFEFF${csv(TABLE, ';', '\n')}`),
    inEncoding('utf-16be', { separator: ';', lineBreak: 'lf' }, { delimiter: ';' }),
  ],
  ['UTF-16 big-endian without a mark', utf16be(csv(TABLE)), inEncoding('utf-16be')],
  ['windows-1255 with Hebrew marks before words and after numbers', QUOTED_1255, inEncoding('windows-1255')],
  ['windows-1255 with signs of word processors and web pages', SIGNS_1255, inEncoding('windows-1255')],
  [
    'windows-1255, including the header',
    LABELS_1255,
    { ...inEncoding('windows-1255'), columns: ['id', 'city'], header: ['id', 'city'] },
  ],
  [
    'an unknown encoding',
    latin1('id,name,phone\r\n1,Jos\xe9 Andr\xe9,2\r\n'),
    { ...UNKNOWN, reads: { encoding: 'latin1' }, warns: 'is not recognised' },
  ],
  [
    'one damaged byte in a file of ASCII',
    damaged('id,name,phone', '1,Dan,2\r\n'),
    { dialect: { encoding: 'utf-8' }, warns: 'UTF-8 except for 1 byte, the first in row 1501.' },
  ],
  [
    'one damaged byte far below a header of labels',
    damaged('מזהה,שם מלא', '1,חיפה\r\n'),
    {
      ...{ columns: ['id', 'name'], header: ['id', 'name'], dialect: { encoding: 'utf-8' } },
      warns: 'UTF-8 except for 1 byte, the first in row 1501.',
    },
  ],
  [
    'one damaged byte below a header of labels as wide as requested',
    damaged('מזהה,שם מלא,טלפון', '1,חיפה,2\r\n'),
    { header: THREE, dialect: { encoding: 'utf-8' } },
  ],
  [
    'one damaged byte in windows-1255, below a header of labels and a sep= line',
    Buffer.concat(SEP_LINE_1255),
    { ...UNKNOWN, columns: ['id', 'city'], reads: { encoding: 'windows-1255', skipLines: 1 }, header: ['id', 'city'] },
  ],
  ['windows-1255, then UTF-8', Buffer.concat([MANY1255, Buffer.from(csv(MANY))]), UNKNOWN],
  ['UTF-8, then windows-1255', Buffer.concat([Buffer.from(csv([THREE, ...MANY])), windows1255(csv(MANY))]), UNKNOWN],
  ['windows-1255, then letters of another code page', Buffer.concat([MANY1255, latin1('3,M\xfcller,1\r\n')]), UNKNOWN],
  ['windows-1255, then accents of another code page', Buffer.concat([MANY1255, latin1('3,Jos\xe9,1\r\n')]), UNKNOWN],
  [
    'French, whose accented letters have the codes of Hebrew ones',
    latin1('id,name,phone\r\n1,\xe0,\xe0\r\n2,\xe0 la carte,x\r\n'),
    { ...UNKNOWN, reads: { encoding: 'latin1' } },
  ],
  ['Russian in windows-1251', RUSSIAN, { ...UNKNOWN, reads: { encoding: 'windows-1251' } }],
  [
    'no header, and two separators that give equally many fields',
    TWO_SEPARATORS,
    { ...HEADERLESS, rows: null, dialect: { separator: null }, without: NO_WIDTH },
  ],
  [
    'a single column whose values contain separators',
    'name\nCohen, Avi\nLevi; Dana\n',
    { columns: ['name'], reads: { delimiter: '\t' }, dialect: { separator: null }, without: NO_WIDTH },
  ],
  [
    'a sep= line after a byte order mark in UTF-16',
    utf16(`\uFEFFsep=,\r\n${csv(TABLE)}`),
    { reads: { encoding: 'utf-16le', skipLines: 1 }, dialect: { separatorLine: true, encoding: 'utf-16le' } },
  ],
  ['the end mark of DOS', `${csv(TABLE)}\x1a`],
  ['the end mark of DOS after a last line without a break', 'id,name,phone\r\n1,a,2\x1a'],
  ['an end mark of DOS inside', `${csv([THREE])}\x1a1,a,2\r\n2,b,3\r\n`, { rows: null, warns: 'not counted' }],
  ['no line break at its end', csv(TABLE).trimEnd()],
  ['line breaks, separators and marks in quotation marks', csv([THREE, ['1', 'a\r\nb\n"c"', ';\t,']])],
  ['a quoted header', '"id","name","phone"\r\n1,a,2\r\n'],
  ['spaces around the names in the header', 'id, name ,phone\r\n1,a,2\r\n', { header: THREE }],
  ['a label with a quotation mark', '"דוא""ל"\r\na@b.test\r\n', { columns: ['email'], header: ['email'] }],
  ['other columns than were requested', 'city,id\r\nחיפה,1\r\n'],
  ['a column name twice', csv([['id', 'name', 'name'], DANA]), { warns: 'a column twice' }],
  ['a column without a name', csv([['id', 'name', ''], DANA]), { header: ['id', 'name', ''] }],
  ['a name that the CRM does not list', csv([['id', 'name', 'שם אחר'], DANA]), { header: null }],
  ['only a header', csv([THREE])],
  ['rows wider or narrower than the header', 'id,name,phone\r\n1\r\n1,2,3,4\r\n'],
  ['empty lines', '\r\n\r\nid,name,phone\r\n\r\n1,a,2\r\n\r\n'],
  ['no header, only records', csv([DANA, RON]), { ...HEADERLESS, warns: 'no header' }],
  ['no header, and records that could be a header', 'a,b,c\r\nd,e,f\r\n', { rows: null, header: null }],
  ['a first line of 400 KB that is not a header', WIDE_LINE, HEADERLESS],
  [
    'a header of 400 KB',
    `id,${' '.repeat(400_000)},name,phone\r\n1,,a,2\r\n`,
    { columns: [...THREE, 'email'], header: ['id', '', 'name', 'phone'] },
  ],
  ['a single column', 'id\r\n1\r\n2\r\n', { columns: ['id'], dialect: { separator: null } }],
  ['blanks in a single column', 'id\n1\n\n2\n\n', { columns: ['id'], rows: null, warns: 'empty lines' }],
  ['quoted blank values in a single column', 'id\n""\n1\n""\n', { columns: ['id'] }],
  ['a lone carriage return in a field', 'id,name,phone\n1,a\rb,2\n', { rows: null, warns: 'differently' }],
  ['doubled carriage returns', 'id,name,phone\r\r\n1,a,2\r\r\n', { header: THREE, rows: null, warns: 'differently' }],
  ['NUL characters', `${csv(TABLE)}1,\0\0,\r\n`, { warns: 'damaged' }],
  ['an HTML doctype in a cell', csv([THREE, ['1', '<!doctype html>', '']])],
];

/** The records by a parser that knows the form of the file. */
function parsed(bytes: string | Uint8Array, { reads = {} }: Facts) {
  const { encoding, headed = true, skipLines = 0, ...options } = reads;
  const lines = new TextDecoder(encoding)
    .decode(Buffer.from(bytes))
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

/** Reads a stored file to its end. */
async function factsOf(bytes: string | Uint8Array, { columns = THREE }: Facts = {}, chunkBytes?: number) {
  const others = NAMES.filter((name) => !columns.includes(name));
  const labels = [...columns, ...others].map((name) => LABELS[NAMES.indexOf(name)] ?? null);
  const { bucket, state } = storedRun(bytes, chunkBytes === undefined ? {} : { chunkBytes });
  const asked = run({ request: { columns }, listed: { others, labels, types: null, complete: true } });
  if (!state.file) throw new Error('nothing was stored');
  return await readStored(state.file, asked, { ...testDeps(), bucket });
}

test.each(PUBLISHED)(
  'finds the same facts as an independent parser, or reports them as unknown, plain or packed, for any chunk size: %s',
  async (_, bytes, row = {}) => {
    const whole = await factsOf(bytes, row);
    const { facts, warnings } = whole;
    const expected = parsed(bytes, row);

    expect(facts).toMatchObject({ format: 'csv', compression: null, dialect: row.dialect ?? {} });
    expect(facts.rows).toBe(row.rows === null ? null : expected.rows);
    expect(facts.header).toEqual(row.header === undefined ? expected.header : row.header);
    if (row.warns) expect(warnings.join('\n')).toContain(row.warns);
    if (row.without) expect(warnings.join('\n')).not.toContain(row.without);
    for (const word of [...DANA, ...RON.slice(0, 2)]) expect(JSON.stringify(whole)).not.toContain(word);
    expect(await factsOf(bytes, row, Math.max(3, Math.ceil(Buffer.byteLength(bytes) / 40)))).toEqual(whole);
    for (const [compression, packed] of [
      ['gzip', gzipSync(bytes, { level: 1 })],
      ['zip', zipOfFiles({ name: 'leads.csv', content: bytes })],
    ] as const)
      expect(await factsOf(packed, row)).toEqual({ facts: { ...facts, bytes: packed.length, compression }, warnings });
  },
);

test('finishes with a cell of a megabyte in the part of the file that it judges', async () => {
  const { facts } = await factsOf(`1,a@${'.'.repeat(1_000_000)} ,x\n1,a@b.c,y\n`);

  expect(facts).toMatchObject({ format: 'csv', header: null, rows: null, content: { headed: null } });
});

const HTML = '<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please, sign in, again</body></html>\n';
const ERROR = '{"error":"link expired, please, ask again","code":404}';
/** Both lines have the requested number of fields. */
const ERROR_OF_TWO_LINES = '{"error":"link expired","code":404,"a":1\n,"b":2,"c":3}';
const XML_ERROR = '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>';
const XLS = Buffer.from('d0cf11e0a1b11ae100', 'hex');
const TEXT = 'text whose first record';
const WEB_PAGE = 'a web page';
const NO_ZIP = 'no readable zip directory';

test.each<[name: string, bytes: string | Uint8Array, looks: string]>([
  ['a JSON error', ERROR, 'JSON'],
  ['a JSON error after white space', ` \n\t${ERROR}\n`, 'JSON'],
  ['a JSON error after a byte order mark', `\uFEFF${ERROR}`, 'JSON'],
  ['a JSON error in UTF-16', utf16(`\uFEFF${ERROR}`), 'JSON'],
  ['JSON records, which are not configured', '[{"id":1,"name":"a"}]', 'JSON'],
  ['JSON lists as wide as a record', '["a","b","c"]\n["d","e","f"]\n', 'JSON'],
  ['a web page', HTML, WEB_PAGE],
  ['a web page after a byte order mark', `\uFEFF${HTML}`, WEB_PAGE],
  ['a web page in UTF-16', utf16(`\uFEFF${HTML}`), WEB_PAGE],
  ['a web page in UTF-16 without a mark', utf16be(HTML), WEB_PAGE],
  ['an XML error of an object store', XML_ERROR, 'an XML document'],
  ['markup as wide as a record', '<a>,<b>,<c>\n<d>,<e>,<f>\n', 'an XML document'],
  ['a sentence', 'The link has expired.', `${TEXT} has one field, 0 of them listed`],
  ['a sentence with two commas', 'Sorry, this link, expired\n', `${TEXT} has 3 fields, 0 of them listed`],
  ['a sentence in two lines', 'Sorry, this link, expired\nAsk again\n', `${TEXT} has 3 fields`],
  ['a record of too many fields', `${','.repeat(100_001)}\n`, 'of more than 100,000 fields'],
  ['records with more fields than requested', '1,a,b,x\r\n2,c,d,y\r\n', `${TEXT} has 4 fields`],
  ['gzip of a web page', gzipSync(HTML), 'a web page, compressed with gzip'],
  ['gzip of a JSON error', gzipSync(ERROR), 'JSON, compressed with gzip'],
  ['gzip of 80 MB of zeros', gzipSync(Buffer.alloc(80_000_000)), 'binary data of an unrecognised kind'],
  ['gzip that is cut off in its first bytes', gzipSync(csv(TABLE)).subarray(0, 20), 'gzip that is cut off'],
  ['gzip that is cut off in its records', gzipSync(csv(TABLE)).subarray(0, -9), 'gzip that is cut off'],
  ['gzip with another size at its end', gzipSync(csv(TABLE)).with(-1, 1), 'gzip that is damaged'],
  ['a JSON error after a sep= line', `sep=,\r\n${ERROR_OF_TWO_LINES}`, TEXT],
  ['a JSON error after a zero-width space', `\u200B${ERROR_OF_TWO_LINES}`, TEXT],
  ['a JSON error after the end mark of DOS', `\x1a${ERROR_OF_TWO_LINES}`, TEXT],
  ['a JSONP error', `callback(${ERROR_OF_TWO_LINES})`, TEXT],
  ["a JSON error after the prefix )]}'", `)]}',,\n,,${ERROR}`, TEXT],
  ['only empty fields', ',,\r\n,,\r\n', TEXT],
  ['a file that only begins like a zip archive', Buffer.from(`PK\x03\x04${ERROR}`), NO_ZIP],
  ['gzip of CSV that ends inside quotation marks', gzipSync('id,name,phone\n1,"cut'), 'ends inside a quoted field'],
  ['gzip inside of gzip', gzipSync(gzipSync(csv(TABLE))), 'gzip inside of gzip'],
  ['damaged gzip', Buffer.concat([gzipSync('').subarray(0, 10), Buffer.alloc(50, 0xff)]), 'gzip that is damaged'],
  ['Zstandard', Buffer.from('28b52ffd24', 'hex'), 'compressed with Zstandard'],
  ['bzip2', Buffer.from('425a6839314159265359', 'hex'), 'compressed with bzip2'],
  ['xz', Buffer.from('fd377a585a000004', 'hex'), 'compressed with xz'],
  ['zlib', deflateSync(csv(TABLE)), 'compressed with zlib'],
  ['zlib at its best', deflateSync(csv(TABLE), { level: 9 }), 'compressed with zlib'],
  ['zlib at its fastest', deflateSync(csv(TABLE), { level: 1 }), 'compressed with zlib'],
  ['PDF', '%PDF-1.7\n', 'a PDF document'],
  ['7-Zip', Buffer.from('377abcaf271c0004', 'hex'), 'a 7-Zip archive'],
  ['RAR', Buffer.from('526172211a070100', 'hex'), 'a RAR archive'],
  ['Parquet', Buffer.from('5041523115041500', 'hex'), 'a Parquet file'],
  ['PNG', Buffer.from('89504e470d0a1a0a', 'hex'), 'a PNG image'],
  ['JPEG', Buffer.from('ffd8ffe000104a46', 'hex'), 'a JPEG image'],
  ['an Excel 97 spreadsheet, which is not configured', XLS, 'Excel 97'],
  ['zeros', Buffer.alloc(5000), 'binary data'],
  ['half of a character in UTF-16', utf16(csv(TABLE)).subarray(0, -1), 'ends in the middle of a character'],
  ['a first line that never ends', `"${'a,'.repeat(700_000)}`, `${TEXT} does not end`],
])('ends in FileRejected for a file that is not the requested export: %s', async (_, bytes, looks) => {
  const error = await failureOf(factsOf(bytes), 'FileRejected');

  expect(error.message).toContain(looks);
  expect(error.message).not.toMatch(/expired|sign in|AccessDenied|Sorry/i);
});
