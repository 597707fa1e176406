import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { ListObjectVersionsCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { feedRecords } from '../../cli/changes/changes.ts';
import { feedKey } from '../../core/changes/feed-keys.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { tableKey } from '../../core/table/stored-table.ts';
import { idAt } from '../../sandbox/data/records.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { type Deployed, deployForTests } from '../e2e/support/deployed.ts';
import { fileOf, query } from '../e2e/support/queried.ts';
import { hasShellTools } from '../support/installed.ts';

/**
 * Removes a customer with the commands of docs/removing-a-customer.md: from files, tables, feeds and copies of tables.
 */

const [FIRST, SECOND, THIRD] = ['2026-11-18', '2026-11-19', '2026-11-20'] as const;
const ROWS = 30;
const GONE = idAt('leads', ROWS - 1);
const [, CHAPTER = ''] = readFileSync('docs/removing-a-customer.md', 'utf8').split('\n## Remove them earlier\n');
/** The documented shell functions, the commands for files, and those for tables and feeds. */
const COMMANDS = [...CHAPTER.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)]
  .slice(0, 3)
  .map(([, text = '']) => text)
  .join('');

let system: Deployed;

beforeAll(async () => {
  const leads = { tables: {}, changes: { key: 'id' } };
  system = await deployForTests('removing', { entities: { leads } }, { rows: ROWS });
});
afterAll(() => system?.close());

const parquet = (path: string) => `read_parquet('${path}', hive_partitioning = false)`;

/** Folders of all objects, including older versions, that contain the customer's id. */
async function traces(): Promise<string[]> {
  const { Versions = [] } = await system.target.s3.send(
    new ListObjectVersionsCommand({ Bucket: system.target.BucketName }),
  );
  const found = new Set<string>();
  for (const { Key = '', VersionId } of Versions) {
    const path = await fileOf(system.target, Key, VersionId);
    const has = Key.endsWith('.parquet')
      ? (await query(`SELECT 1 FROM ${parquet(path)} WHERE id = '${GONE}' LIMIT 1`)).length > 0
      : readFileSync(path).includes(GONE);
    if (has) found.add(Key.replace(/=[^/]*/g, ''));
  }
  return [...found].sort();
}

test.skipIf(!hasShellTools())(
  'the documented commands remove every trace, and the next feed is a snapshot of the rest',
  async () => {
    for (const date of [FIRST, SECOND])
      expect(await system.run('leads', { date })).toMatchObject({ status: 'SUCCEEDED' });
    system.sandbox.settings.rows = ROWS - 1;
    // Runs the newest date again: its file and table then have older versions.
    expect(await system.run('leads', { date: SECOND })).toMatchObject({ status: 'SUCCEEDED' });
    expect(await traces()).toEqual([
      'changes/entity/base/run',
      'changes/entity/date/run/changes.parquet',
      'runs/entity/run/leads.csv',
      'tables/entity/date/leads.parquet',
    ]);

    const env = {
      ...process.env,
      ...system.cloud.env,
      PATH: process.env.PATH,
      BUCKET: system.target.BucketName,
      ENTITY: 'leads',
    };
    await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', COMMANDS], { env });
    const written = await runCli('table', 'leads', '--date', SECOND, '--wait', ...system.place);
    expect(written.code, written.stderr).toBe(0);
    expect(await traces()).toEqual([]);

    expect(await system.run('leads', { date: THIRD })).toMatchObject({ status: 'SUCCEEDED' });
    const bucket = createBucket(system.target.s3, system.target.BucketName);
    const [feed, ...others] = (await feedRecords(bucket, 'leads')).feeds;
    expect(others).toEqual([]);
    expect(feed).toMatchObject({ sequence: 4, kind: 'snapshot', inserts: ROWS - 1, to: { date: THIRD } });
    const told = parquet(await fileOf(system.target, feedKey('leads', feed?.to ?? { date: '', run: '' })));
    const table = parquet(await fileOf(system.target, tableKey('leads', THIRD, 1)));
    const rows = `SELECT COLUMNS(c -> c NOT LIKE '\\_%' ESCAPE '\\') FROM ${told}`;
    expect(await query(`(${rows}) EXCEPT ALL (FROM ${table})`)).toEqual([]);
    expect(await query(`(FROM ${table}) EXCEPT ALL (${rows})`)).toEqual([]);
    expect(await traces()).toEqual([]);
  },
);
