import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { inFolder } from '../../../core/table/engine.ts';
import { putTable } from '../../core/table/support.ts';
import { encodedAs } from '../../support/encoded.ts';
import type { EndOfNight } from '../../support/nights.ts';
import {
  CANARY,
  COLUMNS,
  FILE,
  HEADER,
  night,
  outcomeOf,
  rows,
  type Setting,
  WIDE_COLUMNS,
} from '../../support/odd-nights.ts';
import { expectMessages, expectTexts } from '../../support/screen.ts';
import { smallWorkbook } from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

/** Files of programs that join pages, cut exports or write errors into them. */

const WIDE = `${WIDE_COLUMNS.join(',')}\n${'1,דנה,05012345,חיפה,הנביאים 5,31000,צפון\n'.repeat(240)}`;
const utf16 = (text: string) => encodedAs(`\uFEFF${text}`, 'utf-16le');
const at100 = (text: string) => FILE.replace('\n100,', `\n${text}100,`);

/** The texts of the table of a published file. */
async function tableOf(content: string | Uint8Array, { manifest }: EndOfNight, settings: object = {}) {
  if (!manifest) throw new Error('there is no manifest');
  return inFolder('table-', async (folder) => {
    const path = join(folder, 'table.parquet');
    const written = await putTable(path, {
      content: Buffer.from(content),
      file: manifest.file,
      settings,
      hashKey: 'k'.repeat(40),
    });
    return { ...written, text: readFileSync(path, 'utf8') };
  });
}

type Case = [what: string, bytes: string | Uint8Array, setting?: Setting];

const LEFT_OUT: Setting = { except: true };
const WIDE_LEFT_OUT: Setting = { columns: WIDE_COLUMNS, except: true, before: [WIDE] };
const ONE_LEFT_OUT: Setting = { columns: ['id'], except: true, before: [] };
const below = (what: string, text: string | Uint8Array): Case => [
  `a second header ${what}`,
  typeof text === 'string' ? FILE + text : text,
  LEFT_OUT,
];
const belowWide = (what: string, text: string): Case => [
  `a narrower second header ${what}`,
  WIDE + text,
  WIDE_LEFT_OUT,
];
const ROW = `1,דנה,${CANARY}`;

