import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { inFolder } from '../../../core/table/engine.ts';
import { coveredColumns } from '../../../core/table/table-columns.ts';
import { writeParquet } from '../../../core/table/write-parquet.ts';
import { limitsIn } from '../../core/table/support.ts';
import { type EndOfNight, type Night, nightsOf } from '../../support/nights.ts';
import { bytesSource } from '../../support/reading.ts';
import { smallWorkbook } from '../../support/workbook.ts';

/** Files of programs that join pages, cut exports or write errors into them. */

const COLUMNS = ['id', 'name', 'phone'];
const WIDE_COLUMNS = [...COLUMNS, 'city', 'street', 'zip', 'region'];
const NAMES = [...WIDE_COLUMNS, 'nationalId'];
const LABELS = ['מזהה', 'שם', 'טלפון', 'עיר', 'רחוב', 'מיקוד', 'אזור', 'תעודת זהות'];
const CANARY = '31234';
const HEADER = `${COLUMNS.join(',')}\n`;
const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, row) => `${row + from},דנה ${row},05012345\n`).join('');
const FILE = HEADER + rows(240);
const WIDE = `${WIDE_COLUMNS.join(',')}\n${'1,דנה,05012345,חיפה,הנביאים 5,31000,צפון\n'.repeat(240)}`;

/** The request of a night. @param except whether `nationalId` is left out */
function runOf(columns = COLUMNS, except = false): Night['run'] {
  const others = NAMES.filter((name) => !columns.includes(name) && !(except && name === 'nationalId'));
  const labels = [...columns, ...others].map((name) => LABELS[NAMES.indexOf(name)] ?? null);
  return {
    request: { columns },
    listed: { others, labels, types: null, complete: true },
    excepted: except ? [{ entry: 'nationalId', name: 'nationalId', label: 'תעודת זהות' }] : [],
  };
}

interface Setting {
  columns?: string[];
  except?: boolean;
  tables?: object;
  /** Earlier nights with usual files. */
  before?: (string | Uint8Array)[];
}

async function night(bytes: string | Uint8Array, { columns, except = false, tables, before = [FILE] }: Setting = {}) {
  const nights = nightsOf({
    ...(except && { columns: { except: ['nationalId'] } }),
    ...(tables !== undefined && { tables }),
  });
  const run = runOf(columns, except);
  const ends: EndOfNight[] = [];
  for (const [place, each] of [...before, bytes].entries())
    ends.push(await nights.night({ date: `2026-11-${10 + place}`, bytes: each, run, exportId: idOf(place) }));
  const end = ends.at(-1);
  if (!end) throw new Error('there was no night');
  return { nights, run, ...end };
}

const idOf = (place: number) => `00000000-0000-4000-8000-${String(place).padStart(12, '0')}`;

/** The texts of the table of a published file. */
async function tableOf(bytes: string | Uint8Array, { manifest }: EndOfNight, tables: object = {}) {
  if (!manifest) throw new Error('there is no manifest');
  const content = Buffer.from(bytes);
  const configured = { columns: {}, misfit: 'null' as const, version: 1, ...tables };
  const settings = { ...configured, ...coveredColumns(manifest, { columns: 'all', tables: configured }) };
  const input = {
    ...{ manifest, source: bytesSource(content), settings, identity: 'i' },
    reading: { contentBytes: 1e9, diskBytes: 1e9, secondsLeft: () => 900 },
  };
  return inFolder('table-', async (folder) => {
    const path = join(folder, 'table.parquet');
    const written = await writeParquet({ ...input, hashKey: 'k'.repeat(40) }, path, limitsIn(folder));
    return { ...written, text: readFileSync(path, 'utf8') };
  });
}

