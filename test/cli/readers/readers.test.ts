import { describe, expect, test } from 'vitest';
import { deployedOf, metadataOf } from '../../../core/config/deployed.ts';
import type { Reader } from '../../../core/config/settings.ts';
import { settingsDigest } from '../../../core/config/settings-digest.ts';
import { publishedValue, tableValue } from '../../../core/readers/reader-access.ts';
import { deployment } from '../../support/builders.ts';
import { type ManifestChanges, manifestOf } from '../../support/manifests.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { type Answers, refused, xml } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { stack, template } from '../support/cloud/stack.ts';
import type { CliResult } from '../support/run-cli.ts';

const ACCOUNT: Reader = { principal: '444455556666', entities: 'all', of: ['tables'] };
const ROLE: Reader = { principal: 'arn:aws:iam::777788889999:role/analyst', entities: ['leads'], of: ['files'] };
const MEMBERS: Reader = { principal: { organization: 'o-a1b2c3d4e5' }, entities: ['leads', 'contacts'], of: ['files'] };

/** The tag value of a file of leads without left-out columns. */
const TODAY = publishedValue('leads', deployment().entities.leads);

const RESOURCES = xml(
  '<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries><member><ResourceType>AWS::KMS::Key</ResourceType><PhysicalResourceId>1234</PhysicalResourceId></member></StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>',
);

/** A deployment with these readers. Objects have tags, as in S3. */
async function sharing(readers: Reader[], PutObjectTagging?: Answers[string], leads: object = {}) {
  const tagged: string[] = [];
  const tags: Answers = {
    ListStackResources: RESOURCES,
    PutObjectTagging:
      PutObjectTagging ??
      (({ key, body }) => {
        tagged.push(`${key} ${/<Key>(.*)<\/Key><Value>(.*)<\/Value>/.exec(body.toString())?.slice(1).join('=')}`);
        return xml('');
      }),
  };
  const Metadata = metadataOf(deployedOf(deployment({ readers, entities: { leads: { tables: {}, ...leads } } })));
  const cloud = await aws(
    stack({ TimeZone: 'UTC' }),
    template({ Metadata, Resources: { Key: { Type: 'AWS::KMS::Key', Properties: {} } } }),
    tags,
  );
  return { ...cloud, tagged, cli: (...args: string[]) => cloud.cli('readers', ...args) };
}

test('refuses a principal that is missing or unknown, lists the known ones, and tags nothing without readers', async () => {
  const [none, some] = [await sharing([]), await sharing([ACCOUNT, ROLE, MEMBERS])];
  const results = [
    ['readers', await some.cli()],
    ['readers 444455556667', await some.cli('444455556667')],
    ['readers 444455556666 --tag', await some.cli('444455556666', '--tag')],
    ['readers, without configured readers', await none.cli()],
    ['readers --tag, without configured readers', await none.cli('--tag')],
  ] as const;

  expect(results.map(([, { code, stdout }]) => [code, stdout === ''])).toEqual([
    ...Array(4).fill([2, true]),
    [0, false],
  ]);
  await expectResults('readers', results);
});

test('prints one policy for all that a reader may read, what that is, and a command to try it', async () => {
  const [files, tables] = await Promise.all([
    sharing([{ ...ACCOUNT, entities: ['leads'] }, ROLE, { ...ACCOUNT, entities: ['contacts'], of: ['files'] }]),
    sharing([ACCOUNT, MEMBERS, { ...ROLE, of: ['tables'] }], undefined, { changes: { key: 'id' } }),
  ]);
  const results: [string, CliResult][] = [
    ['an account: tables of one entity, files of another', await files.cli('444455556666')],
    ['an organization: files', await tables.cli('o-a1b2c3d4e5')],
    ['an account: tables and feeds of all entities', await tables.cli('444455556666')],
    ['a role: tables and feeds of one entity', await tables.cli('arn:aws:iam::777788889999:role/analyst')],
  ];

  for (const [, { code, stdout }] of results)
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { Version: '2012-10-17' }]);
  await expectResults('reader-policies', results);
});

