import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  CANARY,
  COLUMNS,
  FILE,
  HEADER,
  night,
  oddNights,
  outcomeOf,
  rows,
  type Setting,
  WIDE_COLUMNS,
} from '../../support/odd-nights.ts';
import { smallWorkbook } from '../../support/workbook.ts';
import { zipWith } from '../../support/zip.ts';

/** How ordinary and bad files end after nights of 240 rows, and what a release changes for later nights. */

const LEFT_OUT: Setting = { except: true };
/** The last column has the values of the left-out one. */
const leaking = (header: string) => `${header}\n${`1,Dana,${CANARY}\n`.repeat(240)}`;
const book = (count: number, header = COLUMNS, last = '05') =>
  smallWorkbook([header, ...Array.from({ length: count }, (_, row) => [`${row}`, 'Dana', last])]);
const UNPUBLISHED: Setting = { ...LEFT_OUT, run: { publish: false, kind: 'partial', differs: ['filters'] } };
const STRICT: Setting = { leads: { columns: { required: ['phone'] }, drift: { removed: 'stop', added: 'stop' } } };
const packed = gzipSync(FILE);
const flipped = packed.with(packed.length >> 1, (packed[packed.length >> 1] ?? 0) ^ 0x10);
const WITHOUT_LAST = FILE.replaceAll(/,[^,\n]*\n/g, '\n');

test.each<[what: string, bytes: string | Uint8Array, outcome: string, setting?: Setting]>([
  ['a left-out column', leaking('id,name,nationalId'), 'for good: excepted', LEFT_OUT],
  ['a left-out column under an empty text', leaking('id,name,'), 'for good: excepted', LEFT_OUT],
  ['a left-out column in gzip', gzipSync(leaking('id,name,nationalId')), 'for good: excepted', LEFT_OUT],
  ['a left-out column in zip', zipWith('leads.csv', leaking('id,name,nationalId')), 'for good: excepted', LEFT_OUT],
  ['a left-out column in a sheet', book(240, ['id', 'name', 'nationalId'], CANARY), 'for good: excepted', LEFT_OUT],
  ['a left-out column, not to be published', leaking('id,name,nationalId'), 'for good: excepted', UNPUBLISHED],
  ['a left-out column, without a header', rows(240).replaceAll('05012345', CANARY), 'for good: excepted', LEFT_OUT],
  ['a header of an invisible text', `\u200b;name\n${`${CANARY};Dana\n`.repeat(240)}`, 'for good: excepted', LEFT_OUT],
  ['no left-out column', FILE, 'PUBLISHED', LEFT_OUT],
  ['a missing column, beside a left-out one', WITHOUT_LAST, 'PUBLISHED', LEFT_OUT],
  ['a sheet of all rows, beside a left-out column', book(240), 'PUBLISHED', LEFT_OUT],
  ['2 rows with a lone carriage return in a cell', `${HEADER}1,a\rb,2\n2,b,3\n`, 'counted'],
  ['a header and a lone carriage return', `${COLUMNS.join(',')}\r`, 'noRows, maxShrink, lastLineBreak'],
  ['2 rows and 98 rows of empty cells', HEADER + rows(2) + ',,\n'.repeat(98), 'maxShrink'],
  ['a sheet with only a header', book(0), 'noRows, maxShrink'],
  ['an empty sheet', smallWorkbook([]), 'empty, noRows, maxShrink'],
  ['a lone carriage return in a quoted cell', FILE.replace('דנה 7,', '"Dana\r7",'), 'PUBLISHED'],
  ['equal rows in gzip', gzipSync(HEADER + `1,${'x'.repeat(5000)},1\n`.repeat(240)), 'PUBLISHED'],
  ['an error as its last line', `${FILE}ERROR: canceling statement\n`, 'lastRecord'],
  ['JSON as its last line', `${FILE}{"error":"timeout"}`, 'lastRecord, lastLineBreak'],
  ['a cut record', FILE.slice(0, -20), 'lastRecord, lastLineBreak'],
  ['a record cut in its last cell', FILE.slice(0, -3), 'lastLineBreak'],
  ['a cut inside quotation marks', `${FILE}240,"Da`, 'FileRejected'],
  ['gzip with a flipped byte', flipped, 'FileRejected'],
  ['required columns that are missing', WITHOUT_LAST, 'required, header', STRICT],
  ['required columns under their labels', FILE.replace(HEADER, 'מזהה,שם,טלפון\n'), 'PUBLISHED', STRICT],
])('%s ends as expected', async (_, bytes, outcome, setting) => {
  const end = await night(bytes, setting);

  expect(outcomeOf(end), end.cause).toBe(outcome);
});

