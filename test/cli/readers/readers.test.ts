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

test('prints one policy for all that a reader may read, and a command to try it', async () => {
  const { cli } = await sharing([
    { ...ACCOUNT, entities: ['leads'] },
    ROLE,
    { ...ACCOUNT, entities: ['contacts'], of: ['files'] },
  ]);

  const { code, stdout, stderr } = await cli('444455556666');

  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Action: 's3:GetObject',
        Resource: ['arn:aws:s3:::bucket/*/entity=leads/*', 'arn:aws:s3:::bucket/*/entity=contacts/*'],
      },
      {
        Effect: 'Allow',
        Action: 's3:ListBucket',
        Resource: 'arn:aws:s3:::bucket',
        Condition: {
          StringLike: {
            's3:prefix': ['published/entity=leads/*', 'tables/*entity=leads/*', 'published/entity=contacts/*'],
          },
        },
      },
      { Effect: 'Allow', Action: 's3:GetBucketLocation', Resource: 'arn:aws:s3:::bucket' },
      {
        Effect: 'Allow',
        Action: 'kms:Decrypt',
        Resource: 'arn:aws:kms:us-east-1:000000000000:key/1234',
        Condition: {
          StringEquals: {
            'kms:ViaService': 's3.us-east-1.amazonaws.com',
            'kms:EncryptionContext:aws:s3:arn': 'arn:aws:s3:::bucket',
          },
        },
      },
    ],
  });
  expect(stderr).toContain('To try it there: aws s3 cp s3://bucket/published/entity=leads/latest.json -\n');
});

test('the policy for tables lists the feeds of changes, but not their head or the copied tables', async () => {
  const { cli } = await sharing([ACCOUNT, { ...MEMBERS, entities: ['leads'], of: ['tables'] }], undefined, {
    changes: { key: 'id' },
  });

  const policies = await Promise.all(
    ['444455556666', 'o-a1b2c3d4e5'].map(async (one) => (await cli(one)).stdout.match(/changes\/[^"]*/g)),
  );

  expect(policies).toEqual([['changes/entity=*/date=*'], ['changes/entity=leads/date=*']]);
});

test('prints what an organization may read, next to its policy', async () => {
  const { cli } = await sharing([ACCOUNT, MEMBERS]);

  const { stdout, stderr } = await cli('o-a1b2c3d4e5');

  expect(JSON.parse(stdout)).toMatchObject({ Version: '2012-10-17' });
  expect(stderr).toContain('The organization o-a1b2c3d4e5 may read files of leads, contacts, once its own account');
  expect(stderr).toContain('/published/entity=leads/latest.json');
});

test('--tag tags file and manifest of each published run of a shared entity, and no other object', async () => {
  const { cli, publish, tagged } = await sharing([ACCOUNT, ROLE]);
  publish({ date: '2026-11-19', execution: 'older', pointers: ['date'] });
  publish({ date: '2026-11-20', execution: 'newer', pointers: ['date', 'latest'] });
  publish({ date: '2026-11-20', execution: 'superseded', pointers: [] });
  publish({ entity: 'contacts', date: '2026-11-20', execution: 'tables-only', pointers: ['date', 'latest'] });

  expect(await cli('--tag')).toMatchObject({ code: 0, stdout: '2 published files tagged.\n' });

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

  const { code, stdout, stderr } = await cli('--tag');

  expect({ code, stdout }).toEqual({ code: 0, stdout: '1 table, 1 feed tagged, 2 not.\n' });
  expect(stderr.match(/\S+ is not tagged: it was written under other column settings/g)).toHaveLength(2);
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
    const { code, stdout, stderr } = await cli('--tag');
    expect({
      code,
      tags: new Set(tagged.filter((line) => line.includes('newer')).map((line) => line.split('=').at(-1))),
    }).toEqual({
      code: 0,
      tags: new Set([other]),
    });
    const tags = new Set(tagged.filter((line) => line.includes('older')).map((line) => line.split('=').at(-1)));
    return { stdout, stderr, tags: [...tags] };
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
      const { stdout, stderr, tags } = await withheldOf(manifest);
      expect({ what, stdout, tags }).toEqual({ what, stdout: '1 published file tagged, 1 not.\n', tags: ['false'] });
      told.push([what, stderr]);
    }
    await expectTexts('withheld-files', told);
  });

  test('tags a file without the column, even if its run requested it', async () => {
    const manifest = { fields, request: { columns: ['id', 'name', 'phone'] }, file: { content: counted } };

    expect(await withheldOf(manifest)).toMatchObject({ stdout: '2 published files tagged.\n', tags: [other] });
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

  const { stdout, stderr } = await cli('--tag');

  expect(stdout).toBe('Nothing tagged, 1 not.\n');
  expect(stderr).toContain(`${key} is not tagged: it was written under other column settings.`);
  expect(tagged).toEqual([`${key} false`]);
});

test.each([
  ['never existed', refused('NoSuchKey', 'no', { status: 404 })],
  // The answers of a versioned bucket for deleted or expired objects.
  ['was deleted', refused('MethodNotAllowed', 'no', { status: 405 })],
])('--tag skips a file that %s, and reports it', async (_, gone) => {
  const tagged: string[] = [];
  const { cli, publish } = await sharing([ROLE], (request) => {
    if (request.key.includes('run=older')) return gone;
    tagged.push(request.key);
    return xml('');
  });
  publish({ date: '2026-11-19', execution: 'older', pointers: ['date'] });
  publish({ date: '2026-11-20', execution: 'newer', pointers: ['date', 'latest'] });

  const { code, stdout, stderr } = await cli('--tag');

  expect(stderr).toContain('runs/entity=leads/run=older/leads.csv is gone: it is not tagged.');
  expect({ code, stdout }).toEqual({ code: 0, stdout: '1 published file tagged.\n' });
  expect(tagged).toHaveLength(2);
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

  expect(await cli('--tag')).toMatchObject({ code: 0, stdout: 'Nothing tagged, 1 not.\n' });
  expect(values).toEqual([tableValue('leads', digest), 'false']);
});

test('--tag does not count a table that is gone', async () => {
  const { cli, objects } = await sharing([ACCOUNT], refused('NoSuchKey', 'no', { status: 404 }));
  objects.set('tables/entity=leads/date=2026-11-20/leads.parquet', Buffer.from('PAR1'));

  const { stdout, stderr } = await cli('--tag');

  expect(stderr).toContain('tables/entity=leads/date=2026-11-20/leads.parquet is gone: it is not tagged.');
  expect(stdout).toBe('Nothing tagged.\n');
});

test('--tag exits with 3 if the right to tag is missing', async () => {
  const { cli, publish } = await sharing([ROLE], refused('AccessDenied', 'no', { status: 403 }));
  publish({ date: '2026-11-20', execution: 'newer', pointers: ['date', 'latest'] });

  expect(await cli('--tag')).toMatchObject({ code: 3, stderr: expect.stringContaining('AWS denies access') });
});
