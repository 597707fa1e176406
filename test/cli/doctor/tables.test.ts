import { expect, test } from 'vitest';
import { tablesFindings } from '../../../cli/doctor/night-checks.ts';
import { settingsDigest } from '../../../core/table/settings-digest.ts';
import { deployment } from '../../support/builders.ts';
import { bucketRefuses } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import type { Part } from '../support/cloud/world.ts';

const deployed = deployment({ entities: { leads: { tables: { hash: ['id'] } } } });
const TODAY = settingsDigest(deployed.entities.leads);
const OTHER = 'bbbbbbbbbbbbbbbb';
const PLACE = { deployment: 'prod' };

type Table = [key: string, digest?: string];
const of = (date: string, folder = 'entity=leads') => `tables/${folder}/date=${date}/leads.parquet`;

/** What doctor says of tables in the bucket. */
async function said(tables: Table[], ...refusals: Part[]) {
  const cloud = await aws(...refusals);
  for (const [key, digest] of tables) {
    cloud.objects.set(key, Buffer.from('PAR1'));
    if (digest !== undefined) cloud.metadata.set(key, { settings: digest });
  }
  return tablesFindings(cloud.target, deployed, PLACE);
}

test('where there is no table, nothing is said', async () => {
  expect(await said([])).toEqual([]);
});

test('tables that all stand under the settings of today are fine', async () => {
  expect(
    await said([
      [of('2026-11-19'), TODAY],
      [of('2026-11-20'), TODAY],
    ]),
  ).toMatchObject([{ verdict: 'holds', found: "2 tables: all stand under today's settings of columns." }]);
});

test('dates under other and under unknown settings are named, with the command that writes them again', async () => {
  const checks = await said([[of('2026-11-18'), OTHER], [of('2026-11-19'), TODAY], [of('2026-11-20')]]);

  expect(checks).toMatchObject([{ of: 'leads', verdict: 'warning', exitCode: 0 }]);
  expect(checks[0]?.found).toBe(
    'Tables of leads: 1 stand under other settings of columns than today (2026-11-18); 1 do not say under which settings they stand: an earlier release wrote them (2026-11-20).',
  );
  expect(checks[0]?.advice).toBe('Write them again: npx --no -- crm-export table leads --outdated --deployment prod.');
});

test('of many dates the first are named, and the others counted', async () => {
  const dates = Array.from({ length: 14 }, (_, day) => `2026-11-${String(day + 10)}`);
  const [check] = await said(dates.map((date) => [of(date), OTHER]));

  expect(check?.found).toMatch(
    /^Tables of leads: 14 stand .* \(2026-11-10, .*2026-11-19 and 4 more, up to 2026-11-23\)\.$/,
  );
});

test.each([
  ['of an earlier version', of('2026-11-18', 'v2/entity=leads')],
  ['of an entity that has no tables any more', of('2026-11-18', 'entity=contacts')],
])('a table %s, which nothing writes again, is to be removed', async (_, key) => {
  const [check] = await said([[key, OTHER]]);

  expect(check?.found).toContain('1 stand under other settings, and nothing writes them again');
  expect(check?.advice).toMatch(/^Remove from the bucket/);
});

test('a bucket that refuses says nothing of tables', async () => {
  await expect(said([], bucketRefuses('AccessDenied', 403))).rejects.toThrow(/AccessDenied/);
});
