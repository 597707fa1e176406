import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inFolder, stage, withEngine } from '../../../core/table/engine.ts';
import { limitsIn } from './support.ts';

test('reads a record of 5 MB among many small ones with little memory', { timeout: 120_000 }, async () => {
  const records = async function* () {
    yield [['x'.repeat(5_000_000)]];
    for (let row = 0; row < 2_000_000; row += 1) yield [['y'.repeat(100)]];
  };
  const rows = await inFolder('table-', async (folder) => {
    const staged = await stage(records(), join(folder, 'rows.csv'), 1);
    return withEngine({ ...limitsIn(folder), bufferMB: 180 }, (query) =>
      query(`SELECT count(*), max(length(c0)), sum(length(c0)) FROM ${staged}`),
    );
  });

  expect(rows).toEqual([['2000001', '5000000', '205000000']]);
});
