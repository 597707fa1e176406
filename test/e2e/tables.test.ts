import { afterAll, beforeAll, expect, it } from 'vitest';
import { feedRecords } from '../../cli/changes/changes.ts';
import type { Run } from '../../cli/runs/run.ts';
import { feedKey } from '../../core/changes/feed-keys.ts';
import { nightKey } from '../../core/night/night-record.ts';
import { once } from '../../core/step/step.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { bucketTools } from './support/bucket-tools.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { fileOf, query } from './support/queried.ts';
import { newNetwork } from './support/vpc.ts';

const DATE = '2026-11-20';
/** Types of some columns of leads, by their names in the CRM. */
const TYPED = {
  score: 'integer',
  estimatedPremium: 'double',
  mailingApproved: 'boolean',
  nextContactDate: 'date',
  createdAt: 'timestamp',
} as const;
const KEY = `tables/entity=leads/date=${DATE}/leads.parquet`;
let system: Deployed;
let first: Run;

beforeAll(async () => {
  const leads = {
    tables: { columns: TYPED, except: ['email'], hash: ['cellNumber'] },
    changes: { key: 'id' },
  };
  const contacts = { tables: { columns: { firstName: 'integer' }, misfit: 'stop' } } as const;
  const network = await newNetwork();
  system = await deployForTests('tables', { network, entities: { leads, contacts } }, { rows: 30 });
  first = await system.run('leads', { date: DATE });
});

afterAll(() => system?.close());

/** A second run of the date. The first test that needs it makes it. */
const laterRun = once(() => system.run('leads', { date: DATE }));

const csvOf = async () =>
  `read_csv('${await fileOf(system.target, first.key ?? '')}', all_varchar = true, header = true)`;
const tableOf = async () => `read_parquet('${await fileOf(system.target, KEY)}', hive_partitioning = false)`;

/** Names of types that differ between the configuration and DuckDB. */
const SQL_TYPES: Record<string, string> = { integer: 'BIGINT', timestamp: 'TIMESTAMPTZ' };

it('writes a table with the rows of the published file and the configured types', async () => {
  expect(first).toMatchObject({ status: 'SUCCEEDED', rows: 30, what: 'export' });
  expect(first.table).toEqual(
    expect.objectContaining({ run: first.run, date: DATE, key: KEY, rows: 30, warnings: [] }),
  );
  const table = await tableOf();
  const csv = await csvOf();
  const names = ['id', ...Object.keys(TYPED)];
  const ours = `SELECT ${names.join()} FROM ${table}`;
  const typed = Object.entries(TYPED).map(([name, type]) => `"${name}"::${SQL_TYPES[type] ?? type}`);
  const theirs = `SELECT id, ${typed.join()} FROM ${csv}`;

  expect(await query(`(${ours}) EXCEPT ALL (${theirs})`)).toEqual([]);
  expect(await query(`(${theirs}) EXCEPT ALL (${ours})`)).toEqual([]);
  const types = await query(`DESCRIBE SELECT score, mailingapproved, cellnumber FROM ${table}`);
  expect(types.map(({ column_type }) => column_type)).toEqual(['BIGINT', 'BOOLEAN', 'VARCHAR']);
});

it('a later run of the date replaces the table, and an earlier one is refused', async () => {
  const later = await laterRun();
  expect(later.table).toMatchObject({ run: later.run });

  const raw = await system.runRaw({ entity: 'leads', table: { run: first.run } });
  expect(raw).toMatchObject({ status: 'FAILED', error: 'InvalidInput' });
  const said = await query(`SELECT decode(value) AS run FROM parquet_kv_metadata('${await fileOf(system.target, KEY)}')
    WHERE decode(key) = 'crm-export.run'`);
  expect(said).toEqual([{ run: later.run }]);
});

it('the feeds of two runs begin with all rows, and the night names the newest', async () => {
  await laterRun();
  const bucket = createBucket(system.target.s3, system.target.BucketName);
  const { feeds } = await feedRecords(bucket, 'leads', 0);
  const [snapshot, changes] = feeds.map(({ to }) => feedKey('leads', to));

  expect(feeds).toMatchObject([
    { sequence: 1, kind: 'snapshot', from: null, to: { run: first.run }, inserts: 30 },
    { sequence: 2, kind: 'changes', from: { run: first.run }, keys: 30, gone: 0 },
  ]);
  const rows = `SELECT id FROM read_parquet('${await fileOf(system.target, snapshot ?? '')}')`;
  expect(await query(rows)).toHaveLength(30);
  const night = JSON.parse((await bucket.read(nightKey(DATE)))?.text ?? '');
  expect(night.entities.leads.feed.key).toBe(changes);
  const told = await runCli('changes', 'leads', ...system.place);
  expect(told.stdout).toContain(`leads, feed 2, ${DATE} to ${DATE}: 0 inserted, 0 deleted, 0 updated`);
});

it('keeps the publication if the table cannot be written, and retry writes only the table', async () => {
  const failed = await system.run('contacts', { date: DATE });

  expect(failed).toMatchObject({ status: 'FAILED', error: 'TableNotWritten' });
  expect(failed.cause).toMatch(/"firstname", integer, /);
  const tools = bucketTools(system.target);
  expect((await tools.pointer('contacts', 'latest')).execution).toBe(failed.run);
  expect(await tools.keys('tables/entity=contacts/')).toEqual([]);
  expect(await tools.uploads()).toEqual([]);

  const again = await runCli('retry', failed.run, '--wait', ...system.place);
  expect(again.stderr).toContain(`table of ${failed.run}`);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('TableNotWritten') });
});
