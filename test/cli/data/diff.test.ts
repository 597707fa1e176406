import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { settingsDigest } from '../../../core/config/settings-digest.ts';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { tableKey } from '../../../core/table/stored-table.ts';
import { putTable } from '../../core/table/support.ts';
import { tree } from '../../lib/support/files.ts';
import { deployment } from '../../support/builders.ts';
import { expectResults } from '../../support/screen.ts';
import { smallWorkbook, workbookFile } from '../../support/workbook.ts';
import { aws } from '../support/cloud/cloud.ts';
import { configured } from '../support/cloud/stack.ts';
import type { CliResult } from '../support/run-cli.ts';

type Side = { content: string | Buffer; file?: Partial<Manifest['file']> };

/** Two published dates, and `diff` between them. */
async function between(before: Side, after: Side) {
  const cloud = await aws();
  const put = (date: string, { content, file }: Side) => {
    const execution = `leads-${date}`;
    return cloud.publish({ date, execution, content, manifest: { file } }).file.key;
  };
  const keys = [put('2026-11-20', before), put('2026-11-21', after)];
  const diff = (...args: string[]) => cloud.cli('diff', 'leads', '--from', '2026-11-20', '--to', '2026-11-21', ...args);
  return { ...cloud, keys, diff, differences: (...args: string[]) => documentOf(diff(...args, '--json')) };
}