test.each<Case>([
  below('of a second page', `id,name,nationalId\n${ROW}\n`),
  below('in another order', `nationalId,id,name\n${CANARY},1,דנה\n`),
  below('of labels', `מזהה,שם,תעודת זהות\n${ROW}\n`),
  below('in capitals and quotation marks', `"ID","NAME","NATIONAL_ID"\n${ROW}\n`),
  below('with a byte order mark', `\uFEFFid,name,nationalId\n${ROW}\n`),
  below('of paths', `lead.id,lead.name,lead.nationalId\n${ROW}\n`),
  below('with two of three names', `Report,name,nationalId\nx,דנה,${CANARY}\n`),
  below('of two exact names', `id,nationalId\n1,${CANARY}\n`),
  below('with another separator', `id;name;nationalId\n1;דנה;${CANARY}\n`),
  below('with another separator and labels', `מזהה\tתעודת זהות\tשם\n1\t${CANARY}\tדנה\n`),
  below('with a separator that no export has', `lead.id|lead.name|lead.nationalId\n1|דנה|${CANARY}\n`),
  below('in a gzip member', Buffer.concat([gzipSync(FILE), gzipSync(`id,name,nationalId\n${ROW}\n`)])),
  below('in UTF-16', utf16(`${FILE}מזהה,שם,תעודת זהות\n${ROW}\n`)),
  below(
    'in another encoding',
    Buffer.concat([Buffer.from(FILE), encodedAs(`מזהה,שם,תעודת זהות\n${ROW}\n`, 'utf-16be'), Buffer.from(rows(240))]),
  ),
  belowWide('before empty cells', `id,name,nationalId,,,,\n${ROW},,,,\n`),
  belowWide('after empty cells', `,,,,id,name,nationalId\n,,,,${ROW}\n`),
  belowWide('between empty quoted cells', `"","",id,name,nationalId,"",""\n,,${ROW},,\n`),
  belowWide('of two exact names', `id,nationalId,,,,,\n1,${CANARY},,,,,\n`),
  belowWide('with empty cells inside', `id,,,name,,,nationalId\n1,,,דנה,,,${CANARY}\n`),
  belowWide('of labels', `מזהה,שם,תעודת זהות,,,,\n${ROW},,,,\n`),
  below('whose first name ends like the own one', `nationalId,name,phone\n${CANARY},a,05\n`),
  below('whose unlisted name ends like the own one', `passport id,name,phone\n${CANARY},a,05\n`),
  ['a row longer than the header', `${FILE}1,a,2,${CANARY}\n2,b,3,\n`, LEFT_OUT],
  ['records above the header', rows(3) + FILE, LEFT_OUT],
  ['a record above the header', `a@x.com,דנה,x\n${HEADER}b@x.com,לוי,y\n`, LEFT_OUT],
  ['records above it without a number', `דנה,x,-\nלוי,y,-\n${HEADER}בר,z,0501234567\n`, LEFT_OUT],
  ['another separator than in the header', FILE.replace(HEADER, 'id;name;phone\n'), LEFT_OUT],
  ['records above it with blanks after commas', `a1, דנה, x${CANARY}\n`.repeat(3) + FILE, LEFT_OUT],
  ['words and a long number above the header', `דנה,לקוח,${CANARY}\n${FILE}`, LEFT_OUT],
  ['a header below a title', `Leads\nid,name,nationalId\n1,a,${CANARY}\n`, LEFT_OUT],
  ['a possible second column after a semicolon', `id\n${'1;31234\n'.repeat(50)}`, ONE_LEFT_OUT],
  ['a possible second column after a tab in most rows', `id\n1\n${'1\t31234\n'.repeat(50)}`, ONE_LEFT_OUT],
  ['a possible second column after a semicolon and a space', `id\n${'1; 31234\n'.repeat(50)}`, ONE_LEFT_OUT],
  ['a possible second column after a bar', `id\n${'1|31234\n'.repeat(50)}`, ONE_LEFT_OUT],
  ['an odd line break before a quotation mark', `${FILE}1,a\r"x",05\n`, LEFT_OUT],
])('with a left-out column, quarantines for good: %s', async (_, bytes, setting) => {
  const end = await night(bytes, setting);

  expect(end).toMatchObject({ ended: 'FileQuarantined', releasable: false });
  expect(end.stoppedBy).toContain('excepted');
});

const HASHED: Setting = { tables: { hash: ['phone'] } };

test.each<Case>([
  ['another order, with hashed columns', `${FILE}id,phone,name\n1,0501234567,דנה\n`, HASHED],
  ['another order, by labels', `${FILE}שם,מזהה,טלפון\nדנה,1,0501234567\n`],
  ['more columns', `${FILE}id,name,phone,city\n1,דנה,05,חיפה\n`],
  ['the header after a cut cell', FILE.slice(0, 2000) + FILE],
  ['the header after a cut first cell', FILE.slice(0, FILE.indexOf('\n100,') + 3) + FILE],
  ['another order, with left-out columns', `${FILE}name,id,phone\nדנה,1,05\n`, LEFT_OUT],
  ['two of three names, with hashed columns', `${FILE}x,phone,name\n1,0501234567,דנה\n`, HASHED],
])('quarantines a second header until a release, without a table: %s', async (_, bytes, setting = {}) => {
  const { release, ...end } = await night(bytes, setting);

  expect(end).toMatchObject({ ended: 'FileQuarantined', releasable: true });
  expect(end.stoppedBy).toContain('otherHeader');
  expect(await release()).toMatchObject({ ended: setting.tables ? 'TABLE_DUE' : 'PUBLISHED' });
  await expect(tableOf(bytes, end, setting.tables)).rejects.toThrow(/other columns/);
});

