import { expect, test } from 'vitest';
import { settingsFindings } from '../../../cli/health/night-checks.ts';
import { settingsDigest } from '../../../core/config/settings-digest.ts';
import { deployment } from '../../support/builders.ts';
import { type ManifestChanges, manifestOf } from '../../support/manifests.ts';
import { bucketRefuses } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import type { Part } from '../support/cloud/world.ts';

const OTHER = 'bbbbbbbbbbbbbbbb';
const LEADS = { columns: { except: ['id_number'] }, tables: { hash: ['id'] } };
const TODAY = settingsDigest(deployment({ entities: { leads: LEADS } }).entities.leads);

const table = (date: string, folder = 'entity=leads') => `tables/${folder}/date=${date}/leads.parquet`;
const feed = (date: string) => `changes/entity=leads/date=${date}/run=leads-${date}/changes.parquet`;
const copy = (date: string) => `changes/entity=leads/base/run=leads-${date}.parquet`;

interface Bucket {
  /** Digests of Parquet files by key; '' for a file of an earlier release. */
  objects?: Record<string, string>;
  /** Published files by date. */
  files?: Record<string, ManifestChanges>;
}

async function said({ objects = {}, files = {} }: Bucket, leads: object = LEADS, ...refusals: Part[]) {
  const cloud = await awsWithTarget(...refusals);
  for (const [key, digest] of Object.entries(objects)) {
    cloud.objects.set(key, Buffer.from('PAR1'));
    cloud.written.set(key, '2026-11-21T02:00:00.000Z');
    if (digest !== '') cloud.metadata.set(key, { settings: digest });
  }
  for (const [date, manifest] of Object.entries(files))
    cloud.publish({ date, execution: `leads-${date}`, manifest: { keptUntil: `2027-${date.slice(5)}`, ...manifest } });
  return settingsFindings(cloud.target, deployment({ retentionDays: 90, entities: { leads } }));
}

const fields = ['id', 'idNumber'].map((name) => ({ name, type: null, label: `the ${name}` }));
const { content } = manifestOf().file;
const counted = content && { ...content, excepted: 0, unlisted: 0 };
const having: ManifestChanges = { fields, file: { header: ['id', 'idNumber'], content: counted } };
const without: ManifestChanges = { fields, file: { header: ['id'], content: counted && { ...counted, width: 2 } } };

test('says nothing about a deployment without tables whose files have no left-out column', async () => {
  expect(await said({ files: { '2026-11-20': without } })).toEqual([]);
});

test('holds if tables, feeds and copied tables have the current settings', async () => {
  const date = '2026-11-20';

  expect(await said({ objects: { [table(date)]: TODAY, [feed(date)]: TODAY, [copy(date)]: TODAY } })).toMatchObject([
    {
      verdict: 'holds',
      found:
        '1 table, 1 feed, 1 copied table: all written under the current column settings, like the published files.',
    },
  ]);
});

test('counts files, tables and feeds of earlier settings, and says when the last of them expires', async () => {
  const checks = await said({
    objects: {
      [table('2026-11-18')]: OTHER,
      [table('2026-11-19')]: '',
      [table('2026-11-20')]: TODAY,
      [feed('2026-11-19')]: OTHER,
      [feed('2026-11-20')]: TODAY,
      [copy('2026-11-18')]: '',
      [copy('2026-11-19')]: OTHER,
      'changes/entity=leads/head.json': '',
      'changes/entity=leads/date=2026-11-19/run=leads-2026-11-19/_feed.json': '',
    },
    files: { '2026-11-16': having, '2026-11-17': having, '2026-11-20': without },
  });

  expect(checks).toMatchObject([{ of: 'leads', verdict: 'warning', exitCode: 0 }]);
  expect(checks[0]?.found).toBe(
    'Of leads, 2 published files, 2 tables, 1 feed, 2 copied tables were written under earlier column settings, and the last of them expires on 2027-11-17.',
  );
  expect(checks[0]?.advice).toMatch(
    /^Write tables again.*: npx --no -- crm-export table leads --outdated\. Files stay as they were published\./,
  );
});

test('computes the expiry of Parquet files from retentionDays', async () => {
  const [check] = await said({ objects: { [table('2026-11-18')]: OTHER } });

  expect(check?.found).toContain('expires on 2027-02-19.');
});

test('finds a left-out column in older files by the name in the newest manifest', async () => {
  const excepted = [{ entry: 'nationalId', name: 'idNumber', label: null }];
  const files = { '2026-11-18': having, '2026-11-20': { ...without, excepted } };
  const [check] = await said({ files }, { columns: { except: ['nationalId'] } });

  expect(check?.found).toMatch(/^Of leads, 1 published file were written /);
});

test('counts a file with an unknown header by its requested columns', async () => {
  const unknown = { fields, request: { columns: ['id', 'idNumber'] }, file: { header: null } };

  expect((await said({ files: { '2026-11-18': unknown } }))[0]?.found).toContain('1 published file');
});

test('ignores files of an entity that leaves out no column', async () => {
  expect(await said({ files: { '2026-11-18': having } }, {})).toEqual([]);
});

test.each([
  ['of an earlier version', table('2026-11-18', 'v2/entity=leads'), 'leads'],
  ['of an entity that has no tables any more', table('2026-11-18', 'entity=contacts'), 'contacts'],
])('counts a table %s too', async (_, key, of) => {
  expect(await said({ objects: { [key]: OTHER } })).toMatchObject([
    { of, found: expect.stringContaining('1 table were written') },
  ]);
});

test('fails if the bucket denies access', async () => {
  await expect(said({}, LEADS, bucketRefuses('AccessDenied', 403))).rejects.toThrow(/AccessDenied/);
});
