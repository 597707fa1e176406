import { expect, test } from 'vitest';
import { type BackfillDate, fillDates } from '../../../cli/runs/backfill.ts';
import { aws } from '../support/cloud/cloud.ts';

const missing = (): BackfillDate => ({ date: '2026-03-01', state: 'missing', run: null, error: null });
const options = (signal = new AbortController().signal) => ({ concurrency: 1, signal, onChange: () => {} });

test('a date that was published since the calendar was made is not started', async () => {
  const cloud = await aws();
  cloud.publish({ date: '2026-03-01' });
  const dates = [missing()];

  await fillDates(cloud.target, 'leads', dates, options());

  expect(dates).toEqual([{ ...missing(), state: 'published' }]);
  expect(cloud.asked).not.toContain('StartExecution');
});

test('after Ctrl-C nothing is started, however far a date was looked at', async () => {
  const cloud = await aws();
  const dates = [missing(), { ...missing(), date: '2026-03-02' }];

  await expect(fillDates(cloud.target, 'leads', dates, options(AbortSignal.abort()))).rejects.toThrow();

  expect(dates.map(({ state }) => state)).toEqual(['missing', 'missing']);
  expect(cloud.asked).not.toContain('StartExecution');
});
