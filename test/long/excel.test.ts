import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { workbookOf } from '../../cli/data/excel.ts';
import { fileSource } from '../../core/file/byte-source.ts';
import { aws } from '../cli/support/cloud/cloud.ts';
import { WITHOUT_AWS } from '../cli/support/run-cli.ts';
import { awkwardTexts } from '../support/awkward-texts.ts';
import { tempDir } from '../support/project.ts';
import { pythonWith } from '../support/python-with.ts';
import { all, readSheet } from '../support/workbook.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const WORKBOOKS = process.env.CI ? 20 : 100;
/** A whole sheet without its header; CI uses fewer rows and the same limit. */
const ROWS = process.env.CI ? 100_000 : 1_048_575;
const COLUMNS = Array.from({ length: 20 }, (_, column) => `column${column}`);
const LIMIT_MB = 256;
/** A slow core needs six minutes to make, write and read a whole sheet. */
const WITHIN_MS = 1_200_000;

async function* streamed<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values;
}

test('openpyxl reads every written cell as the same text', async () => {
  const python = await pythonWith('workbooks', 'long');
  const texts = fc.array(fc.tuple(awkwardTexts, awkwardTexts), { minLength: 50, maxLength: 50 });
  const drafts = fc.sample(texts, WORKBOOKS);
  const written = drafts.map((rows) => [['id', 'a', 'b'], ...rows.map(([a, b], row) => [String(row), a, b])]);
  const directory = await tempDir();
  const paths: string[] = [];
  for (const [place, rows] of written.entries()) {
    const path = join(directory, `${place}.xlsx`);
    writeFileSync(path, await all(workbookOf('leads', streamed(rows))).then(Buffer.concat));
    paths.push(path);
  }
  const script = join(import.meta.dirname, 'support', 'texts_of_workbooks.py');
  const { stdout } = await run(python, ['-I', script, ...paths], { maxBuffer: 2 ** 30 });

  const read = stdout.trimEnd().split('\n');
  // The sheet omits trailing columns that are empty in all rows.
  const filled = (line: string) => JSON.parse(line).map(([id = '', a = '', b = '']: string[]) => [id, a, b]);
  expect(read.map(filled)).toEqual(written);
});

function* lines(): Generator<string> {
  yield `${COLUMNS.join(',')}\n`;
  for (let row = 0; row < ROWS; row += 1) {
    const cells = COLUMNS.map((_, column) => {
      if (column % 3 === 0) return `+97250${(row * 7919 + column) % 9_999_999}`;
      return column % 3 === 1 ? `person${row}.${column}@example.com` : 'דנה כהן';
    });
    yield `${cells.join(',')}\n`;
  }
}

test(
  `download --excel of ${ROWS} rows takes less than ${LIMIT_MB} MB of memory`,
  async () => {
    const content = await buffer(Readable.from(lines()).pipe(createGzip({ level: 1 })));
    const cloud = await aws();
    cloud.publish({ content, manifest: { file: { header: COLUMNS, compression: 'gzip' } } });
    const directory = await tempDir();
    const [path, peak] = [join(directory, 'leads'), join(directory, 'peak')];
    const measured = ['--import', join(import.meta.dirname, 'support', 'peak-memory.ts')];
    const args = ['download', 'leads', '--excel', '-o', path, ...cloud.place];

    await run(process.execPath, [...measured, join(ROOT, 'cli', 'main.js'), ...args], {
      env: { ...process.env, ...WITHOUT_AWS, PEAK_MEMORY_FILE: peak },
    });

    expect(Number(readFileSync(peak, 'utf8'))).toBeLessThan(LIMIT_MB);
    await using file = await open(path);
    const read = await readSheet(await fileSource(file), COLUMNS);
    expect(read.rows).toEqual(ROWS);
  },
  WITHIN_MS,
);
