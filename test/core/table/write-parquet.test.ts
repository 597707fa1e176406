import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import { openDuckDb, type Published, putTable } from './support.ts';

const dir = mkdtempSync(join(tmpdir(), 'tables-'));
const path = join(dir, 'leads.parquet');
let duckDb: Awaited<ReturnType<typeof openDuckDb>>;

beforeAll(async () => {
  duckDb = await openDuckDb(dir);
});
afterAll(() => {
  duckDb.close();
  rmSync(dir, { recursive: true });
});

const rowsOf = async (published: Published) => {
  const written = await putTable(path, published);
  return { written, rows: await duckDb.rows(`from read_parquet('${path}')`) };
};

it('has the declared types', async () => {
  const columns: TableSettings['columns'] = {
    ...{ a: 'text', b: 'integer', c: 'double', d: 'boolean', e: 'date', f: 'timestamp' },
    g: { type: 'decimal', precision: 18, scale: 2 },
    h: { type: 'date', format: 'DD/MM/YYYY' },
    i: { type: 'timestamp', format: 'DD.MM.YYYY HH:mm' },
  };
  const content = 'a,b,c,d,e,f,g,h,i\nx,1,1.5,true,2026-11-22,2026-11-22T10:00:00Z,1.25,22/11/2026,22.11.2026 10:00\n';

  const { rows } = await rowsOf({ content, settings: { columns } });

  expect(await duckDb.columns('leads.parquet')).toEqual([
    ...['a VARCHAR', 'b BIGINT', 'c DOUBLE', 'd BOOLEAN', 'e DATE', 'f TIMESTAMP WITH TIME ZONE', 'g DECIMAL(18,2)'],
    ...['h DATE', 'i TIMESTAMP WITH TIME ZONE'],
  ]);
  expect(rows).toEqual([
    ['x', '1', 1.5, true, '2026-11-22', '2026-11-22 10:00:00+00', '1.25', '2026-11-22', '2026-11-22 10:00:00+00'],
  ]);
});