test('--tag tags file and manifest of each published run of a shared entity, and no other object', async () => {
  const { cli, publish, tagged } = await sharing([ACCOUNT, ROLE]);
  publish({ date: '2026-11-19', execution: 'older', pointers: ['date'] });
  publish({ date: '2026-11-20', execution: 'newer', pointers: ['date', 'latest'] });
  publish({ date: '2026-11-20', execution: 'superseded', pointers: [] });
  publish({ entity: 'contacts', date: '2026-11-20', execution: 'tables-only', pointers: ['date', 'latest'] });

  await expectResults('tagged-files', [['two files of a shared entity', await cli('--tag')]]);

  const keys = ['older', 'newer'].flatMap((run) => [
    `runs/entity=leads/run=${run}/_manifest.json published=${TODAY}`,
    `runs/entity=leads/run=${run}/leads.csv published=${TODAY}`,
  ]);
  expect(tagged.sort()).toEqual(keys.sort());
});

test('--tag tags tables, and feeds with their records, and names those of other column settings', async () => {
  const { cli, objects, metadata, tagged } = await sharing([ACCOUNT], undefined, { changes: { key: 'id' } });
  const today = settingsDigest(deployment({ entities: { leads: { tables: {} } } }).entities.leads);
  const put = (key: string, settings?: string) => {
    objects.set(key, Buffer.from('PAR1'));
    if (settings !== undefined) metadata.set(key, { settings });
  };
  put('tables/entity=leads/date=2026-11-20/leads.parquet', today);
  put('tables/entity=leads/date=2026-11-19/leads.parquet');
  for (const [run, settings] of [
    ['a', today],
    ['b', '0'.repeat(16)],
  ] as const) {
    put(`changes/entity=leads/date=2026-11-20/run=${run}/changes.parquet`, settings);
    put(`changes/entity=leads/date=2026-11-20/run=${run}/_feed.json`);
    put(`changes/entity=leads/base/run=${run}.parquet`, settings);
  }

  const result = await cli('--tag');

  expect(result).toMatchObject({ code: 0 });
  // Objects are tagged at the same time.
  const shown = result.shown.split('\n').toSorted().join('\n');
  await expectResults('readers-tag', [['tables and feeds, some of other column settings', { ...result, shown }]]);
  const value = tableValue('leads', today);
  expect(tagged.sort()).toEqual([
    `changes/entity=leads/date=2026-11-20/run=a/_feed.json published=${value}`,
    `changes/entity=leads/date=2026-11-20/run=a/changes.parquet published=${value}`,
    'changes/entity=leads/date=2026-11-20/run=b/_feed.json published=false',
    'changes/entity=leads/date=2026-11-20/run=b/changes.parquet published=false',
    'tables/entity=leads/date=2026-11-19/leads.parquet published=false',
    `tables/entity=leads/date=2026-11-20/leads.parquet published=${value}`,
  ]);
});

describe('--tag after a column was left out', () => {
  const columns = { except: ['phone'] };
  const other = publishedValue('leads', deployment({ entities: { leads: { columns } } }).entities.leads);
  const fields = ['id', 'name', 'phone'].map((name) => ({ name, type: null, label: `the ${name}` }));
  const left = [{ entry: 'phone', name: 'phone', label: null }];
  const content = manifestOf().file.content;
  const counted = content && { ...content, excepted: 0, unlisted: 0 };
  const withheldOf = async (manifest: ManifestChanges) => {
    const { cli, publish, tagged } = await sharing([ROLE], undefined, { columns });
    publish({ date: '2026-11-19', execution: 'older', manifest, pointers: ['date'] });
    publish({
      date: '2026-11-20',
      execution: 'newer',
      manifest: { fields, excepted: left, file: { content: counted } },
    });
    const { code, shown } = await cli('--tag');
    const tagsOf = (run: string) =>
      new Set(tagged.filter((line) => line.includes(run)).map((line) => line.split('=').at(-1)));
    expect({ code, tags: tagsOf('newer') }).toEqual({ code: 0, tags: new Set([other]) });
    return { shown, tags: [...tagsOf('older')] };
  };

  const of = (header: string[] | null, more: object = {}) => ({ header, content: counted && { ...counted, ...more } });
  const own = { kind: 'partial' as const, request: { columns: ['phone'] } };

  test('names a file that has or may have the column, and removes its tag', async () => {
    const rows: [string, ManifestChanges][] = [
      ['has the column', { fields, file: of(['id', 'phone']) }],
      ['has the column, from a run with columns of its own', { fields, ...own, file: of(['phone']) }],
      ['has the column under its name in the newest list', { file: of(['id', 'phone']) }],
      ['has another header further down', { fields, file: { content: of([], { otherHeaders: 1 }).content } }],
      ['has the values elsewhere', { fields, excepted: left, file: { content: of([], { elsewhere: 2 }).content } }],
      ['has a single column that was not checked', { fields, file: of(['id'], { width: 1 }) }],
      ['has an unknown header', { fields, file: of(null, { headed: null }) }],
      ['was not read', { fields, file: { format: 'xls', header: null, content: null } }],
    ];
    const told: [string, string][] = [];
    for (const [what, manifest] of rows) {
      const { shown, tags } = await withheldOf(manifest);
      expect({ what, tags }).toEqual({ what, tags: ['false'] });
      told.push([what, shown]);
    }
    await expectTexts('withheld-files', told);
  });

  test('tags a file without the column, even if its run requested it', async () => {
    const manifest = { fields, request: { columns: ['id', 'name', 'phone'] }, file: { content: counted } };

    expect((await withheldOf(manifest)).tags).toEqual([other]);
  });
});