const TOTAL = `${FILE}Total,240\n`;
const OTHER_HEADER = FILE.replace(HEADER, 'Nummer,Wer,Telefon\n');

test.each<[what: string, bytes: string | Uint8Array, stoppedBy: string, rows: number, setting?: Setting]>([
  ['a last line with the total', TOTAL, 'lastRecord', 241],
  ['an unlisted header', OTHER_HEADER, 'header, unknownHeader', 240, { leads: { drift: { removed: 'stop' } } }],
  ['a sheet whose header has an unlisted text', book(240, ['id', 'name', 'Mobil']), 'unknownHeader', 240],
])('%s is quarantined until one release, then published', async (_, bytes, stoppedBy, count, setting) => {
  const { next, release, ...first } = await night(bytes, setting);
  expect(outcomeOf(first), first.cause).toBe(stoppedBy);
  expect(await release()).toMatchObject({ ended: 'PUBLISHED' });

  const second = await next(bytes);

  expect(outcomeOf(second), second.cause).toBe('PUBLISHED');
  expect(second.manifest?.file).toMatchObject({ header: COLUMNS, rows: count });
  if (bytes === OTHER_HEADER)
    expect(outcomeOf(await next(OTHER_HEADER.replace('Wer', 'Wen')))).toBe('header, unknownHeader');
});

test('a released header keeps its columns after the CRM lists another field, or the fields in another order', async () => {
  const header = ['#id', ...WIDE_COLUMNS.slice(1)];
  const bytes = `${header}\n${`1,a,b,c,d,e,f\n`.repeat(240)}`;
  const setting = { columns: WIDE_COLUMNS };
  const { next, release } = await night(bytes, { ...setting, before: [bytes.replace('#', '')] });
  expect(await release()).toMatchObject({ ended: 'PUBLISHED' });

  for (const columns of [[...WIDE_COLUMNS, 'email'], WIDE_COLUMNS.toReversed()]) {
    const listed = { others: [], labels: null, types: null, complete: true };
    const end = await next(bytes, { run: { request: { columns }, listed, excepted: [] } });
    expect(outcomeOf(end), end.cause).toBe('PUBLISHED');
    expect(end.manifest?.file.header).toEqual(WIDE_COLUMNS);
  }
});

/** A file of two columns. @param end of its last row */
const leads = (count: number, end = '\n') => HEADER + rows(count).slice(0, -1) + end;

test('a rerun on the date of a new normal is compared with the released file', async () => {
  const { next, release } = oddNights();
  for (const count of [240, 60]) await next(leads(count));
  expect(await release(true)).toMatchObject({ ended: 'PUBLISHED' });

  const again = (count: number) => next(leads(count), { date: '2026-11-11', execution: `again-${count}` });
  expect([outcomeOf(await again(2)), outcomeOf(await again(61))]).toEqual(['maxShrink', 'PUBLISHED']);
});

test('releasing a short file without a final line break does not accept that ending for later files', async () => {
  const { next, release } = oddNights();
  for (const count of [240, 240, 40]) await next(leads(count, ''));
  expect(await release()).toMatchObject({ ended: 'PUBLISHED' });
  await next(leads(240));

  expect(outcomeOf(await next(leads(240, '')))).toBe('lastLineBreak');
});

test('a released empty file does not change the expected ending: the file before it decides', async () => {
  const { next, release } = await night('');
  expect(await release()).toMatchObject({ ended: 'PUBLISHED' });

  expect(outcomeOf(await next(leads(240, '')))).toBe('lastLineBreak');
});

test('a spreadsheet does not make a CSV file after it need a final line break', async () => {
  expect(outcomeOf(await night(leads(240, ''), { before: [leads(240, ''), book(240)] }))).toBe('PUBLISHED');
});

test('files without a header get no warning if the configuration says header: none', async () => {
  const bytes = '1,name,2026-11-20\n'.repeat(50);

  expect(await night(bytes, { leads: { columns: { header: 'none' } }, before: [bytes] })).toMatchObject({
    ended: 'PUBLISHED',
    warnings: [],
  });
});
