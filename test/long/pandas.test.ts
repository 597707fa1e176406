import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { folderForAll } from '../lib/support/files.ts';
import { fencedBlock } from '../support/fenced-block.ts';
import { pythonWith } from '../support/python-with.ts';

/** Tests the line for pandas in docs/reading.md, and its column in the table of dialects. */

const DOCUMENT = 'docs/reading.md';
const LINE = fencedBlock(DOCUMENT, '### pandas', 'python');
const PRINT = 'import json; print(json.dumps([list(leads.columns), leads.values.tolist()]))';
const NAMES = ['id', 'phone', 'name'];
const RECORDS = [
  ['1', '0501234567', 'דנה, "ד"'],
  ['2', 'NA', 'two\nlines'],
];
const csv = (separator: string) =>
  [NAMES, ['1', '0501234567', '"דנה, ""ד"""'], ['2', 'NA', '"two\nlines"']]
    .map((cells) => `${cells.join(separator)}\r\n`)
    .join('');
const CSV = csv(',');

const dir = folderForAll();
const python = await pythonWith('pandas', 'long/support/pandas');

/** Reads with the documented line and another argument of the table of dialects. */
async function read(content: string | Buffer, argument = 'nothing'): Promise<[names: unknown[], rows: unknown[][]]> {
  writeFileSync(join(dir, 'leads.csv'), content);
  const [, option] = /^`(.*)`$/.exec(argument) ?? [];
  const line = option ? LINE.replace(/\)\n/, `, ${option})\n`) : LINE;
  const { stdout } = await promisify(execFile)(python, ['-I', '-c', line + PRINT], { cwd: dir });
  return JSON.parse(stdout);
}

/** The pandas cell of the row of the table of dialects with this prefix. */
function pandasCell(says: string): string {
  const rows = readFileSync(DOCUMENT, 'utf8').split('\n');
  return rows.find((row) => row.startsWith(`| \`${says}`))?.split(' | ')[1] ?? '';
}

test.each([
  ['UTF-8 with commas', undefined, CSV],
  ['"separator": ";"', '"separator": ";"', csv(';')],
  ['"separatorLine": true', '"separatorLine": true', `sep=,\r\n${CSV}`],
  ['a byte order mark', '"encoding": "utf-8"', `\ufeff${CSV}`],
  ['UTF-16', '"encoding": "utf-16le"', Buffer.from(`\ufeff${CSV}`, 'utf16le')],
  ['UTF-16 big-endian', '"encoding": "utf-16be"', Buffer.from(`\ufeff${CSV}`, 'utf16le').swap16()],
  ['gzip', '"compression": "gzip"', gzipSync(CSV)],
  ['titles above the header', '"content": {"rowsAbove": 2}', `Leads\r\nof November\r\n${CSV}`],
])('pandas reads every cell unchanged from a file with %s', async (_, says, content) => {
  expect(await read(content, says && pandasCell(says))).toEqual([NAMES, RECORDS]);
});

test('pandas reads windows-1255, broken bytes and files without a header as documented', async () => {
  const hebrew = Buffer.from([...Buffer.from('id,name\n1,'), 0xe3, 0xf0, 0xe4, 10]);

  expect((await read(hebrew, pandasCell('"encoding": "windows-1255"')))[1]).toEqual([['1', 'דנה']]);
  expect((await read(hebrew, pandasCell('"content": {"broken"')))[1]).toEqual([['1', '\ufffd'.repeat(3)]]);
  expect((await read('1,0501\n2,NA\n', pandasCell('"header": null')))[1]).toEqual([
    ['1', '0501'],
    ['2', 'NA'],
  ]);
});

test.each([
  ['line breaks of two kinds', 'id,name\r\n1,a\n2,b\n'],
  ['a longer first row', 'id,name\n1,a,x\n2,b\n'],
  ['a longer later row', 'id,name\n1,a\n2,b,x\n'],
  ['an empty cell beyond the header', 'id,name\n1,a,\n2,b\n'],
  ['a quotation mark inside a cell', 'id,name\n1,בע"מ\n2,b\n'],
])('pandas reads every id into its column, or fails, for a file with %s', async (_, content) => {
  const result = await read(content).catch((error: Error) => error);

  if (!(result instanceof Error)) expect(result[1].map(([id]) => id)).toEqual(['1', '2']);
});
