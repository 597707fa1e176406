import { expect, test } from 'vitest';
import { nightsOf } from '../../support/nights.ts';
import { smallWorkbook } from '../../support/workbook.ts';

const day = (number: number) => `2026-11-${String(number).padStart(2, '0')}`;
const records = (rows: number) => Array.from({ length: rows }, (_, place) => [String(place + 1), `name ${place}`]);
const csv = (rows: string[][], end = '\n') => rows.map((cells) => cells.join(',')).join('\n') + end;
const leads = (rows: number, end = '\n') => csv([['id', 'name'], ...records(rows)], end);

async function after(...files: (string | Uint8Array)[]) {
  const nights = nightsOf();
  for (const [place, bytes] of files.entries()) await nights.night({ date: day(place + 1), bytes });
  return nights;
}

test('releasing a short file without a final line break does not accept that ending for later files', async () => {
  const nights = await after(leads(240, ''), leads(240, ''), leads(40, ''));
  expect(await nights.release(`of-${day(3)}`)).toMatchObject({ ended: 'PUBLISHED' });
  expect(await nights.night({ date: day(4), bytes: leads(240) })).toMatchObject({ ended: 'PUBLISHED' });

  expect(await nights.night({ date: day(5), bytes: leads(240, '') })).toMatchObject({ stoppedBy: ['lastLineBreak'] });
});

test('a released empty file does not change the expected ending: the file before it decides', async () => {
  const nights = await after(leads(240), '');
  expect(await nights.release(`of-${day(2)}`)).toMatchObject({ ended: 'PUBLISHED' });

  expect(await nights.night({ date: day(3), bytes: leads(240, '') })).toMatchObject({ stoppedBy: ['lastLineBreak'] });
});

test('a spreadsheet does not make a CSV file after it need a final line break', async () => {
  const nights = await after(leads(240, ''), smallWorkbook([['id', 'name'], ...records(240)]));

  expect(await nights.night({ date: day(3), bytes: leads(240, '') })).toMatchObject({ ended: 'PUBLISHED' });
});

test('files without a header get no warning if the configuration says header: none', async () => {
  const nights = nightsOf({ columns: { header: 'none' } });
  const bytes = csv(records(50).map((cells) => [...cells, '2026-11-20']));
  const run = { request: { columns: ['id', 'name', 'createdAt'] } };
  await nights.night({ date: day(1), bytes, run });

  expect(await nights.night({ date: day(2), bytes, run })).toMatchObject({ ended: 'PUBLISHED', warnings: [] });
});
