import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { findManifest } from '../../../cli/data/find-manifest.ts';
import { firstRows, rowsText } from '../../../cli/data/peek.ts';
import { createManifests } from '../../../cli/data/stored-manifests.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { smallWorkbook, workbookFile } from '../../support/workbook.ts';
import { zipOfTexts } from '../../support/zip.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';

const FILE = 'runs/entity=leads/run=leads-night/leads.csv';
const FIELDS = [
  { name: 'id', type: 'guid', label: 'Number' },
  { name: 'name', type: 'text', label: null },
  { name: 'phone', type: 'text', label: 'Telephone' },
];
const DIALECT = { encoding: 'utf-8', byteOrderMark: false, separator: ',', separatorLine: false, lineBreak: 'lf' };

/** Runs the command on a published file. `file` changes its entry in the manifest. */
async function setting(
  content: string | Buffer,
  file: Partial<Manifest['file']> = {},
  other: { warnings?: string[]; fields?: typeof FIELDS } = {},
) {
  const cloud = await awsWithTarget();
  cloud.publish({ content, manifest: { fields: FIELDS, ...other, file } });
  const rows = async () => firstRows(cloud.target, await findManifest(createManifests(cloud.target), 'leads', {}), 10);
  return { ...cloud, rows };
}

test('peek prints columns with type and label, size, warnings and the first ten rows', async () => {
  const rows = Array.from({ length: 12 }, (_, row) => `${row},name ${row}\n`).join('');
  const { cli } = await setting(`id,name\n${rows}`, { rows: 12 }, { warnings: ['A column came.'] });
  const { code, stdout, stderr } = await cli('peek', 'leads');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^leads of 2026-11-20 \(leads-night\): 12 rows, \d+ B\.\n/);
  expect(stdout).toContain('  Column  Type  Label\n  id      guid  Number\n  name    text\n');
  expect(stdout).toContain('First 10 rows:\n  id  name\n  0   name 0\n');
  expect(stdout).toContain('  9   name 9\n');
  expect(stdout).not.toContain('name 10');
  expect(stderr).toBe('Warning: A column came.\n');
});

test('peek requests a large file once, and ends the request after the rows that it shows', async () => {
  const wide = Array.from({ length: 1000 }, (_, row) => `${row},${'x'.repeat(20_000)}\n`).join('');
  const { rows, asked } = await setting(`id,name\n${wide}`);
  expect((await rows()).map(([id]) => id)).toEqual(Array.from({ length: 10 }, (_, row) => String(row)));
  expect(asked.filter((call) => call.startsWith(`GetObject ${FILE}`))).toEqual([`GetObject ${FILE}`]);
});

test.each<[string, string | Buffer, Partial<Manifest['file']['dialect']>, string?]>([
  ['semicolons after a "sep=" line', 'sep=;\r\nid;name\r\n1;a,b\r\n', { separator: ';', separatorLine: true }],
  ['UTF-16 with a byte order mark', Buffer.from('\ufeffid,name\n1,"a,b"', 'utf16le'), { encoding: 'utf-16le' }],
  ['empty lines', 'id,name\n\n1,"a,b"\n', {}],
  ['gzip', gzipSync('id,name\n1,"a,b"\n'), {}, 'gzip'],
])('peek reads a file with %s', async (_, content, dialect, compression) => {
  const file = { compression: compression ?? null, dialect: { ...DIALECT, ...dialect } };
  const { rows } = await setting(content, file);
  expect(await rows()).toEqual([['1', 'a,b']]);
});

test('peek shows a file with an unknown header from its first record, and lists the requested columns', async () => {
  const { cli } = await setting('1,a\n2,b\n', { header: null });
  const { stdout, stderr } = await cli('peek', 'leads');
  expect(stdout).toContain('First 2 rows:\n  (1)  (2)\n  1    a\n  2    b\n');
  expect(stderr).toContain('These are the requested columns');
});

test('peek shows a file without a header, as configured, below the requested columns', async () => {
  const { cli } = await setting(
    '1,a\n2,b\n',
    { header: null, content: { ...CONTENT_NOT_READ, headed: false, width: 2 } },
    { fields: FIELDS.slice(0, 2) },
  );
  const { stdout, stderr } = await cli('peek', 'leads');
  expect(stdout).toContain('First 2 rows:\n  id  name\n  1   a\n  2   b\n');
  expect(stderr).toBe('Warning: The file has no header. These are the requested columns, in the requested order.\n');
});

