import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { datesBetween, fillDate } from '../../../cli/runs/backfill.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { denied, refused } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { executions } from '../support/cloud/executions.ts';
import { configured, stack } from '../support/cloud/stack.ts';

const MARCH = ['leads', '--from', '2026-03-01', '--to', '2026-03-03'];

const filteredBy = (value: unknown) =>
  configured({ entities: { leads: { filters: [{ field: 'createdAt', value }] } } });

const running = (name: string, input: object) => ({
  name,
  status: 'RUNNING',
  start: '2026-03-20T12:00:00.000Z',
  input: { entity: 'leads', ...input },
});

test('--dry-run lists published dates and runs under way, from any start, and starts no run', async () => {
  const runs = [
    running('leads-backfill-2026-03-03-2', { date: '2026-03-03' }),
    running('by-hand', { scheduledFor: '2026-03-03T23:30:00Z' }),
    running('of-others', { entity: 'contacts', date: '2026-03-01' }),
  ];
  const cloud = await awsWithTarget(stack({ TimeZone: 'Asia/Jerusalem' }), executions(runs));
  cloud.publish({ date: '2026-03-02' });
  const args = ['leads', '--from', '2026-03-01', '--to', '2026-03-04', '--same-data', '--dry-run'];

  const { stdout } = await cloud.cli('backfill', ...args, '--json');

  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    entity: 'leads',
    dryRun: true,
    dates: [
      { date: '2026-03-01', state: 'missing', run: null, error: null },
      { date: '2026-03-02', state: 'published', run: null, error: null },
      {
        date: '2026-03-03',
        state: 'running',
        run: { run: 'leads-backfill-2026-03-03-2', date: '2026-03-03' },
        error: null,
      },
      { date: '2026-03-04', state: 'running', run: { run: 'by-hand', outcome: 'running' }, error: null },
    ],
  });
  expect(cloud.asked).not.toContain('StartExecution');
});

test('only a full file of the configured plan counts as published', async () => {
  const cloud = await awsWithTarget();
  cloud.publish({ date: '2026-03-01' });
  cloud.publish({ date: '2026-03-02', manifest: { kind: 'partial' } });

  const { stdout } = await cloud.cli('backfill', ...MARCH, '--same-data', '--dry-run', '--json');

  const states = JSON.parse(stdout).dates.map(({ state }: { state: string }) => state);
  expect(states).toEqual(['published', 'missing', 'missing']);
});

test('if a run under way publishes no file for the date, a run of the backfill follows it', async () => {
  const byHand = running('by-hand', { date: '2026-03-01', filters: [] });
  const cloud = await awsWithTarget(denied('StartExecution'), executions([byHand]));
  // The command finds the run twice, then follows it to its end.
  const described = () => cloud.asked.filter((call) => call === 'DescribeExecution').length;
  const status = () => (described() > 2 ? 'SUCCEEDED' : 'RUNNING');
  Object.defineProperty(byHand, 'status', { get: status, enumerable: true });
  const args = ['leads', '--from', '2026-03-01', '--to', '2026-03-01', '--same-data'];

  const followed = await cloud.cli('backfill', ...args);

  await expectTexts('backfill-follows', [['a run under way that publishes no file', followed.stdout]]);
  expect(cloud.asked.filter((call) => call === 'StartExecution')).toHaveLength(1);
});

test('a date that another command publishes at the same time gets no second run', async () => {
  const meanwhile = () => {
    cloud.publish({ date: '2026-03-01' });
    return refused('ExecutionAlreadyExists');
  };
  const cloud: Awaited<ReturnType<typeof awsWithTarget>> = await awsWithTarget(
    { StartExecution: meanwhile },
    executions([]),
  );
  const args = ['leads', '--from', '2026-03-01', '--to', '2026-03-01', '--same-data'];

  const { code, stdout } = await cloud.cli('backfill', ...args, '--json');

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, dates: [{ state: 'published' }] });
  expect(cloud.asked.filter((call) => call === 'StartExecution')).toHaveLength(1);
});

test('a failed run does not stop the runs of other dates, and is reported at the end', async () => {
  const start = '2026-03-20T12:00:00.000Z';
  const onStart = ({ date }: Record<string, unknown>) => {
    if (date === '2026-03-01') return { status: 'FAILED', start, stop: start, error: 'ExportFailed' };
    cloud.publish({ date: String(date) });
    return { status: 'SUCCEEDED', start, stop: start };
  };
  const cloud: Awaited<ReturnType<typeof awsWithTarget>> = await awsWithTarget(executions([], { onStart, page: 9 }));

  const { code, stdout, stderr } = await cloud.cli('backfill', ...MARCH, '--same-data', '--concurrency', '1', '--json');

  expect(code).toBe(1);
  const dates = [{ state: 'failed', error: 'ExportFailed' }, { state: 'published' }, { state: 'published' }];
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, dates });
  await expectTexts('backfill-failed', [['a failed run between others', stderr]]);
});

test('each refusal of a backfill has a sentence, and no run starts', async () => {
  const { cli, asked } = await awsWithTarget(filteredBy('2026-03-01'), stack({ TimeZone: 'Asia/Jerusalem' }));
  const { cli: denying } = await awsWithTarget(denied('StartExecution'));
  const to = (date: string) => ['leads', '--from', '2026-02-28', '--to', date];
  const tomorrow = await cli('backfill', ...to('2999-01-01'), '--same-data');

  await expectResults('backfill-refusals', [
    ['a plan that does not depend on the date', await cli('backfill', ...MARCH)],
    ['a date that does not exist', await cli('backfill', ...to('2026-02-30'))],
    ['a denied call', await denying('backfill', ...MARCH, '--same-data', '--concurrency', '1')],
  ]);
  expect([tomorrow.code, asked]).toEqual([2, []]);
});

test('a range contains every date, across months, years and a leap day', () => {
  expect(datesBetween('2024-02-28', '2024-03-01')).toEqual(['2024-02-28', '2024-02-29', '2024-03-01']);
  expect(datesBetween('2025-12-31', '2026-01-01')).toEqual(['2025-12-31', '2026-01-01']);
  expect(datesBetween('2026-01-01', '2026-01-01')).toEqual(['2026-01-01']);
  expect(datesBetween('2000-01-01', '2026-11-22')).toHaveLength(9823);
});

test('after Ctrl-C, no run starts', async () => {
  const cloud = await awsWithTarget();

  const changes = Readable.from(fillDate(cloud.target, 'leads', '2026-03-01', AbortSignal.abort()));

  await expect(changes.toArray()).rejects.toThrow();
  expect(cloud.asked).not.toContain('StartExecution');
});