describe('quarantines for good: a second header further down with a left-out column', () => {
  test.each<[string, string | Uint8Array]>([
    ['a second page with other columns', `${FILE}id,name,nationalId\n1,דנה,${CANARY}\n`],
    ['another order', `${FILE}nationalId,id,name\n${CANARY},1,דנה\n`],
    ['labels instead of names', `${FILE}מזהה,שם,תעודת זהות\n1,דנה,${CANARY}\n`],
    ['in capitals and quotation marks', `${FILE}"ID","NAME","NATIONAL_ID"\n1,דנה,${CANARY}\n`],
    ['with a byte order mark', `${FILE}\uFEFFid,name,nationalId\n1,דנה,${CANARY}\n`],
    ['names as paths', `${FILE}lead.id,lead.name,lead.nationalId\n1,דנה,${CANARY}\n`],
    ['a second table with two of three names', `${FILE}Report,name,nationalId\nx,דנה,${CANARY}\n`],
    ['two exact names', `${FILE}id,nationalId\n1,${CANARY}\n`],
    ['another separator', `${FILE}id;name;nationalId\n1;דנה;${CANARY}\n`],
    ['another separator and labels', `${FILE}מזהה\tתעודת זהות\tשם\n1\t${CANARY}\tדנה\n`],
    ['a separator that no export has, and paths', `${FILE}lead.id|lead.name|lead.nationalId\n1|דנה|${CANARY}\n`],
    ['gzip members', Buffer.concat([gzipSync(FILE), gzipSync(`id,name,nationalId\n1,דנה,${CANARY}\n`)])],
    ['UTF-16', Buffer.from(`\uFEFF${FILE}מזהה,שם,תעודת זהות\n1,דנה,${CANARY}\n`, 'utf16le')],
  ])('%s', async (_, bytes) => {
    const end = await night(bytes, { except: true });

    expect(end).toMatchObject({ ended: 'FileQuarantined', releasable: false });
    expect(end.stoppedBy).toContain('excepted');
    expect(end.told).not.toContain(CANARY);
  });
});

describe('quarantines for good: a narrower second header with a left-out column and empty cells', () => {
  test.each<[string, string]>([
    ['empty cells after it', `id,name,nationalId,,,,\n1,דנה,${CANARY},,,,\n`],
    ['empty cells before it', `,,,,id,name,nationalId\n,,,,1,דנה,${CANARY}\n`],
    ['empty quoted cells on both sides', `"","",id,name,nationalId,"",""\n,,1,דנה,${CANARY},,\n`],
    ['empty cells after two exact names', `id,nationalId,,,,,\n1,${CANARY},,,,,\n`],
    ['empty cells between the names', `id,,,name,,,nationalId\n1,,,דנה,,,${CANARY}\n`],
    ['empty cells after labels', `מזהה,שם,תעודת זהות,,,,\n1,דנה,${CANARY},,,,\n`],
  ])('%s', async (_, below) => {
    const end = await night(WIDE + below, { columns: WIDE_COLUMNS, except: true, before: [WIDE] });

    expect(end).toMatchObject({ ended: 'FileQuarantined', releasable: false });
    expect(end.stoppedBy).toContain('excepted');
  });
});

describe('quarantines until a release, without a table: a second header with other columns or order', () => {
  test.each<[string, string, Setting]>([
    ['another order, with hashed columns', `${FILE}id,phone,name\n1,0501234567,דנה\n`, { tables: { hash: ['phone'] } }],
    ['another order, by labels', `${FILE}שם,מזהה,טלפון\nדנה,1,0501234567\n`, {}],
    ['more columns', `${FILE}id,name,phone,city\n1,דנה,05,חיפה\n`, {}],
    ['another order with left-out columns', `${FILE}name,id,phone\nדנה,1,05\n`, { except: true }],
    [
      'two of three names, with hashed columns',
      `${FILE}x,phone,name\n1,0501234567,דנה\n`,
      { tables: { hash: ['phone'] } },
    ],
  ])('%s', async (_, bytes, setting) => {
    const { nights, ...end } = await night(bytes, setting);

    expect(end).toMatchObject({ ended: 'FileQuarantined', releasable: true });
    expect(end.stoppedBy).toContain('otherHeader');
    expect(await nights.release('of-2026-11-11')).toMatchObject({
      ended: setting.tables ? 'TABLE_DUE' : 'PUBLISHED',
    });
    await expect(tableOf(bytes, end, setting.tables)).rejects.toThrow('Records further down name other columns');
  });
});

