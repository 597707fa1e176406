import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readContent } from '../../../core/file/read-content.ts';
import { bytesSource, reading } from '../../support/reading.ts';

const EXCEPTED = [{ name: 'idNumber', label: null }];
const ROWS = '1,a\n'.repeat(100);
const below = (row: string) => `id,name\n${ROWS}${row}\n`;

/** CPU time in milliseconds. Reading a file that is not accepted ends early. */
async function cpuOf(bytes: string | Uint8Array): Promise<number> {
  const began = process.cpuUsage();
  await readContent(bytesSource(bytes), reading({ expected: { excepted: EXCEPTED } })).catch(() => undefined);
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

/** The largest header is 1 MiB with the record after it. */
test.each<[string, number, (size: number) => string | Uint8Array]>([
  ['nameless columns', 400_000, (size) => `id,name${','.repeat(size)}\n${ROWS}`],
  ['columns of one name', 50_000, (size) => `${'id,'.repeat(size)}\n${ROWS}`],
  ['columns with long paths', 1000, (size) => `id,${`${'.a'.repeat(40)},`.repeat(size)}\n${ROWS}`],
  ['records of one character', 500_000, (size) => `id\n${'a\n'.repeat(size)}`],
  ['names in one record', 2_500_000, (size) => below('id,'.repeat(size))],
  ['characters with the code 0', 2_000_000, (size) => below('a\0'.repeat(size))],
  ['dots in rows', 100_000, (size) => below(`java${'.a'.repeat(250)},1\n`.repeat(size / 250))],
  [
    'members of gzip',
    50_000,
    (size) => Buffer.concat([gzipSync(below('2,b')), ...new Array(size).fill(gzipSync('1,a\n'))]),
  ],
])('eight times as many %s take at most 24 times as long', async (_, size, make) => {
  // Large buffers make V8 collect the garbage of other tests, which can triple a measurement. Quadratic time is 64 times.
  const [small, large] = [make(size / 4), make(2 * size)];
  await cpuOf(small);
  let [once, eightTimes] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // A single measurement may contain a collection of garbage, or work of another test.
  for (let round = 0; round < 4; round += 1) {
    once = Math.min(once, await cpuOf(small));
    eightTimes = Math.min(eightTimes, await cpuOf(large));
  }

  expect(eightTimes).toBeLessThan(24 * Math.max(20, once));
});

test('a record of characters with the code 0 between others is read', async () => {
  const { facts } = await readContent(bytesSource(below(`1,${'a\0'.repeat(1_000_000)}`)), reading());

  expect(facts.content).toMatchObject({ rows: 101, nulRun: 1 });
});
