import { DuckDBInstance } from '@duckdb/node-api';
import { givenJob, whenBegun } from '../support/children.ts';
import { costOf } from '../support/process-cost.ts';
import type { TwoNights } from './feed-child.ts';
import { COLUMNS } from './nights.ts';

/** Finds the same changes by DuckDB's full outer join, writes both rows of each, and reports what that cost. */

const { before, after, changes } = givenJob<TwoNights>();
const differ = COLUMNS.map((name) => `b.${name} is distinct from a.${name}`).join(' or ');
const joined = `read_parquet('${before}') b full outer join read_parquet('${after}') a on b.id = a.id`;

await whenBegun(() =>
  costOf(async () => {
    const instance = await DuckDBInstance.create(':memory:', {
      threads: '1',
      memory_limit: '1GB',
      temp_directory: `${changes}.tmp`,
      preserve_insertion_order: 'false',
    });
    const connection = await instance.connect();
    await connection.run(`copy (select b, a from ${joined} where ${differ}) to '${changes}' (format parquet)`);
    connection.closeSync();
    instance.closeSync();
  }),
);