const sheetWith = (...more: string[][]) =>
  smallWorkbook([COLUMNS, ...Array.from({ length: 240 }, (_, row) => [`${row}`, 'Dana', '05012345']), ...more]);
const sheetBelow = (header: string): Case => [
  `a second table in a sheet under ${header}, with hashed columns`,
  sheetWith(header.split(','), ['1', '0501234567', 'Dana']),
  { ...HASHED, before: [sheetWith()] },
];

test.each<[...Case, check: string]>([
  [...sheetBelow('id,phone,name'), 'otherHeader'],
  [...sheetBelow('x,phone,name'), 'otherHeader'],
  ['a block of NUL characters in the middle', at100(`${'\0'.repeat(4096)}\n`), {}, 'nulBlock'],
  ['a block of NUL characters in a cell', FILE.replace('\n100,', `\n100,${'\0'.repeat(16)}`), {}, 'nulBlock'],
  ['a block of NUL characters at the end', FILE + '\0'.repeat(512), {}, 'nulBlock'],
  ['a block of NUL characters in UTF-16', utf16(at100('\0'.repeat(64))), {}, 'nulBlock'],
  ['an odd line break before a quotation mark', `${FILE}1,a\r"x",05\n`, {}, 'counted'],
])('quarantines until a release: %s', async (_, bytes, setting, check) => {
  const end = await night(bytes, setting);

  expect(end).toMatchObject({ ended: 'FileQuarantined', releasable: true });
  expect(end.stoppedBy).toContain(check);
});

test.each<[string, string, number]>([
  ['the file twice', FILE + FILE, 480],
  ['each page with its header', `${HEADER}${rows(120)}${HEADER}${rows(60, 120)}ID,Name,Phone\n${rows(60, 180)}`, 240],
  ['quoted, and with an empty cell after it', `${FILE}"id","name","phone",\n${rows(3, 240)}`, 243],
])('quarantines once a file that repeats its header, and does not count the header as a row: %s', async (...row) => {
  const [, bytes, count] = row;
  const { next, release, ...end } = await night(bytes);

  expect(outcomeOf(end)).toBe('repeatedHeader');
  expect(end.manifest?.file.rows).toBe(count);
  expect(await tableOf(bytes, end)).toMatchObject({ rows: count });
  expect(await release()).toMatchObject({ ended: 'PUBLISHED' });
  const later = await next(bytes);
  expect(later).toMatchObject({ ended: 'PUBLISHED' });
  expect(later.warnings.join()).toMatch(/that repeats? the header/);
});

test.each<Case>([
  ['labels in two columns', 'id,name\nEmail,Meeting\nPhone,City\n', { columns: ['id', 'name'], before: [] }],
  ['a value that is a label', `${FILE}900,City,05\n`],
  ['the same name twice', `${FILE}name,name,name\n`],
  ['names and a number', `${FILE}city,name,7\n`],
  ['one name of three, with left-out columns', `${FILE}1,nationalId is missing,05\n`, LEFT_OUT],
])('publishes rows that only look like a header: %s', async (_, bytes, setting) => {
  expect(await night(bytes, setting)).toMatchObject({ ended: 'PUBLISHED', cause: '' });
});

const TWO_COLUMNS: Setting = { columns: ['id', 'name'] };