test.each<[string, (content: Buffer) => Buffer, string | null]>([
  ['as it is', (content) => content, null],
  ['alone in a zip archive', (content) => zipOfTexts({ 'leads.xlsx': content }), 'zip'],
])(
  'peek shows the first rows of a spreadsheet %s below its header, and skips rows above it',
  async (_, packed, compression) => {
    const expected = Array.from({ length: 12 }, (_row, row) => [String(row), `name ${row}`]);
    const workbook = smallWorkbook([['Leads'], ['id', 'name'], ...expected]);
    const file = { ...(await workbookFile(workbook, ['id', 'name'])), compression };
    const { cli, rows } = await setting(packed(workbook), file);
    expect(await rows()).toEqual(expected.slice(0, 10));
    expect((await cli('peek', 'leads')).stdout).toContain('First 10 rows:\n  id  name\n  0   name 0\n');
    expect((await cli('peek', 'leads', '--columns')).stderr).toBe('');
  },
);

test('peek shows the first rows of a CSV file alone in a zip archive', async () => {
  const { rows } = await setting(zipOfTexts({ 'leads.csv': 'id,name\n1,a\n' }), { compression: 'zip' });
  expect(await rows()).toEqual([['1', 'a']]);
});

test('peek reports a damaged spreadsheet in one sentence', async () => {
  const workbook = smallWorkbook([
    ['id', 'name'],
    ['1', 'Ann'],
  ]);
  const { cli } = await setting(workbook.subarray(0, -30), await workbookFile(workbook, ['id', 'name']));
  const { code, stdout, stderr } = await cli('peek', 'leads');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^The file runs\/\S+ .*\. To get it as it is, use download without --excel\.\n$/);
});

test('peek does not count a column without a name', async () => {
  const { cli } = await setting('id,,name\n1,,a\n', { header: ['id', '', 'name'] });
  expect((await cli('peek', 'leads', '--columns')).stdout).toContain(': 2 columns; the CRM lists 1 column more.\n');
});

test.each([
  ['xls', ['--columns']],
  ['archive', []],
])('a file of the kind %s is reported as not readable in one sentence: peek %j', async (format, options) => {
  const { cli } = await setting('PK', { format, header: null, rows: null });
  const { code, stdout, stderr } = await cli('peek', 'leads', ...options);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(
    new RegExp(`^The leads of 2026-11-20 are a file of the kind ${format}, which the command cannot read. .*\\.\n$`),
  );
});

test('peek of an empty file shows columns and no rows', async () => {
  const { cli } = await setting('', { format: null, rows: 0, header: null });
  expect(await cli('peek', 'leads')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/: 0 rows, 0 B\..*id .*The file has no row/s),
  });
});

test('peek --columns does not read the file, and counts the columns that the file does not have', async () => {
  const { cli, asked } = await setting('id,name\n1,a\n');
  const { stdout } = await cli('peek', 'leads', '--columns');
  expect(stdout).toBe(
    'leads of 2026-11-20 (leads-night): 2 columns; the CRM lists 1 column more.\n\n' +
      '  Column  Type  Label\n  id      guid  Number\n  name    text\n',
  );
  expect(asked.filter((call) => call.includes(FILE))).toEqual([]);
});

test.each([[[]], [['--columns']]])('peek %j says in one sentence that no export is published yet', async (options) => {
  const { cli } = await awsWithTarget();
  const { code, stdout, stderr } = await cli('peek', 'leads', ...options);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^No export of leads is published yet\. [^\n]*\n$/);
});

test('rows fit the terminal: long cells are cut, and columns without room are counted', () => {
  const rows = [['1', 'a'.repeat(30), 'b\nc']];
  expect(rowsText(['id', 'name', 'note'], rows, 80)).toBe(
    `First 1 row:\n  id  name${' '.repeat(22)}note\n  1   ${'a'.repeat(23)}…  b c`,
  );
  expect(rowsText(['id', 'name', 'note'], rows, 20)).toBe(
    'First 1 row:\n  id\n  1\nNot shown: 2 more columns. Use a wider terminal.',
  );
});
