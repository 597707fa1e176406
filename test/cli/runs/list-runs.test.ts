import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { listRuns, runsText } from '../../../cli/runs/list-runs.ts';
import { sinceArgument } from '../../../cli/support/command-options.ts';
import { ERRORS } from '../../../core/errors.ts';
import { expectTexts } from '../../support/screen.ts';
import { aRun } from '../support/a-run.ts';
import { bucketRefuses } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { execution, executions } from '../support/cloud/executions.ts';
import { stack } from '../support/cloud/stack.ts';

const NOW = new Date('2026-11-20T12:00:00Z');
const wanted = { entities: [], since: new Date('2026-11-01'), failed: false };
const silent = { ...wanted, warn: () => undefined };

test('--since accepts a duration or a date, and refuses anything else', () => {
  expect(sinceArgument('7d', NOW)).toEqual(new Date('2026-11-13T12:00:00Z'));
  expect(sinceArgument('12h', NOW)).toEqual(new Date('2026-11-20T00:00:00Z'));
  expect(sinceArgument('2w', NOW)).toEqual(new Date('2026-11-06T12:00:00Z'));
  expect(sinceArgument('2026-11-01', NOW)).toEqual(new Date('2026-11-01T00:00:00Z'));
  for (const text of ['', '7', 'd', '-1d', 'yesterday', '2026-02-30']) expect(() => sinceArgument(text, NOW)).toThrow();
  expect(() => sinceArgument('2026-11-21', NOW)).toThrow();
});

test('a run is joined with its manifest; a failed run has its error and the date that it computed', async () => {
  const late = { start: '2026-11-20T23:30:00.000Z', stop: '2026-11-20T23:31:00.000Z', status: 'FAILED' };
  const dated = { entity: 'leads', date: '2026-11-02' };
  const cloud = await awsWithTarget(
    stack({ TimeZone: 'Asia/Jerusalem' }),
    executions([
      execution('late', { ...late, error: 'RateLimited', cause: 'Too many.' }),
      execution('asked', { ...late, start: '2026-11-20T03:00:00.000Z', input: dated, error: 'X' }),
      execution('leads-night'),
    ]),
  );
  cloud.publish();
  const runs = await listRuns(cloud.target, silent);
  expect(runs).toEqual([
    expect.objectContaining({ run: 'late', error: 'RateLimited', date: '2026-11-21', seconds: 60, standing: null }),
    expect.objectContaining({ run: 'asked', error: 'X', date: '2026-11-02' }),
    expect.objectContaining({
      run: 'leads-night',
      status: 'SUCCEEDED',
      date: '2026-11-20',
      rows: 1,
      bytes: 12,
      seconds: 12,
      standing: 'latest',
    }),
  ]);
  expect(await listRuns(cloud.target, { ...silent, failed: true })).toHaveLength(2);
  expect(await listRuns(cloud.target, { ...silent, entities: ['contacts'] })).toEqual([]);
});

test('a run that failed after its manifest but before the pointers replaces no other run', async () => {
  const failed = { status: 'FAILED', error: 'StorageUnavailable', cause: 'Down.', start: '2026-11-20T05:00:00.000Z' };
  const ran = [execution('leads-later'), execution('leads-again', failed), execution('leads-night')];
  const cloud = await awsWithTarget(executions(ran));
  cloud.publish();
  const startedAt = '2026-11-20T05:00:00.000Z';
  cloud.publish({ execution: 'leads-again', manifest: { startedAt }, pointers: [] });
  cloud.publish({ date: '2026-11-21', execution: 'leads-later' });

  const runs = await listRuns(cloud.target, silent);

  expect(runs.map(({ run, standing, error }) => [run, standing, error])).toEqual([
    ['leads-later', 'latest', null],
    ['leads-again', null, 'StorageUnavailable'],
    ['leads-night', 'current', null],
  ]);
});

test('what cannot be read of the bucket is left out, and reported once', async () => {
  const unreadable: [what: string, pointer: string, manifests: string[]][] = [
    ['a pointer and a manifest of other content', 'no JSON', ['{"schemaVersion":9}']],
    ['those of an earlier release', EARLY, [EARLY, EARLY]],
  ];
  const told: [string, string][] = [];
  for (const [what, pointer, manifests] of unreadable) {
    const cloud = await awsWithTarget(executions([execution('leads-night')]));
    cloud.publish();
    cloud.objects.set('published/entity=leads/latest.json', Buffer.from(pointer));
    for (const [place, manifest] of manifests.entries())
      cloud.objects.set(`runs/entity=leads/run=${place}/_manifest.json`, Buffer.from(manifest));

    const { runs, warnings } = await listed(cloud);

    expect(runs).toMatchObject([{ run: 'leads-night', standing: 'current' }]);
    told.push([what, warnings]);
  }
  const failure = { status: 'FAILED', error: 'RateLimited', cause: 'Too many.' };
  const before = '2026-11-20T00:30:00.000Z';
  const ran = [execution('rule-2', failure), execution('rule-1', { start: before })];

  const { runs, warnings } = await listed(await awsWithTarget(bucketRefuses('AccessDenied', 403), executions(ran)));

  expect(runs).toMatchObject([
    { run: 'rule-2', error: 'RateLimited', date: '2026-11-20' },
    { run: 'rule-1', status: 'SUCCEEDED', entity: 'leads', rows: null },
  ]);
  await expectTexts('list-left-out', [...told, ['the whole bucket', warnings]]);
});

const EARLY = '{"schemaVersion":1,"entity":"leads"}';

/** The runs of a cloud, and the warnings in order. */
async function listed({ target }: Awaited<ReturnType<typeof awsWithTarget>>) {
  const told: string[] = [];
  const runs = await listRuns(target, { ...wanted, warn: (sentence) => void told.push(sentence) });
  return { runs, warnings: told.sort().join('\n') };
}

const row = aRun({
  date: '2026-11-20',
  rows: 1240,
  bytes: 80_073,
  standing: 'latest',
  warningCount: 0,
  kind: 'full',
});
const asked = { deployment: 'test', since: new Date('2026-11-13T00:00:00Z'), failed: false };

test('a pipe gets one line for each run; without a run a terminal gets a sentence, and a pipe nothing', async () => {
  const trouble = { error: 'CrmUnavailable', status: 503, count: 3 };
  const nextTryAt = '2099-11-20T01:01:00.000Z';
  const waiting = { state: 'WaitBeforeCheck', checks: 2, trouble, nextTryAt, deadline: null };
  const terminal = { isTTY: true };

  await expectTexts('list-in-a-pipe', [
    ['three runs', runsText([row, { ...row, warningCount: 2 }, { ...row, waiting }], {}, asked)],
    ['no run, on a terminal', runsText([], terminal, asked)],
    ['no failed run, on a terminal', runsText([], terminal, { ...asked, failed: true })],
    ['no run under way, on a terminal', runsText([], terminal, { ...asked, running: true })],
  ]);
  expect(runsText([], {}, asked)).toBe('');
});

test('every row fits into 80 columns, whatever error ended the run', () => {
  const runs = Object.keys(ERRORS).map((error) => {
    return { ...row, entity: 'agent-numbers', outcome: 'failed', error, rows: 123_456, warningCount: 0 } as const;
  });
  const lines = stripVTControlCharacters(runsText(runs, { isTTY: true }, asked)).split('\n');
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
});
