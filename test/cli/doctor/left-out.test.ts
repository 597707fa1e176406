import { expect, test } from 'vitest';
import { leftOutFindings } from '../../../cli/doctor/night-checks.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { deployment } from '../../support/builders.ts';
import { bucketRefuses } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import type { Part } from '../support/cloud/world.ts';

type Publication = Partial<Omit<Manifest, 'file'>> & { header?: string[] | null };

/** What doctor says of files that were published on these dates. */
async function said(files: Record<string, Publication>, except: string[], ...refusals: Part[]) {
  const cloud = await aws(...refusals);
  for (const [date, { header, ...told }] of Object.entries(files)) {
    const file = header === undefined ? {} : { header };
    const manifest = { file, keptUntil: `2027-${date.slice(5)}`, ...told };
    cloud.publish({ date, execution: `leads-${date}`, manifest });
  }
  const columns = except.length > 0 ? { except } : 'all';
  return leftOutFindings(cloud.target, deployment({ entities: { leads: { columns } } }));
}

const HAVING = ['id', 'idNumber'];

test('published files that have a column which is left out today are counted, with their dates and how long they are kept', async () => {
  const files = {
    '2026-11-18': { header: HAVING },
    '2026-11-19': { header: HAVING },
    '2026-11-20': { header: ['id'] },
  };
  const checks = await said(files, ['id_number']);

  expect(checks).toMatchObject([{ of: 'leads', verdict: 'warning', exitCode: 0 }]);
  expect(checks[0]?.found).toBe(
    '2 published files of leads still have columns that the configuration leaves out today (2026-11-18 to 2026-11-19).',
  );
  expect(checks[0]?.advice).toContain('until 2027-11-19 at the latest (retentionDays)');
});

test('what the newest manifest knows of an entry is looked for in older files', async () => {
  const leftOut = [{ entry: 'nationalId', name: 'idNumber', label: null }];
  const [check] = await said({ '2026-11-18': { header: HAVING }, '2026-11-20': { header: ['id'], leftOut } }, [
    'nationalId',
  ]);

  expect(check?.found).toMatch(/^1 published file of leads still has .* \(2026-11-18\)\.$/);
});

test('a file whose header is not known may have what was requested', async () => {
  const [check] = await said({ '2026-11-18': { header: null, request: { columns: HAVING } } }, ['idNumber']);

  expect(check?.found).toMatch(/^1 published file of leads/);
});

test.each<[string, string[]]>([
  ['no file has such a column', ['phone']],
  ['nothing is left out', []],
])('nothing is said where %s', async (_, except) => {
  expect(await said({ '2026-11-18': { header: HAVING } }, except)).toEqual([]);
});

test('a bucket that refuses says nothing of files', async () => {
  const refused = said({}, ['idNumber'], bucketRefuses('AccessDenied', 403));

  await expect(refused).rejects.toThrow(/AWS denies access/);
});
