import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32, gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import type { Manifest } from '../../../core/export/manifest.ts';
import { readContent } from '../../../core/file/read-content.ts';
import { tableKey } from '../../../core/table/stored-table.ts';
import { crc32Text } from '../../../transfer/base/crc32.ts';
import { openDuckDb, putTable } from '../../core/table/support.ts';
import { fencedBlock } from '../../support/fenced-block.ts';
import { manifestOf } from '../../support/manifests.ts';
import { tempDir } from '../../support/project.ts';
import { bytesSource, reading } from '../../support/reading.ts';
import { aws } from '../support/cloud/cloud.ts';
import { runCli } from '../support/run-cli.ts';

/**
 * Follows the instructions of `docs/reading.md` for readers; with AWS: `test/e2e/reading-recipes.slow.test.ts`.
 */

const DOCUMENT = 'docs/reading.md';
const RECORDS = [
  ['1', '0501234567', 'דנה, "ד"'],
  ['2', '', 'two\nlines'],
];
const WRITTEN = [
  ['"id"', '"phone"', '"name"'],
  ['1', '0501234567', '"דנה, ""ד"""'],
  ['2', '', '"two\nlines"'],
];
const csv = (separator: string) => WRITTEN.map((cells) => `${cells.join(separator)}\r\n`).join('');
const CSV = csv(',');

/** Publishes a file, and runs the documented download command. @returns the path of the downloaded file */
async function downloaded(tool: string, content: string | Buffer, file: Partial<Manifest['file']> = {}) {
  const cloud = await aws();
  cloud.publish({ content, manifest: { file } });
  const path = join(await tempDir(), 'leads.csv');
  const line = fencedBlock(DOCUMENT, `### ${tool}`, 'sh').trim();
  const args = line.replace(/^npx --no -- crm-export /, '').split(' ');
  const own = args.map((arg) => ({ NAME: 'test', 'leads.csv': path, 'leads.xlsx': path })[arg] ?? arg);
  const { code, stderr } = await runCli(...own, '--endpoint-url', cloud.endpoint);
  expect(code, stderr).toBe(0);
  return path;
}

/** Runs the documented query. @param change an option from the table of dialects */
async function queried(path: string, change = 'nothing') {
  const [, option] = /^`((\w+) = .*)`$/.exec(change) ?? [];
  const [name = ''] = option?.split(' = ') ?? [];
  const query = fencedBlock(DOCUMENT, '### DuckDB', 'sql').replace('leads.csv', path);
  const changed = new RegExp(`${name} = [^,)]+`).test(query)
    ? query.replace(new RegExp(`${name} = ('[^']*'|\\w+)`), option ?? '')
    : query.replace(');', `, ${option});`);
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
  const reader = await connection.runAndReadAll(option ? changed : query);
  return { names: reader.columnNames(), rows: reader.getRowsJson() };
}

/** The DuckDB cell of the row of the table of dialects whose first cell has this prefix. */
function duckdbCell(says: string): string {
  const line = readFileSync(DOCUMENT, 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`| \`${says}`));
  return line?.split(' | ')[2] ?? '';
}

describe('the recipe for DuckDB', () => {
  const asRead = RECORDS.map((record) => record.map((cell) => cell || null));

  test('reads every cell as text, and an empty cell as null', async () => {
    const path = await downloaded('DuckDB', CSV);

    expect(await queried(path)).toEqual({ names: ['id', 'phone', 'name'], rows: asRead });
  });

  test.each([
    ['"separator": ";"', csv(';')],
    ['"separatorLine": true', `sep=,\r\n${CSV}`],
    ['"encoding": "utf-8"', `\ufeff${CSV}`],
    ['"encoding": "utf-16le"', Buffer.from(`\ufeff${CSV}`, 'utf16le')],
    ['"compression": "gzip"', gzipSync(CSV)],
    ['"content": {"rowsAbove": 2}', `Leads\r\nof November\r\n${CSV}`],
    ['"content": {"rowsAbove": 2}', `Leads\r\n\r\n${CSV}`], // These manifests say 1.
    ['"content": {"rowsAbove": 2}', `sep=,\r\nLeads\r\n${CSV}`],
  ])('reads a file of %s with the option of the table of dialects', async (says, content) => {
    const path = await downloaded('DuckDB', content);

    expect(await queried(path, duckdbCell(says))).toEqual({ names: ['id', 'phone', 'name'], rows: asRead });
  });

  test('reads a file without a header with the option of the table of dialects', async () => {
    const path = await downloaded('DuckDB', CSV.slice(CSV.indexOf('\n') + 1), { header: null });

    expect((await queried(path, duckdbCell('"header": null'))).rows).toEqual(asRead);
  });

  test.each([
    ['utf-16be', Buffer.from(`\ufeff${CSV}`, 'utf16le').swap16(), asRead],
    ['windows-1255', Buffer.from([...Buffer.from('id,name\n1,'), 0xe3, 0xf0, 0xe4, 10]), [['1', 'דנה']]],
  ])('reads a file of %s after the conversion in the table of dialects', async (encoding, content, rows) => {
    const path = await downloaded('DuckDB', content);
    const [, command = ''] = /`iconv (.*)`/.exec(duckdbCell(`"encoding": "${encoding}"`)) ?? [];
    writeFileSync(path, execFileSync('iconv', [...command.split(' '), path]));

    expect((await queried(path)).rows).toEqual(rows);
  });
});