test.each<[what: string, bytes: string, rowsAbove: number, setting?: Setting]>([
  ['rows that end with two separators and marks', HEADER + rows(240).replaceAll('\n', ',"",\n'), 0, LEFT_OUT],
  ['a header that ends with a separator', `id,name,phone,\n${rows(240)}`, 0, LEFT_OUT],
  ['header and rows that end so', `id,name,phone,,,,,\n${rows(240).replaceAll('\n', ',,\n')}`, 0, LEFT_OUT],
  ['rows that end with a separator and CR LF', HEADER + rows(240).replaceAll('\n', ',\r\n'), 0, LEFT_OUT],
  ['rows that end with invisible cells', HEADER + rows(240).replaceAll('\n', ',"\u00a0\u200b"," ", \n'), 0, LEFT_OUT],
  ['blank cells below an empty one', `,${HEADER}${rows(240).replaceAll(/^(?=.)/gm, ' ,')}`, 0, LEFT_OUT],
  ['one title, above one column', `Leads of November\n\nid\n${'1\n'.repeat(240)}`, 1, { columns: ['id'] }],
  ['titles of groups of columns', `Id,,,Name,,,Phone\n,,\n${FILE}`, 2],
  ['a title as wide as padded rows', `Leads,,,,\n${FILE.replaceAll('\n', ',,\n')}`, 1],
  ['several titles and an empty line', `Leads\nMade on 2026-11-20, by Dana\n\nPage 1\n${FILE}`, 3],
  ['a sentence with more commas', `Dear all, these are the leads, made on Monday, by Dana\n${FILE}`, 1],
  ['such a sentence, with left-out columns', `שלום, מצורף דוח, לפי בקשתך, של הלידים\n\n${FILE}`, 1, LEFT_OUT],
  ['titles as wide as the header', `Leads,Haifa,2026-11-20\nMade,by,Dana\n${FILE}`, 2],
  ['a title that is wider, with left-out columns', `דוח,סניף,חיפה,30/11/2026\n\n${FILE}`, 1, LEFT_OUT],
  ['a title, with left-out columns', `Leads\n\n${FILE}`, 1, LEFT_OUT],
  ['a title as wide as two requested columns', `Report;x\nid;name\n${'1;a\n'.repeat(240)}`, 1, TWO_COLUMNS],
  ['a title that is a label', `שם\n\n${FILE}`, 1, LEFT_OUT],
  ['a title above labels', `רשימת לידים\nמזהה,שם,טלפון\n${rows(240)}`, 1],
])('ignores empty cells beyond the header, and titles above it: %s', async (_, bytes, rowsAbove, setting) => {
  const end = await night(bytes, { ...setting, before: [bytes] });

  expect(end).toMatchObject({ ended: 'PUBLISHED', cause: '' });
  const content = { rowsAbove, headed: true, irregular: 0, longer: 0 };
  expect(end.manifest?.file).toMatchObject({ rows: 240, content });
  expect(end.warnings).toHaveLength(rowsAbove > 0 ? 1 : 0);
  expect(await tableOf(bytes, end)).toMatchObject({ rows: 240 });
});

const ONE_MORE = ['id', 'Row ID', 'name', 'phone'];

test.each<[string, string | Uint8Array]>([
  ['of CSV', `${ONE_MORE}\n${'1,7,a,05\n'.repeat(240)}`],
  ['below a title', `Leads\n${ONE_MORE}\n${'1,7,a,05\n'.repeat(240)}`],
  ['of a sheet', smallWorkbook([ONE_MORE, ...Array.from({ length: 240 }, () => ['1', '7', 'a', '05'])])],
])('says where a header %s has one column more, and publishes once a setting names it', async (_, bytes) => {
  const named: Setting = { leads: { columns: { labels: { 'Row ID': null } } } };

  const end = await night(bytes);
  expect(outcomeOf(end)).toBe('unknownHeader');
  expect(end.cause).toMatch(/\b2\b.*columns\.labels/);
  expect(await night(bytes, named)).toMatchObject({ ended: 'PUBLISHED', manifest: { file: { rows: 240 } } });
});

test('rejects a sentence followed by a list of column names', async () => {
  expect(await night('Sorry, this failed.\nThe columns: id and name.\n')).toMatchObject({ ended: 'FileRejected' });
});

