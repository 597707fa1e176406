import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { startOf } from '../../../core/file/byte-source.ts';
import { gunzipped } from '../../../core/file/gunzip.ts';
import { readContent } from '../../../core/file/read-content.ts';
import { expectLinearTime } from '../../support/linear-time.ts';
import { bytesSource, reading } from '../../support/reading.ts';

const EXCEPTED = [{ name: 'idNumber', label: null }];
const ROWS = '1,a\n'.repeat(100);
const below = (row: string) => `id,name\n${ROWS}${row}\n`;

/** The largest header is 1 MiB with the record after it. */
test.each<[string, number, (size: number) => string | Uint8Array]>([
  ['nameless columns', 40_000, (size) => `id,name${','.repeat(size)}\n${ROWS}`],
  ['short rows below nameless columns', 40_000, (size) => `${'id,,'.repeat(size / 2)}id\n${'a\n'.repeat(size)}`],
  ['columns of one name', 40_000, (size) => `${'id,'.repeat(size)}\n${ROWS}`],
  ['columns with long paths', 1000, (size) => `id,${`${'.a'.repeat(40)},`.repeat(size)}\n${ROWS}`],
  ['records of one character', 500_000, (size) => `id\n${'a\n'.repeat(size)}`],
  ['names in one record', 40_000, (size) => below('id,'.repeat(size))],
  ['left-out names in one cell', 1500, (size) => below(`"${'idNumber;'.repeat(size)}"`)],
  ['left-out names after a word', 1000, (size) => `${'id,'.repeat(size)}\n${'x_idNumber,'.repeat(size)}\n${ROWS}`],
  ['left-out names in the lines of one cell', 20_000, (size) => below(`1,"${'idNumber x,a\n'.repeat(size)}"`)],
  ['quotation marks beside a left-out name', 100_000, (size) => below(`1,"{idNumber${'""a'.repeat(size)}"`)],
  ['blanks beside a left-out name', 200_000, (size) => below(`1,"{idNumber""a""${' '.repeat(size)}"`)],
  ['long alike cells', 30_000, (size) => below(['a', 'b'].map((end) => `${'idNumber '.repeat(size)}${end}`).join())],
  ['backslashes beside a left-out name', 100_000, (size) => below(`1,"{idNumber ${'\\'.repeat(size)}"`)],
  ['line breaks beside a left-out name', 100_000, (size) => below(`"idNumber${'\n'.repeat(size)}x.",name`)],
  ['characters with the code 0', 2_000_000, (size) => below('a\0'.repeat(size))],
  ['dots in rows', 800_000, (size) => below(`java${'.a'.repeat(250)},1\n`.repeat(size / 250))],
  ['gzip members', 25_000, (size) => Buffer.concat([gzipSync(below('2,b')), ...Array(size).fill(gzipSync('1,a\n'))])],
])('reads %s in linear time', async (_, size, make) => {
  await expectLinearTime(size, make, (bytes) =>
    readContent(bytesSource(bytes), reading({ expected: { excepted: EXCEPTED } })),
  );
});

test('a record of characters with the code 0 between others is read', async () => {
  const { facts } = await readContent(bytesSource(below(`1,${'a\0'.repeat(1_000_000)}`)), reading());

  expect(facts).toMatchObject({ rows: 101, content: { nulRun: 1 } });
});

test('many small gzip members need less than 100 MB of memory', async () => {
  const members = Buffer.concat(Array(50_000).fill(gzipSync('1,a\n')));
  const used: number[] = [];
  const onHeader = () => used.push(process.memoryUsage().arrayBuffers);
  await startOf(gunzipped(bytesSource(members).read(0, members.length), onHeader));

  expect(Math.max(...used)).toBeLessThan(100_000_000);
});