/** The document of a comparison, without the names of the files. */
async function documentOf(result: Promise<CliResult>) {
  const { code, stdout, stderr } = await result;
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

const counts = (added: number, removed: number, kept: number, rows = 0, columns = {}) => ({
  keys: { added, removed, kept },
  changed: { rows, columns },
});

const OLD = 'id,name\n1,Ann\n2,Bob\n3,Cem\n';
const NEW = {
  content: 'email,id,phone\na@b,3,\nc@d,"4\n5",\ne@f,6,\n',
  file: { rows: 3, header: ['email', 'id', 'phone'] },
};

test('diff compares columns, rows, bytes and keys in any column order, and prints keys only with --show-keys', async () => {
  const { cli, diff, differences, publish } = await between({ content: OLD, file: { rows: 3 } }, NEW);
  publish({ date: '2026-11-01', execution: "dana's" });
  const repeating = await between(
    { content: 'id,name\n1,Ann\n,Bob\n,Cem\n1,Other\n' },
    { content: 'id,name\n1,Ann\n,Dan\n' },
  );
  const withoutId = { content: 'mail\na\n', file: { header: ['mail'] } };
  await expectResults('diff', [
    ['columns, rows, bytes and keys', await diff()],
    ['with the keys', await diff('--show-keys')],
    ['changed rows, with the keys', await (await between(BEFORE, CHANGED)).diff('--show-keys')],
    ['repeated and missing keys', await repeating.diff()],
    ['no key', await (await between(withoutId, withoutId)).diff()],
    ['a date without a published file', await diff('--to', '2026-11-25')],
    ['no earlier file', await cli('diff', 'leads', '--to', '2026-11-01')],
  ]);

  expect(await differences()).toMatchObject({
    from: { date: '2026-11-20', rows: 3 },
    columns: { added: ['email', 'phone'], removed: ['name'] },
    changed: { rows: 0, columns: {} },
    keys: { ...counts(2, 2, 1).keys, column: 'id', repeated: { before: 0, after: 0 }, empty: { before: 0, after: 0 } },
  });
  expect(await differences()).not.toHaveProperty('addedKeys');
  expect(await differences('--show-keys')).toMatchObject({ addedKeys: ['4\n5', '6'], removedKeys: ['1', '2'] });
});

const dialect = { encoding: 'utf-8', byteOrderMark: false, separator: ',', separatorLine: false, lineBreak: 'lf' };

test.each<[string, Side]>([
  [
    'UTF-16 with a byte order mark',
    {
      content: Buffer.from('\ufeffid,name\n1,a\n', 'utf16le'),
      file: { dialect: { ...dialect, encoding: 'utf-16le' } },
    },
  ],
  [
    'no header, as configured,',
    { content: '1,a\n', file: { header: null, content: { ...CONTENT_NOT_READ, headed: false, width: 2 } } },
  ],
  ['short records and empty lines', { content: 'id,name\n\n1\n' }],
])('a file with %s has the same keys as a plain one', async (_, side) => {
  const { differences } = await between({ content: 'id,name\n1,a\n' }, side);
  expect(await differences()).toMatchObject({ keys: counts(0, 0, 1).keys });
});

test('diff leaves no file in the temporary folder', async () => {
  const folder = tree({});
  vi.stubEnv('TMPDIR', folder);
  const { differences } = await between({ content: OLD }, NEW);

  expect((await differences()).keys).toMatchObject(counts(2, 2, 1).keys);
  expect(readdirSync(folder)).toEqual([]);
});

test('diff compares a spreadsheet with a CSV file by keys', async () => {
  const workbook = smallWorkbook([
    ['name', 'id'],
    ['Ann', '1'],
    ['Dan', '4'],
  ]);
  const { differences } = await between(
    { content: OLD },
    { content: workbook, file: await workbookFile(workbook, ['name', 'id']) },
  );
  expect(await differences()).toMatchObject(counts(1, 2, 1));
});

test('diff refuses a file that it cannot compare in one sentence without its values', async () => {
  const rows: [what: string, after: Side][] = [
    ['of a format that the command cannot read', { content: 'PK', file: { format: 'xls' } }],
    ['malformed', { content: 'id,name\n1,"Ann\n' }],
    ['in another encoding', { content: Buffer.from([0x69, 0x64, 10, 0xe0, 10]), file: { header: ['id'] } }],
    ['not really gzip', { content: 'id\n', file: { compression: 'gzip' } }],
    ['without a known header', { content: '1\n', file: { header: null } }],
    ['without a column of that name', { content: 'idd\n', file: { header: ['idd'] } }],
    ['with another checksum', { content: 'id,name\n1,a\n', file: { crc32: 'AAAAAA==' } }],
  ];
  const results = [];
  for (const [what, after] of rows) {
    const { diff } = await between({ content: OLD }, after);
    results.push([what, await diff('--key', 'id')] as const);
  }

  await expectResults('diff-refusals', results);
  for (const [, { code, stdout, stderr }] of results)
    expect([code > 0, stdout, /\n.|Ann/.test(stderr)]).toEqual([true, '', false]);
});

const CHANGED = {
  content: 'name,id,city,more\nAnn,1,Haifa,x\nBoB,2,Eilat,y\nCEM,3,,z\nDan,4,,\n',
  file: { rows: 4, header: ['name', 'id', 'city', 'more'] },
};
const BEFORE = {
  content: 'id,name,city\n3,Cem,Akko\n1,Ann,Haifa\n2,Bob,Eilat\n9,Eve,\n',
  file: { rows: 4, header: ['id', 'name', 'city'] },
};

test('diff counts changes of columns with the names of properties that every object has', async () => {
  const file = { header: ['id', '__proto__', 'constructor', 'toString'] };
  const content = (cell: string) => `id,__proto__,constructor,toString\n1,${cell},${cell},a\n`;
  const { diff } = await between({ content: content('a'), file }, { content: content('b'), file });

  expect((await diff('--json')).stdout).toContain('"columns":{"__proto__":1,"constructor":1}');
});

test.each(['idNumber', 'idnumber'])('--key accepts the name in the file or in its table: %s', async (key) => {
  const file = { header: ['idNumber', 'a'] };
  const before = { content: 'idNumber,a\n1,x\n2,x\n', file };
  const { differences } = await between(before, { content: 'idNumber,a\n1,y\n', file });

  const { keys, removedKeys } = await differences('--key', key, '--show-keys');

  expect(keys).toMatchObject({ column: 'idNumber', ...counts(0, 1, 1).keys });
  expect(removedKeys).toEqual(['2']);
});

test('without a column id, diff compares only columns, rows and bytes, unless --key names a column', async () => {
  const { differences, asked, keys } = await between(
    { content: 'mail\na\n', file: { header: ['mail'] } },
    { content: 'mail\nb\n', file: { header: ['mail'] } },
  );
  expect(await differences()).toMatchObject({ keys: null });
  expect(asked.filter((call) => keys.some((key) => call.includes(key)))).toEqual([]);
  expect(await differences('--key', 'mail')).toMatchObject({ keys: { column: 'mail', ...counts(1, 1, 0).keys } });
});

test('an empty file lacks every key of the other, and no column', async () => {
  const { differences } = await between(
    { content: 'id,name\n1,a\n2,b\n' },
    { content: '', file: { format: null, rows: 0, header: null, content: null } },
  );
  expect(await differences()).toMatchObject({ columns: { removed: [] }, to: { rows: 0 }, ...counts(0, 2, 0) });
});

describe('diff without dates', () => {
  /** Three nights, and a file of the last one that a check has stopped. */
  async function nights() {
    const cloud = await aws();
    const put = (date: string, content: string) => cloud.publish({ date, execution: `leads-${date}`, content });
    put('2026-11-18', 'id,name\n1,a\n2,b\n');
    put('2026-11-20', 'id,name\n1,a\n2,c\n3,d\n');
    const stopped = (pointers: 'date'[]) => (date: string) =>
      cloud.publish({
        ...{ date, execution: `stopped-${date}`, content: 'id,name\n1,x\n', pointers },
        manifest: { state: 'quarantined' },
      });
    const [stop, release] = [stopped([]), stopped(['date'])];
    const diff = (...args: string[]) => cloud.cli('diff', 'leads', ...args);
    /** The runs of both files, and their states. */
    const compared = async (...args: string[]) => {
      const { from, to, ...document } = await documentOf(diff(...args, '--json'));
      return { ...document, runs: [from.run, to.run], states: [from.state, to.state] };
    };
    return { put, stop, release, diff, compared };
  }

  test('compares the newest file with the one before, and a given date with the date before it', async () => {
    const { compared, put } = await nights();
    const runs = ['leads-2026-11-18', 'leads-2026-11-20'];
    expect(await compared()).toMatchObject({ runs, ...counts(1, 0, 2, 1, { name: 1 }) });
    put('2026-11-21', 'id,name\n1,a\n');
    expect(await compared('--to', '2026-11-20')).toMatchObject({ runs });
    expect(await compared('--from', '2026-11-18')).toMatchObject({ runs: ['leads-2026-11-18', 'leads-2026-11-21'] });
  });

  test('compares a quarantined file with the published file of its date, or else the one before', async () => {
    const { compared, stop } = await nights();
    stop('2026-11-20');
    stop('2026-11-21');
    for (const run of ['stopped-2026-11-20', 'stopped-2026-11-21'])
      expect(await compared('--run', run)).toMatchObject({
        ...{ runs: ['leads-2026-11-20', run], states: ['published', 'quarantined'] },
        ...counts(0, 2, 1, 1, { name: 1 }),
      });
  });

  test('calls a quarantined file released if readers of its date have it, on either side', async () => {
    const { compared, put, release } = await nights();
    release('2026-11-21');
    expect(await compared('--run', 'stopped-2026-11-21')).toMatchObject({ states: ['published', 'released'] });
    put('2026-11-22', 'id,name\n1,a\n');
    expect(await compared()).toMatchObject({ states: ['released', 'published'] });
  });
});

describe('diff of dates with tables', () => {
  const leads = { tables: { columns: { n: 'integer' as const }, misfit: 'null' as const, version: 1 } };
  const header = ['id', 'Full name', 'n'];
  const contents = ['id,Full name,n\n1,Ann,01\n2,Bob,2\n3,Cem,\n', 'id,Full name,n\n1,Ann,1\n2,BOB,2\n4,Dan,5\n'];

  /** Two dates with their tables. @param told metadata of the newer table. @param columns types of its columns */
  async function tabled(configuration: object, told: Record<string, string> = {}, columns?: TableSettings['columns']) {
    const cloud = await aws(configured({ entities: { leads: configuration } }));
    const keys = await Promise.all(
      contents.map(async (content, night) => {
        const date = `2026-11-2${night}`;
        const { file, execution } = cloud.publish({
          date,
          execution: `leads-${date}`,
          content,
          manifest: { file: { header } },
        });
        const path = join(tree({}), 'table.parquet');
        await putTable(path, { content, settings: { ...leads.tables, ...(columns && night === 1 && { columns }) } });
        const key = tableKey('leads', date, 1);
        cloud.objects.set(key, readFileSync(path));
        const settings = settingsDigest(deployment({ entities: { leads: configuration } }).entities.leads);
        const about = { run: execution, settings, identity: 'a'.repeat(16), misfits: '0' };
        cloud.metadata.set(key, { ...about, ...(night === 1 && told) });
        return { file: file.key, table: key };
      }),
    );
    const document = await documentOf(cloud.cli('diff', 'leads', '--show-keys', '--json'));
    const reads = cloud.asked.filter((call) => call.startsWith('GetObject'));
    return { document, readsFiles: reads.some((call) => keys.some(({ file }) => call.includes(file))) };
  }

  test('compares the rows of the tables, and reads neither file', async () => {
    const { document, readsFiles } = await tabled(leads);

    expect(document).toMatchObject({
      ...counts(1, 1, 2, 1, { 'Full name': 1 }),
      ...{ addedKeys: ['4'], removedKeys: ['3'], changedKeys: ['2'] },
    });
    expect(readsFiles).toBe(false);
  });

  test.each<[string, object, Record<string, string>?, TableSettings['columns']?]>([
    ['a table hashes a column', { tables: { ...leads.tables, hash: ['id'] } }],
    ['a column of the files is left out now', { ...leads, columns: { except: ['Full name'] } }],
    ['there are no tables any more', {}],
    ['a table is that of another run', leads, { run: 'another' }],
    ['a table was written under other settings', leads, { settings: 'b'.repeat(16) }],
    ['the newer table was made in another way', leads, { identity: 'b'.repeat(16) }, { n: 'double' }],
    ['a value does not fit its type, so that a table does not have it', leads, { misfits: '1' }],
    ['a table is of an earlier release, which does not count such values', leads, { misfits: '' }],
  ])('compares the files if %s', async (_, configuration, told, columns) => {
    const { document, readsFiles } = await tabled(configuration, told, columns);

    expect(document.changed).toEqual({ rows: 2, columns: { 'Full name': 1, n: 1 } });
    expect(readsFiles).toBe(true);
  });
});