test('--tag removes the tag of a feed of other column settings also if a killed run left no record of it', async () => {
  const tagged: string[] = [];
  const { cli, objects, metadata } = await sharing([ACCOUNT], ({ key, body }) => {
    if (key.endsWith('_feed.json')) return refused('NoSuchKey', 'no', { status: 404 });
    tagged.push(`${key} ${/<Value>(.*)<\/Value>/.exec(body.toString())?.[1]}`);
    return xml('');
  });
  const key = 'changes/entity=leads/date=2026-11-20/run=a/changes.parquet';
  objects.set(key, Buffer.from('PAR1'));
  metadata.set(key, { settings: '0'.repeat(16) });

  expect(await cli('--tag')).toMatchObject({ code: 0 });
  expect(tagged).toEqual([`${key} false`]);
});

test('--tag skips objects that no longer exist, and does not count them', async () => {
  // The answer of a versioned bucket for deleted or expired objects.
  const deleted = refused('MethodNotAllowed', 'no', { status: 405 });
  const { cli, publish } = await sharing([ROLE], ({ key }) => (key.includes('run=older') ? deleted : xml('')));
  publish({ date: '2026-11-19', execution: 'older', pointers: ['date'] });
  publish({ date: '2026-11-20', execution: 'newer', pointers: ['date', 'latest'] });
  const { cli: ofTables, objects } = await sharing([ACCOUNT], refused('NoSuchKey', 'no', { status: 404 }));
  objects.set('tables/entity=leads/date=2026-11-20/leads.parquet', Buffer.from('PAR1'));
  const results = [
    ['a file that was deleted', await cli('--tag')],
    ['a table that never existed', await ofTables('--tag')],
  ] as const;

  expect(results.map(([, { code }]) => code)).toEqual([0, 0]);
  await expectResults('readers-gone', results);
});

test('--tag removes the tag of a table that a run of earlier settings replaced meanwhile', async () => {
  const key = 'tables/entity=leads/date=2026-11-20/leads.parquet';
  const digest = settingsDigest(deployment({ entities: { leads: { tables: {} } } }).entities.leads);
  const values: (string | undefined)[] = [];
  const { cli, objects, metadata } = await sharing([ACCOUNT], ({ body }) => {
    values.push(/<Value>(.*)<\/Value>/.exec(body.toString())?.[1]);
    metadata.set(key, { settings: '0'.repeat(16) });
    return xml('');
  });
  objects.set(key, Buffer.from('PAR1'));
  metadata.set(key, { settings: digest });

  expect(await cli('--tag')).toMatchObject({ code: 0 });
  expect(values).toEqual([tableValue('leads', digest), 'false']);
});

test('--tag exits with 3 if the right to tag is missing', async () => {
  const { cli, publish } = await sharing([ROLE], refused('AccessDenied', 'no', { status: 403 }));
  publish({ date: '2026-11-20', execution: 'newer', pointers: ['date', 'latest'] });

  expect(await cli('--tag')).toMatchObject({ code: 3 });
});