describe('quarantines until a release: a second table in a sheet whose header names a hashed column', () => {
  const records = Array.from({ length: 240 }, (_, row) => [String(row), `Dana ${row}`, '05012345']);
  const bookOf = (...below: string[][]) => smallWorkbook([COLUMNS, ...records, ...below]);

  test.each<[string, string[][]]>([
    [
      'in another order',
      [
        ['id', 'phone', 'name'],
        ['1', '0501234567', 'Dana'],
      ],
    ],
    [
      'beside a text that is not a column',
      [
        ['x', 'phone', 'name'],
        ['1', '0501234567', 'Dana'],
      ],
    ],
  ])('%s', async (_, below) => {
    const end = await night(bookOf(...below), { tables: { hash: ['phone'] }, before: [bookOf()] });

    expect(end).toMatchObject({ ended: 'FileQuarantined', releasable: true });
    expect(end.stoppedBy).toContain('otherHeader');
  });
});

describe('quarantines once a file that repeats its header, and does not count the header as a row', () => {
  test.each<[string, string, number]>([
    ['the file twice', FILE + FILE, 480],
    ['each page with its header', `${HEADER}${rows(120)}${HEADER}${rows(60, 120)}ID,Name,Phone\n${rows(60, 180)}`, 240],
    ['quoted, and with an empty cell after it', `${FILE}"id","name","phone",\n${rows(3, 240)}`, 243],
  ])('%s', async (_, bytes, count) => {
    const { nights, run, ...end } = await night(bytes);

    expect(end).toMatchObject({ ended: 'FileQuarantined', releasable: true, stoppedBy: ['repeatedHeader'] });
    expect(end.manifest?.file.rows).toBe(count);
    expect(await tableOf(bytes, end)).toMatchObject({ rows: count });
    expect(await nights.release('of-2026-11-11')).toMatchObject({ ended: 'PUBLISHED' });
    expect(await nights.night({ date: '2026-11-12', bytes, run, exportId: idOf(7) })).toMatchObject({
      ended: 'PUBLISHED',
      warnings: expect.arrayContaining([expect.stringMatching(/that repeats? the header/)]),
    });
  });
});

describe('publishes rows that only look like a header', () => {
  test.each<[string, string, Setting]>([
    ['labels in two columns', 'id,name\nEmail,Meeting\nPhone,City\n', { columns: ['id', 'name'], before: [] }],
    ['a value that is a label', `${FILE}900,City,05\n`, {}],
    ['the same name twice', `${FILE}name,name,name\n`, {}],
    ['names and a number', `${FILE}city,name,7\n`, {}],
    ['one name of three, with left-out columns', `${FILE}1,nationalId is missing,05\n`, { except: true }],
  ])('%s', async (_, bytes, setting) => {
    expect(await night(bytes, setting)).toMatchObject({ ended: 'PUBLISHED', cause: '' });
  });
});

describe('ignores empty cells beyond the header', () => {
  test.each<[string, string, Setting]>([
    ['rows that end with a separator', HEADER + rows(240).replaceAll('\n', ',\n'), { except: true }],
    [
      'rows that end with two separators and quotation marks',
      HEADER + rows(240).replaceAll('\n', ',"",\n'),
      { except: true },
    ],
    ['a header that ends with a separator', `id,name,phone,\n${rows(240)}`, { except: true }],
    [
      'header and rows that end with separators',
      `id,name,phone,\n${rows(240).replaceAll('\n', ',,\n')}`,
      { except: true },
    ],
    ['windows line breaks', (HEADER + rows(240).replaceAll('\n', ',\n')).replaceAll('\n', '\r\n'), {}],
  ])('%s', async (_, bytes, setting) => {
    const end = await night(bytes, { ...setting, before: [bytes] });

    expect(end).toMatchObject({ ended: 'PUBLISHED', cause: '', warnings: [] });
    expect(end.manifest?.file).toMatchObject({ rows: 240, content: { irregular: 0, longer: 0 } });
    expect(await tableOf(bytes, end)).toMatchObject({ rows: 240 });
  });

  test('counts a value beyond the header, and allows no release', async () => {
    const end = await night(`${FILE}1,a,2,${CANARY}\n2,b,3,\n`, { except: true });

    expect(end).toMatchObject({ releasable: false });
    expect(end.manifest?.file.content).toMatchObject({ longer: 1 });
  });

  test('warns if a single row has an empty cell beyond the header', async () => {
    const end = await night(FILE.replace('\n5,', ',\n5,'));

    expect(end).toMatchObject({ ended: 'PUBLISHED' });
    expect(end.warnings.join()).toContain('1 row ends with empty cells beyond the header.');
  });
});