describe('the recipes for tables', () => {
  const settings = { columns: { createdAt: 'timestamp' as const } };
  const NEW = 'status,createdAt\nopen,2026-11-19T10:00:00Z\nopen,2026-11-20T10:00:00Z\nclosed,\n';

  /** A bucket folder with the tables of two dates. The older table has no column `status`. */
  async function folder() {
    const dir = await tempDir();
    for (const [date, content] of Object.entries({
      '2026-11-19': 'createdAt\n2026-11-19T10:00:00Z\n',
      '2026-11-20': NEW,
    })) {
      const path = join(dir, tableKey('leads', date, 1));
      mkdirSync(dirname(path), { recursive: true });
      await putTable(path, { content, settings });
    }
    return { dir, newest: join(dir, tableKey('leads', '2026-11-20', 1)), duckdb: await openDuckDb(dir) };
  }

  test('read the rows of a table, and the run that it is of', async () => {
    const { newest, duckdb } = await folder();
    const [rows = '', said = ''] = fencedBlock(DOCUMENT, '## Tables', 'sql')
      .replaceAll('leads.parquet', newest)
      .trim()
      .split('\n');

    expect(await duckdb.rows(rows)).toHaveLength(3);
    expect(await duckdb.rows(said)).toEqual(
      expect.arrayContaining([
        ['crm-export.run', 'leads-1'],
        ['crm-export.file', 'runs/leads.csv'],
        ['crm-export.crc32', expect.any(String)],
      ]),
    );
    duckdb.close();
  });

  test('read several dates at once, with null for a column that an older table does not have', async () => {
    const { dir, duckdb } = await folder();
    const query = fencedBlock(DOCUMENT, '### Several dates', 'sql').replace('s3://BUCKET', dir);

    const statuses = await duckdb.rows(
      `SELECT date::text, status FROM (${query.trim().replace(';', '')}) ORDER BY ALL`,
    );
    expect(statuses).toEqual([
      ['2026-11-19', null],
      ['2026-11-20', 'closed'],
      ['2026-11-20', 'open'],
      ['2026-11-20', 'open'],
    ]);
    duckdb.close();
  });

  test('for Athena compare dates as text', async () => {
    const { dir, duckdb } = await folder();
    const files = `'${dir}/tables/entity=leads/*/*.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true`;
    await duckdb.rows('CREATE SCHEMA crm_export_prod');
    await duckdb.rows(`CREATE VIEW crm_export_prod.leads AS SELECT * FROM read_parquet(${files})`);

    const [open, closed] = await duckdb.rows(fencedBlock(DOCUMENT, '### Athena', 'sql'));
    expect([open?.slice(0, 2), closed]).toEqual([
      ['open', '2'],
      ['closed', '1', null],
    ]);
    duckdb.close();
  });
});

/** Stands for boto3, with these objects. */
const BOTO3 = `import base64, io, json, sys, types
objects = json.loads(sys.argv.pop())
class Body(io.BytesIO):
    iter_chunks = lambda self, size: iter(lambda: self.read(size), b"")
get = lambda Bucket, Key: {"Body": Body(base64.b64decode(objects[Key]))}
sys.modules["boto3"] = types.SimpleNamespace(client=lambda _: types.SimpleNamespace(get_object=get))
exec(open("docs/recipes/read_file.py").read().replace('f"{entity}.csv"', repr(sys.argv.pop())))`;

/** Runs `read_file.py` on a file with the facts that a run measures. */
async function readFile(content: string | Buffer, changes: Partial<Manifest['file']> = {}) {
  const { facts } = await readContent(bytesSource(content), reading());
  const manifest = manifestOf({ file: { ...facts, key: 'file', crc32: crc32Text(crc32(content)), ...changes } });
  const stored = { 'published/entity=leads/latest.json': '{"manifestKey":"m"}', m: JSON.stringify(manifest) };
  const objects = Object.entries({ ...stored, file: content }).map(([key, body]) => [
    key,
    Buffer.from(body).toString('base64'),
  ]);
  const args = ['b', 'leads', 'latest', join(await tempDir(), 'csv'), JSON.stringify(Object.fromEntries(objects))];
  const { stdout, stderr } = spawnSync('python3', ['-I', '-c', BOTO3, ...args], { encoding: 'utf8' });
  return [...stdout.split('\n').slice(0, -1), stderr];
}

const MANY = 'id,name\n'.concat('1,דנה\n'.repeat(300));
test.each<[what: string, content: string | Buffer, last?: string]>([
  ['UTF-16 with semicolons and a sep= line', Buffer.from('\ufeffsep=;\r\nid;name\r\n2;"b\nc"\r\n', 'utf16le')],
  ['gzip with tabs and line breaks of old Macs', gzipSync('id\tname\r2\t"b\nc"\r')],
  ['a header that is repeated in other spellings', 'Leads\nid,name\n"ID",Name,\n2,"b\nc"\nＩＤ,na-me\n'],
  ['a broken character', Buffer.concat([Buffer.from(`${MANY}2,`), Buffer.from([0xd7, 10])]), '\\ufffd'],
])('read_file.py reads a file of %s', async (_, content, last = 'b\\nc') => {
  expect((await readFile(content)).slice(-2)).toEqual([`{"id": "2", "name": "${last}"}`, '']);
});

test('read_file.py prints no record of a file that differs from its manifest, and fails if it reads other rows', async () => {
  expect(await readFile(MANY, { crc32: 'AAAAAA==' })).toEqual(['The file is corrupt.\n']);
  expect((await readFile(MANY, { rows: 2 })).at(-1)).toMatch(/^300 .* 2\.\n$/);
});
