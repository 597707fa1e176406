import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NamedRun } from '../../cli/runs/run.ts';
import { tableKey } from '../../core/table/table-key.ts';
import { useAllCommands } from '../cli/support/all-commands.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { openDuckDb } from '../core/table/support.ts';
import { type SharedStack, sharedStack, TEXTS, TYPED } from './support/shared-stack.ts';

useAllCommands();

/** Tests a table for readers, from the run that wrote it to Athena's schema. */

const DATE = '2026-01-05';
let system: SharedStack;
let report: NamedRun;
let dir: string;
let duckdb: Awaited<ReturnType<typeof openDuckDb>>;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'table-readers-'));
  system = await sharedStack();
  report = await system.run('leads', { date: DATE });
  const Key = tableKey('leads', DATE, 1);
  const { Body } = await system.target.s3.send(new GetObjectCommand({ Bucket: system.target.BucketName, Key }));
  await writeFile(join(dir, 'leads.parquet'), (await Body?.transformToByteArray()) ?? '');
  duckdb = await openDuckDb(dir);
});

afterAll(async () => {
  duckdb?.close();
  await rm(dir, { recursive: true, force: true });
});

/** Runs the command in this process. */
async function cli(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(...args, ...system.place);
  expect(code, stderr).toBe(0);
  return stdout;
}

/** The columns of the leads table in Glue, as Athena sees them. */
async function glueColumns(): Promise<string[]> {
  const response = await fetch(system.cloud.endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'AWSGlue.GetTable' },
    body: JSON.stringify({ DatabaseName: 'crm_export_shared', Name: 'leads' }),
  });
  const { Table } = (await response.json()) as {
    Table: { StorageDescriptor: { Columns: { Name: string; Type: string }[] } };
  };
  return Table.StorageDescriptor.Columns.map(({ Name, Type }) => `${Name} ${Type}`);
}

it('the table has the typed rows of the published file, and names its run', async () => {
  const csv = join(dir, 'leads.csv');
  await cli('download', 'leads', '--date', DATE, '-o', csv);
  const published = `FROM read_csv('${csv}', header = true, all_varchar = true, delim = ',', quote = '"', escape = '"')`;
  const texts = TEXTS.map((name) => `coalesce("${name}", '') AS ${name}`);
  const typed = Object.entries(TYPED).map(
    ([name, type]) => `CAST("${name}" AS ${{ timestamp: 'timestamptz' }[type as string] ?? type}) AS ${name}`,
  );

  const table = `SELECT ${[...TEXTS, ...Object.keys(TYPED)].join(', ')} FROM '${dir}/leads.parquet'`;
  expect(await duckdb.differences(`SELECT ${[...texts, ...typed].join(', ')} ${published}`, table)).toEqual([]);
  expect(await duckdb.rows(`SELECT count(*)::text FROM '${dir}/leads.parquet'`)).toEqual([['240']]);
  const said = await duckdb.rows(
    `SELECT decode(value) FROM parquet_kv_metadata('${dir}/leads.parquet') WHERE key = 'crm-export.run'`,
  );
  expect(said).toEqual([[report.executionArn.split(':').at(-1)]]);
});

it('the table has no left-out column, and only hashes of a hashed one', async () => {
  const columns = await duckdb.columns('leads.parquet');
  const hashes = await duckdb.rows(
    `SELECT DISTINCT regexp_full_match(email, '[0-9a-f]{64}|') FROM '${dir}/leads.parquet'`,
  );

  expect(columns.filter((column) => column.startsWith('notes'))).toEqual([]);
  expect(hashes).toEqual([[true]]);
});

it('Athena gets the names and types of its columns', async () => {
  const athena: Record<string, string> = { VARCHAR: 'string', 'TIMESTAMP WITH TIME ZONE': 'timestamp' };
  const inFile = (await duckdb.columns('leads.parquet')).map((column) => {
    const [, name, type = ''] = /^(\S+) (.*)$/.exec(column) ?? [];
    return `${name} ${athena[type] ?? type.toLowerCase()}`;
  });

  expect((await glueColumns()).toSorted()).toEqual(inFile.toSorted());
});
