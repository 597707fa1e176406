import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nightKey } from '../../../core/night/night-record.ts';
import { manifestKeyOf } from '../../support/manifests.ts';
import { tempDir } from '../../support/project.ts';
import { expectTexts } from '../../support/screen.ts';
import { readWorkbook } from '../../support/workbook.ts';
import { aws } from '../support/cloud/cloud.ts';

/** Leads of two dates and contacts of the first, and `download --all` into an empty directory. */
async function setting() {
  const cloud = await aws();
  cloud.publish({ entity: 'contacts', date: '2026-11-19' });
  cloud.publish({ entity: 'leads', date: '2026-11-19', execution: 'old', content: 'id,name\n7,g\n' });
  const newest = cloud.publish({ entity: 'leads', date: '2026-11-20' });
  const directory = await tempDir();
  const all = (...args: string[]) => cloud.cli('download', '--all', '-o', directory, ...args);
  return { ...cloud, newest, directory, all };
}

test('download --all downloads the newest file of every entity, of any date', async () => {
  const { directory, all } = await setting();
  expect((await all()).code).toBe(0);
  expect(await readdir(directory)).toEqual(['contacts-2026-11-19.csv', 'leads-2026-11-20.csv']);
});

test('download --all --date downloads the files of that date, also as workbooks', async () => {
  const { directory, all } = await setting();
  expect((await all('--date', '2026-11-19', '--excel')).code).toBe(0);
  expect(await readdir(directory)).toEqual(['contacts-2026-11-19.excel.xlsx', 'leads-2026-11-19.excel.xlsx']);
  const { records } = await readWorkbook(await readFile(join(directory, 'leads-2026-11-19.excel.xlsx')), [
    'id',
    'name',
  ]);
  expect(records).toEqual([
    ['id', 'name'],
    ['7', 'g'],
  ]);
});

test('if an entity has no file of the date, the others are downloaded and the exit code is 1', async () => {
  const { directory, all } = await setting();
  const { code, stdout, stderr } = await all('--date', '2026-11-20', '--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    files: [expect.objectContaining({ entity: 'leads', date: '2026-11-20', whole: true })],
    missing: [{ entity: 'contacts', error: stderr.trimEnd() }],
    revision: null,
  });
  expect(await readdir(directory)).toEqual(['leads-2026-11-20.csv']);
});

test('--date downloads the files of the recorded night, even if a pointer has moved since', async () => {
  const { directory, all, objects, publish, newest } = await setting();
  const { key, rows, bytes, crc32 } = newest.file;
  const file = { run: newest.execution, manifestKey: manifestKeyOf(newest.execution), key, rows, bytes, crc32 };
  const marked = { file: null, tableVersion: null, table: null, error: null };
  const entities = { leads: { ...marked, file }, workflows: { ...marked, error: 'CrmUnavailable' } };
  const night = { schemaVersion: 2, date: '2026-11-20', revision: 4, complete: false, entities };
  objects.set(nightKey('2026-11-20'), Buffer.from(JSON.stringify(night)));
  publish({ entity: 'leads', date: '2026-11-20', execution: 'later', content: 'id,name\n8,h\n' });

  const { code, stdout, stderr } = await all('--date', '2026-11-20', '--json');

  const { missing, revision } = JSON.parse(stdout);
  expect([code, revision]).toEqual([1, 4]);
  expect(missing.map(({ entity }: { entity: string }) => entity)).toContain('workflows');
  expect(missing.map(({ error }: { error: string }) => `${error}\n`).join('')).toBe(stderr);
  await expectTexts('download-night', [['a recorded night with a failed run and an entity without a run', stderr]]);
  expect(await readFile(join(directory, 'leads-2026-11-20.csv'), 'utf8')).not.toContain('8,h');
});

test('a corrupt file does not stop the others, and does not get its final name', async () => {
  const { directory, all, objects } = await setting();
  objects.set('runs/entity=contacts/run=contacts-night/contacts.csv', Buffer.from('id,name\n1,b\n'));
  expect((await all()).code).toBe(1);
  const names = await readdir(directory);
  expect(names).toContain('leads-2026-11-20.csv');
  expect(names).not.toContain('contacts-2026-11-19.csv');
});

test('writes no file if one already exists, or if one cannot become a workbook', async () => {
  const { directory, all, publish, newest } = await setting();
  await writeFile(join(directory, 'leads-2026-11-20.csv'), 'mine');
  expect(await all()).toMatchObject({ code: 2 });
  publish({ date: '2026-11-20', manifest: { file: { ...newest.file, format: 'xls' } } });
  expect(await all('--excel')).toMatchObject({ code: 1 });
  expect(await readdir(directory)).toEqual(['leads-2026-11-20.csv']);
});