test.each([
  ['no bytes', ''],
  ['gzip of nothing', gzipSync('')],
  ['a zip archive of nothing', zipOfFiles({ name: 'leads.csv', content: '' })],
  ['the byte order mark of UTF-8', '\uFEFF'],
  ['the byte order mark of UTF-16', utf16('')],
  ['that of UTF-16 in the other order', utf16('').swap16()],
  ['only white space and the end mark of DOS', ' \r\n\t\n\x1a'],
])('publishes %s every night after one release, for an entity without records', async (_, bytes) => {
  const { next, release, ...end } = await night(bytes, { before: [] });

  expect(outcomeOf(end)).toBe('empty');
  expect(await release()).toMatchObject({ ended: 'PUBLISHED' });
  for (const _day of [11, 12]) expect(await next(bytes, { named: true })).toMatchObject({ ended: 'PUBLISHED' });
});

const HEBREW_1255 = encodedAs(at100('שגיאה: הייצוא נכשל\n'), 'windows-1255');
const EACH_ERROR = `name,id\n${'Error: no answer,1\n'.repeat(50)}`;

const WITH_A_WARNING: Case[] = [
  ['a row with one cell more', FILE.replace('\n5,', ',\n5,')],
  ['a single NUL character', FILE.replace('\n100,', '\n100,\0')],
  ['half of a surrogate', utf16(FILE.replace('\n5,', '\n5,\ud83d'))],
  ['one line of a stack trace', at100('    at com.crm.Export.run(Export.java:120)\n')],
  ['an error as wide as the header', at100('Error: timeout,please,retry\n')],
  ['such an error at the end', `${FILE}ERROR: canceling statement,timeout,57014\n`],
  ['an error before empty cells', `${FILE}Session expired,,\n`],
  ['an error in Hebrew before empty cells', `${FILE}הייצוא נכשל,,\n`],
  ['an expired grant in Hebrew', `${FILE}פג תוקף,,\n`],
  ['an error in every cell', `${FILE}Result truncated!,Limit exceeded!,Result truncated!\n`],
  ['an error in Hebrew, in windows-1255', HEBREW_1255],
  ['an error in a Hebrew sentence, in windows-1255', encodedAs(at100('אירעה שגיאה\n'), 'windows-1255')],
  ['in one column', 'id\n1\n2\nTraceback (most recent call last):\n3\n', { columns: ['id'], before: [] }],
  ['an error in every row', EACH_ERROR, { columns: ['name', 'id'], before: [EACH_ERROR] }],
];

test('publishes some odd texts with one warning', async () => {
  const warnings: [what: string, warning: string][] = [];
  for (const [what, bytes, setting] of WITH_A_WARNING) {
    const end = await night(bytes, setting);
    expect(end, what).toMatchObject({ ended: 'PUBLISHED', cause: '' });
    warnings.push([what, end.warnings.filter((each) => /row|character/.test(each)).join('\n')]);
  }
  await expectMessages('odd-text-warnings', warnings);
});

test.each(['Policy expired,Dana,05', 'פג תוקף,דנה,05', 'Job failed,Dana,05', 'denied,,05', ',Connection lost,05'])(
  'publishes the row %j, which begins with a status or an empty cell, without a warning',
  async (row) => {
    for (const bytes of [`${FILE}${row}\n`, at100(`${row}\n`), sheetWith(row.split(','))])
      expect(await night(bytes, { before: [bytes] })).toMatchObject({ ended: 'PUBLISHED', warnings: [] });
  },
);

test.each<[string, string]>([
  ['in a label', `מזהה,ת"ז,דוא"ל\n${rows(20)}`],
  ['in a quoted label', `"מזהה","ת""ז","דוא""ל"\n${rows(20)}`],
  ['in a cell', `${HEADER}1,חברת ביטוח בע"מ,05\n2,עו"ד כהן,05\n`],
  ['as the sign for inches', `${HEADER}1,27" screen,05\n2,"a ""b""",05\n`],
])('publishes and tables quotation marks inside Hebrew words: %s', async (_, bytes) => {
  const listed = { others: [], labels: ['מזהה', 'ת"ז', 'דוא"ל'], types: null, complete: true };
  const end = await night(bytes, { run: { listed }, before: [] });

  expect(end).toMatchObject({ ended: 'PUBLISHED', cause: '' });
  expect(await tableOf(bytes, end)).toMatchObject({ rows: end.manifest?.file.rows, misfits: [] });
});

