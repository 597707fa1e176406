import { execFile } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { fileSource } from '../../core/file/byte-source.ts';
import { fileRecords } from '../../core/file/file-records.ts';
import { tempDir } from '../support/project.ts';
import { pythonWith } from '../support/python-with.ts';
import { TEST_SEED } from '../support/seeds.ts';
import { AMPLE, all, readSheet } from '../support/workbook.ts';

const COUNT = process.env.CI ? 300 : 1500;
const LARGEST_BYTES = 512 * 1024 * 1024;

const madeSchema = z.object({
  file: z.string(),
  columns: z.array(z.string()),
  above: z.int(),
  elsewhere: z.int(),
  records: z.array(z.array(z.string())),
});

/** The workbooks have hidden sheets, with names of their own, and formulas; nothing else may count as text elsewhere. */
const EXPECTED_KINDS = ['hidden sheets', 'a name of a sheet', 'formulas'];

async function facts({ file, columns }: z.infer<typeof madeSchema>) {
  await using opened = await open(file);
  const source = await fileSource(opened);
  const { header, content, rows } = await readSheet(source, columns);
  const records = await all(fileRecords(source, { format: 'xlsx', compression: null, dialect: null, content }, AMPLE));
  const kinds = content.elsewhereKinds.filter((kind) => !EXPECTED_KINDS.includes(kind));
  const hidden = content.elsewhereKinds.includes('hidden sheets');
  return { header, rows, rowsAbove: content.rowsAbove, hidden, kinds, records };
}

test(`reads every cell of ${COUNT} workbooks of openpyxl and XlsxWriter as openpyxl reads it`, async () => {
  const python = await pythonWith('workbooks', 'long');
  const script = join(import.meta.dirname, 'support', 'workbooks.py');
  const args = ['-I', script, await tempDir(), String(COUNT), String(TEST_SEED)];
  const { stdout } = await promisify(execFile)(python, args, { maxBuffer: LARGEST_BYTES });
  const made = stdout
    .trim()
    .split('\n')
    .map((line) => madeSchema.parse(JSON.parse(line)));
  expect(made).toHaveLength(COUNT);
  for (const workbook of made) {
    const { columns, above, elsewhere, records } = workbook;
    const rows = records.length - 1;
    const wanted = { header: columns, rows, rowsAbove: above, hidden: elsewhere > 0, kinds: [], records };
    expect(await facts(workbook)).toEqual(wanted);
  }
});
