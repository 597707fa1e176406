import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { findManifest } from '../../../cli/data/find-manifest.ts';
import { firstRows, rowsText } from '../../../cli/data/peek.ts';
import { createManifests } from '../../../cli/data/stored-manifests.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { DIALECT, type ManifestChanges, stoppedBy } from '../../support/manifests.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { smallWorkbook, workbookFile } from '../../support/workbook.ts';
import { zipOfTexts } from '../../support/zip.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';

const FILE = 'runs/entity=leads/run=leads-night/leads.csv';
const FIELDS = [
  { name: 'id', type: 'guid', label: 'Number' },
  { name: 'name', type: 'text', label: null },
  { name: 'phone', type: 'text', label: 'Telephone' },
];

/** Runs the command on a published file. `file` changes its entry in the manifest. */
async function setting(content: string | Buffer, file: Partial<Manifest['file']> = {}, other: ManifestChanges = {}) {
  const cloud = await awsWithTarget();
  cloud.publish({ content, manifest: { fields: FIELDS, ...other, file } });
  const rows = async () => firstRows(cloud.target, await findManifest(createManifests(cloud.target), 'leads', {}), 10);
  return { ...cloud, rows };
}

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

test('peek says which columns a file has, or why it cannot be read', async () => {
  const workbook = smallWorkbook([
    ['id', 'name'],
    ['1', 'Ann'],
  ]);
  const damaged = await workbookFile(workbook, ['id', 'name']);
  const headless = { header: null, content: { ...CONTENT_NOT_READ, headed: false, width: 2 } };
  const two = { fields: FIELDS.slice(0, 2) };
  const empty = { format: null, rows: 0, header: null };
  const warned = { warnings: ['The file is empty.'] };
  const twelve = Array.from({ length: 12 }, (_, row) => `${row},name ${row}\n`).join('');
  const rows: [what: string, options: string[], ...Parameters<typeof setting>][] = [
    ['twelve rows', [], `id,name\n${twelve}`, { rows: 12 }, { warnings: ['A column came.'] }],
    ['two of three columns', ['--columns'], 'id,name\n1,a\n'],
    ['an unknown header', [], '1,a\n2,b\n', { header: null }],
    ['no header, as configured', [], '1,a\n2,b\n', headless, two],
    ['a column without a name', ['--columns'], 'id,,name\n1,,a\n', { header: ['id', '', 'name'] }],
    ['an empty file', [], '', empty, warned],
    ['an empty file, released', [], '', empty, { ...warned, ...stoppedBy('empty', { measured: 0 }) }],
    ['a damaged spreadsheet', [], workbook.subarray(0, -30), damaged],
    ['a file of Excel 97', ['--columns'], 'PK', { format: 'xls', header: null, rows: null }],
    ['an archive', [], 'PK', { format: 'archive', header: null, rows: null }],
  ];
  const results = [];
  for (const [what, options, ...published] of rows) {
    const { cli, asked } = await setting(...published);
    results.push([what, await cli('peek', 'leads', ...options)] as const);
    if (options.includes('--columns')) expect(asked.filter((call) => call.includes(FILE))).toEqual([]);
  }
  const { cli } = await awsWithTarget();
  results.push(['nothing published', await cli('peek', 'leads', '--columns')] as const);

  await expectResults('peek', results);
});

test('rows fit the terminal: long cells are cut, and columns without room are counted', async () => {
  const rows = [['1', 'a'.repeat(30), 'b\nc']];
  await expectTexts('peek-widths', [
    ['80 columns', rowsText(['id', 'name', 'note'], rows, 80)],
    ['20 columns', rowsText(['id', 'name', 'note'], rows, 20)],
  ]);
});