test('counts text after a closing quotation mark, and makes no table with hashed columns from it', async () => {
  const bytes = `${HEADER}1,"Dana"x,05\n`;
  const end = await night(bytes, { before: [] });

  expect(end.manifest?.file.content).toMatchObject({ strayQuotes: 1 });
  expect(await tableOf(bytes, end)).toMatchObject({ rows: 1 });
  await expect(tableOf(bytes, end, { hash: ['phone'] })).rejects.toThrow('quotation mark');
});

test.each<[string, string | Uint8Array]>([
  ['two', `\uFEFF\uFEFF"id","name","phone"\n${rows(240)}`],
  ['three', `\uFEFF\uFEFF\uFEFF${FILE}`],
  ['two of UTF-16', utf16(`\uFEFF"id","name","phone"\n${rows(240)}`)],
  ['two of UTF-16 big-endian', utf16(`\uFEFF${FILE}`).swap16()],
])('skips %s byte order marks', async (_, bytes) => {
  const end = await night(bytes, { before: [bytes] });

  expect(end).toMatchObject({ ended: 'PUBLISHED', warnings: [] });
  expect(await tableOf(bytes, end)).toMatchObject({ rows: 240 });
});

describe('counts broken characters, and writes them as U+FFFD in the table', () => {
  test.each<[string, string, number[], number]>([
    ['one byte', '\n100,', [0xff], 101],
    ['half of a letter', '\n7,', [0xd7], 8],
    ['a surrogate', '\n0,', [0xed, 0xa0, 0x80], 1],
  ])('%s', async (_, place, broken, row) => {
    const whole = Buffer.from(FILE);
    const at = whole.indexOf(place) + place.length;
    const bytes = Buffer.concat([whole.subarray(0, at), Buffer.from(broken), whole.subarray(at)]);
    const end = await night(bytes);

    expect(end.manifest?.file).toMatchObject({
      dialect: { encoding: 'utf-8' },
      content: { broken: { bytes: broken.length, row } },
    });
    const count = broken.length === 1 ? '1 byte' : `${broken.length} bytes`;
    expect(end.warnings.join()).toMatch(new RegExp(`${count}, .*\\b${row}\\.`));
    const table = await tableOf(bytes, end);
    expect(table.misfits).toEqual([{ column: 'name', type: 'text', count: 1, row }]);
    expect(table.text).toContain('\uFFFD');
  });

  test('half of a surrogate pair in UTF-16', async () => {
    const bytes = utf16(FILE.replace('\n5,', '\n5,\ud83d'));

    expect(await tableOf(bytes, await night(bytes))).toMatchObject({ misfits: [{ column: 'name', row: 6 }] });
  });
});

test.each<[string, number, boolean]>([
  ['a round number', 10_000, true],
  ['thousands', 30_000, true],
  ['a limit of Excel', 65_535, true],
  ['a multiple of 500', 2500, true],
  ['one less than a round number, with its header', 4999, true],
  ['few rows', 500, false],
  ['no round number', 12_345, false],
])('warns of as many rows as the night before exactly for a suspicious count: %s (%i)', async (_, count, warns) => {
  const bytes = HEADER + '1,a,2\n'.repeat(count);
  const end = await night(bytes, { before: [bytes.replace('1,a,2', '1,b,2')] });

  expect(end.ended).toBe('PUBLISHED');
  expect(end.warnings.some((warning) => /exactly/.test(warning))).toBe(warns);
});

test('does not quote a header text that the CRM does not list', async () => {
  const end = await night(`id,name,Dana Cohen 0501234567\n1,a,2\n`, LEFT_OUT);

  expect(end).toMatchObject({ releasable: false });
  await expectTexts('header-not-listed', [['a header text that the CRM does not list', end.cause ?? '']]);
  expect(end.told).not.toMatch(/Dana Cohen/);
});
