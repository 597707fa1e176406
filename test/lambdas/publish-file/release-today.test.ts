import { expect, test } from 'vitest';
import { latestPointerKey } from '../../../core/export/pointer.ts';
import type { Listed } from '../../../core/step/states.ts';
import { nightsIn, nightsOf } from '../../support/nights.ts';

/**
 * Files that were stopped before the configuration left out one of their columns: a release follows today's settings.
 */

const COLUMNS = { request: { columns: ['id', 'idNumber'] } };
const LABELLED: Listed = { others: [], labels: ['ID', 'National id'], types: null, complete: true };
const UNLABELLED: Listed = { ...LABELLED, labels: null };
const UNKNOWN: Listed = { ...UNLABELLED, complete: false };

const leads = (rows: number) => `id,idNumber\n${Array.from({ length: rows }, (_, row) => `${row},9${row}\n`).join('')}`;

/** Two full nights, then one with too few rows. */
async function stopped(listed: Listed) {
  const nights = nightsOf();
  for (const [date, rows] of [
    ['2026-11-01', 240],
    ['2026-11-02', 240],
    ['2026-11-03', 20],
  ] as const) {
    await nights.night({ date, bytes: leads(rows), run: { ...COLUMNS, listed } });
  }
  return nights;
}

/** Releases the last night under settings that leave out a column. */
const releaseUnder = ({ bucket }: ReturnType<typeof nightsOf>, entry: string) =>
  nightsIn(bucket, { columns: { except: [entry] } }).release('of-2026-11-03');
const LEFT_OUT = { ended: 'InvalidInput', cause: expect.stringMatching(/\b1 column/) };

test.each([
  ['its name', 'idNumber', UNLABELLED],
  ['another spelling', 'ID-number', UNKNOWN],
  ['its label', 'National id', LABELLED],
])('refuses to release a file with a column that was left out since, by %s', async (_, entry, listed) => {
  const nights = await stopped(listed);

  expect(await releaseUnder(nights, entry)).toMatchObject(LEFT_OUT);
});

test.each([
  ['the list of columns was not kept', UNKNOWN],
  ['the labels were not kept', UNLABELLED],
])('refuses the release if a left-out entry may be a label in the file: %s', async (_, listed) => {
  const nights = await stopped(listed);

  const cause = expect.stringMatching(/ shows which column "National id"/);
  expect(await releaseUnder(nights, 'National id')).toMatchObject({ ended: 'InvalidInput', cause });
  expect(nights.bucket.text('runs/entity=leads/run=of-2026-11-03/_release.json')).toBeUndefined();
});

test('refuses the release by a label that only the newest published file has', async () => {
  const nights = await stopped(LABELLED);
  const excepted = [{ entry: 'Passport', name: 'idNumber', label: 'Passport' }];
  const request = { columns: ['id'] };
  const listed = { ...LABELLED, labels: ['ID'] };
  const later = { request, listed, excepted, plan: 'b'.repeat(64) };
  await nights.night({ date: '2026-11-04', bytes: 'id\n1\n', run: later });
  expect(nights.bucket.text(latestPointerKey('leads'))).toContain('of-2026-11-04');

  expect(await releaseUnder(nights, 'Passport')).toMatchObject(LEFT_OUT);
});

test('releases a file that does not have the left-out column', async () => {
  const nights = await stopped(LABELLED);

  expect(await releaseUnder(nights, 'phone')).toMatchObject({ ended: 'PUBLISHED' });
});
