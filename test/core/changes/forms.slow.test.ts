import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../support/runs.ts';
import { placeForTables, putTable, rowsIn } from '../table/support.ts';
import { forms, PLAIN, publishedAs } from './forms.ts';
import { nights, plans } from './nights.ts';
import { judged, putFeed } from './support.ts';

const { dir } = await placeForTables();
const place = (name: string) => join(dir, name);

const change = fc.oneof({ weight: 3, arbitrary: fc.constant('another night') }, fc.constant('the same rows'));

test('writes exactly the rows that differ if the second night has another order, dialect, encoding or format', {
  timeout: 900_000,
}, async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(nights, change, forms, forms, plans, async (night, what, first, second, plan) => {
      seen.add(`${second.kind} ${second.compression}`).add(second.encoding);
      const after = what === 'the same rows' ? night.before.toReversed() : night.after;
      await putTable(place('before'), await publishedAs(night.before, first));
      await putTable(place('after'), await publishedAs(after, second));

      await putFeed(place('feed'), { before: place('before'), after: place('after'), ...plan });

      if (what === 'the same rows') expect(await rowsIn(place('feed'))).toEqual([]);
      // The expected table, from a form that both nights lack.
      await putTable(place('plain'), await publishedAs(after, PLAIN));
      const tables = { before: place('before'), after: place('plain'), feed: place('feed') };
      const { taken, gone, added, come } = await judged(tables, plan.ignore);
      expect([taken, added]).toEqual([gone, come]);
    }),
    { numRuns: runs(500) },
  );
  expect(seen.size).toBe(11);
});