describe('accepts titles above the header', () => {
  test.each<[string, string, number, Setting?]>([
    ['one title', `Leads of November\n${FILE}`, 1],
    ['a title as Excel pads it', `Leads,,\n,,\n${FILE}`, 2],
    ['several titles and an empty line', `Leads\nMade on 2026-11-20, by Dana\n\nPage 1\n${FILE}`, 3],
    ['a title, with left-out columns', `Leads\n\n${FILE}`, 1, { except: true }],
    [
      'a title as wide as the two requested columns',
      `Report;x\nid;name\n${'1;a\n'.repeat(50)}`,
      1,
      { columns: ['id', 'name'] },
    ],
    ['a title above labels', `רשימת לידים\nמזהה,שם,טלפון\n${rows(240)}`, 1],
  ])('%s', async (_, bytes, above, setting = {}) => {
    const end = await night(bytes, { ...setting, before: [bytes] });

    expect(end).toMatchObject({ ended: 'PUBLISHED', cause: '' });
    expect(end.manifest?.file.content).toMatchObject({ rowsAbove: above, headed: true, irregular: 0 });
    expect(end.manifest?.file.rows).toBe(bytes.split('\n').length - 2 - above - (bytes.includes('\n\n') ? 1 : 0));
    expect(await tableOf(bytes, end)).toMatchObject({ rows: end.manifest?.file.rows });
  });

  test.each<[string, string]>([
    ['quarantines for good: records above the header', rows(3) + FILE],
    ['quarantines for good: a header that names a left-out column', `Leads\nid,name,nationalId\n1,a,${CANARY}\n`],
  ])('%s', async (_, bytes) => {
    expect(await night(bytes, { except: true })).toMatchObject({ ended: 'FileQuarantined', releasable: false });
  });

  test('rejects a sentence followed by a list of column names', async () => {
    expect(await night('Sorry, this failed.\nThe columns are id and name.\n')).toMatchObject({ ended: 'FileRejected' });
  });
});

test.each([
  ['no bytes', ''],
  ['gzip of nothing', gzipSync('')],
  ['the byte order mark of UTF-8', '\uFEFF'],
  ['two of them', '\uFEFF\uFEFF'],
  ['gzip of one', gzipSync('\uFEFF')],
  ['the byte order mark of UTF-16', Buffer.from('\uFEFF', 'utf16le')],
  ['that of UTF-16 in the other order', Buffer.from('\uFEFF', 'utf16le').swap16()],
])('publishes %s every night after one release, for an entity without records', async (_, bytes) => {
  const { nights, run, ...end } = await night(bytes, { before: [] });

  expect(end).toMatchObject({ stoppedBy: ['empty'], releasable: true });
  expect(await nights.release('of-2026-11-10')).toMatchObject({ ended: 'PUBLISHED' });
  for (const day of [11, 12])
    expect(await nights.night({ date: `2026-11-${day}`, bytes, run, exportId: idOf(day), named: true })).toMatchObject({
      ended: 'PUBLISHED',
    });
});

describe('quarantines until a release: a block of NUL characters', () => {
  test.each<[string, string | Uint8Array]>([
    ['in the middle', FILE.replace('\n100,', `\n${'\0'.repeat(4096)}\n100,`)],
    ['inside a cell', FILE.replace('\n100,', `\n100,${'\0'.repeat(16)}`)],
    ['at the end', FILE + '\0'.repeat(512)],
    ['in UTF-16', Buffer.from(`\uFEFF${FILE.replace('\n100,', `\n100,${'\0'.repeat(64)}`)}`, 'utf16le')],
  ])('%s', async (_, bytes) => {
    const end = await night(bytes);

    expect(end).toMatchObject({ ended: 'FileQuarantined', releasable: true });
    expect(end.stoppedBy).toContain('nulBlock');
  });

  test('warns of a single NUL character', async () => {
    const end = await night(FILE.replace('\n100,', '\n100,\0'));

    expect(end).toMatchObject({ ended: 'PUBLISHED' });
    expect(end.warnings.join()).toContain('characters with the code 0');
  });
});

describe('warns of a row that looks like the text of an error', () => {
  test.each<[string, string, string]>([
    [
      'one line of a stack trace',
      FILE.replace('\n100,', '\n    at com.crm.Export.run(Export.java:120)\n100,'),
      '1 row may be',
    ],
    [
      'as wide as the header, in the middle',
      FILE.replace('\n100,', '\nError: timeout,please,retry\n100,'),
      '1 row may be',
    ],
    ['as wide as the header, at the end', `${FILE}ERROR: canceling statement,timeout,57014\n`, 'The last row may be'],
    [
      'an error text in every cell',
      `${FILE}Result truncated!,Limit exceeded!,Result truncated!\n`,
      'The last row may be',
    ],
    ['of a database', FILE.replace('\n100,', '\nORA-01555: snapshot too old\n100,'), '1 row may be'],
    ['in Hebrew', FILE.replace('\n100,', '\nשגיאה: הייצוא נכשל\n100,'), '1 row may be'],
    ['in a file of one column', `id\n1\n2\nTraceback (most recent call last):\n3\n`, '1 row may be'],
  ])('%s', async (_, bytes, warning) => {
    const setting = bytes.startsWith('id\n') ? { columns: ['id'], before: [] } : {};
    const end = await night(bytes, setting);

    expect(end).toMatchObject({ ended: 'PUBLISHED', cause: '' });
    expect(end.warnings.join()).toContain(warning);
  });

  test('in Hebrew, in a file in windows-1255', async () => {
    const text = FILE.replace('\n100,', '\nשגיאה: הייצוא נכשל\n100,');
    const hebrew = text.replace(/[א-ת]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x4f0));

    expect((await night(Buffer.from(hebrew, 'latin1'))).warnings.join()).toContain('1 row may be the text of an error');
  });

  test('warns only of the last row if every row has such a text', async () => {
    const bytes = `name,id\n${'Error: no answer,1\n'.repeat(50)}`;

    expect((await night(bytes, { columns: ['name', 'id'], before: [bytes] })).warnings).toEqual([
      'The last row may be the text of an error.',
    ]);
  });
});

describe('publishes and tables quotation marks inside Hebrew words', () => {
  test.each<[string, string]>([
    ['in a label', `מזהה,ת"ז,דוא"ל\n${rows(20)}`],
    ['in a quoted label', `"מזהה","ת""ז","דוא""ל"\n${rows(20)}`],
    ['in a cell', `${HEADER}1,חברת ביטוח בע"מ,05\n2,עו"ד כהן,05\n`],
    ['as the sign for inches', `${HEADER}1,27" screen,05\n2,"a ""b""",05\n`],
  ])('%s', async (_, bytes) => {
    const { run } = await night(FILE);
    const nights = nightsOf();
    const labels = ['מזהה', 'ת"ז', 'דוא"ל'];
    const listed = { others: [], labels, types: null, complete: true };
    const end = await nights.night({ date: '2026-11-20', bytes, run: { ...run, listed } });

    expect(end).toMatchObject({ ended: 'PUBLISHED', cause: '' });
    expect(await tableOf(bytes, end)).toMatchObject({ rows: end.manifest?.file.rows, misfits: [] });
  });

  test('counts text after a closing quotation mark, and makes no table with hashed columns from it', async () => {
    const bytes = `${HEADER}1,"Dana"x,05\n`;
    const end = await night(bytes, { before: [] });

    expect(end.manifest?.file.content).toMatchObject({ strayQuotes: 1 });
    expect(await tableOf(bytes, end)).toMatchObject({ rows: 1 });
    await expect(tableOf(bytes, end, { hash: ['phone'] })).rejects.toThrow('closing quotation mark');
  });
});

test.each<[string, string | Uint8Array]>([
  ['two', `\uFEFF\uFEFF"id","name","phone"\n${rows(240)}`],
  ['three', `\uFEFF\uFEFF\uFEFF${FILE}`],
  ['two of UTF-16', Buffer.from(`\uFEFF\uFEFF"id","name","phone"\n${rows(240)}`, 'utf16le')],
  ['two of UTF-16 big-endian', Buffer.from(`\uFEFF\uFEFF${FILE}`, 'utf16le').swap16()],
])('skips %s byte order marks', async (_, bytes) => {
  const end = await night(bytes, { before: [bytes] });

  expect(end).toMatchObject({ ended: 'PUBLISHED', warnings: [] });
  expect(await tableOf(bytes, end)).toMatchObject({ rows: 240 });
});

describe('counts broken characters, and writes them as U+FFFD in the table', () => {
  const at = (bytes: Buffer, text: string) => bytes.indexOf(text);
  const broken = (text: string, row: string, bytes: number[]) => {
    const whole = Buffer.from(text);
    const place = at(whole, row) + Buffer.byteLength(row);
    return Buffer.concat([whole.subarray(0, place), Buffer.from(bytes), whole.subarray(place)]);
  };

  test.each<[string, Buffer, number, number]>([
    ['one byte', broken(FILE, '\n100,', [0xff]), 1, 101],
    ['half of a letter', broken(FILE, '\n7,', [0xd7]), 1, 8],
    ['a surrogate', broken(FILE, '\n0,', [0xed, 0xa0, 0x80]), 3, 1],
  ])('%s', async (_, bytes, count, row) => {
    const end = await night(bytes);

    expect(end).toMatchObject({ ended: 'PUBLISHED' });
    expect(end.manifest?.file).toMatchObject({
      dialect: { encoding: 'utf-8' },
      content: { broken: { bytes: count, row } },
    });
    expect(end.warnings).toContain(
      `The file is UTF-8 except for ${count} byte${count === 1 ? '' : 's'}, the first in row ${row}.`,
    );
    const table = await tableOf(bytes, end);
    expect(table.misfits).toEqual([{ column: 'name', type: 'text', count: 1, row }]);
    expect(table.text).toContain('\uFFFD');
  });

  test('counts half of a surrogate pair in UTF-16', async () => {
    const bytes = Buffer.from(`\uFEFF${FILE.replace('\n5,', '\n5,\ud83d')}`, 'utf16le');
    const end = await night(bytes);

    expect(end.warnings.join()).toContain('The file is UTF-16 except for 2 bytes, the first in row 6.');
    expect(await tableOf(bytes, end)).toMatchObject({ misfits: [{ column: 'name', row: 6 }] });
  });
});

test.each<[string, number, boolean]>([
  ['a round number', 10_000, true],
  ['thousands', 30_000, true],
  ['a limit of Excel', 65_535, true],
  ['one less than a round number, with its header', 4999, true],
  ['few rows', 500, false],
  ['no round number', 12_345, false],
])('warns of as many rows as the night before exactly for a suspicious count: %s (%i)', async (_, count, warns) => {
  const bytes = HEADER + '1,a,2\n'.repeat(count);
  const end = await night(`${bytes}`, { before: [bytes.replace('1,a,2', '1,b,2')] });

  expect(end.ended).toBe('PUBLISHED');
  expect(end.warnings.some((warning) => warning.includes('exactly as many rows'))).toBe(warns);
});

test.each<[string, string]>([
  ['a semicolon in each row', `id\n${'1;31234\n'.repeat(50)}`],
  ['a tab in most rows', `id\n1\n${'1\t31234\n'.repeat(50)}`],
  ['a bar', `id\n${'1|31234\n'.repeat(50)}`],
])('quarantines for good a file of one column with a possible second one after %s', async (_, bytes) => {
  const end = await night(bytes, { columns: ['id'], except: true, before: [] });

  expect(end).toMatchObject({ ended: 'FileQuarantined', releasable: false });
});

test('quarantines for good, with left-out columns, an odd line break before a quotation mark', async () => {
  const bytes = `${FILE}1,a\r"x",05\n`;

  expect(await night(bytes, { except: true })).toMatchObject({ ended: 'FileQuarantined', releasable: false });
  expect(await night(bytes)).toMatchObject({ stoppedBy: ['counted'], releasable: true });
});

test('does not quote a header text that the CRM does not list', async () => {
  const end = await night(`id,name,Dana Cohen 0501234567\n1,a,2\n`, { except: true });

  expect(end).toMatchObject({ releasable: false });
  expect(end.cause).toContain('column 3 of the header');
  expect(end.told).not.toMatch(/Dana Cohen/);
});
