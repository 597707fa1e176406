import { describe, expect, test } from 'vitest';
import { consoleUrl, runbookEntry, shownText, showRun } from '../../../cli/runs/show-run.ts';
import { ERRORS } from '../../../core/errors.ts';
import { run, runState } from '../../support/builders.ts';
import { clockAt } from '../../support/clock.ts';
import { DEAD_ADDRESS } from '../../support/http-server.ts';
import { runbookEntries } from '../../support/runbook.ts';
import { expectScreen, expectTexts } from '../../support/screen.ts';
import { bucketRefuses } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { begun, input, LEADS_MANIFEST, leadsNight, ready } from '../support/leads-night.ts';

const EXPORT = '0b2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e10';
const at = (time: string) => `2026-11-20T${time}.000Z`;
const night = leadsNight();
const FAILED = { outcome: 'FAILED', failure: { error: 'ExportFailed', cause: 'It failed.' } };

const failed: Execution = {
  ...night,
  status: 'FAILED',
  stop: at('01:00:21'),
  error: 'ExportFailed',
  cause: `The CRM reports that export ${EXPORT} of leads failed.\n${ERRORS.ExportFailed.advice}`,
  output: '',
  entered: [
    ['CreateExport', at('01:00:00'), runState({ input, run: null })],
    ['WaitBeforeCheck', at('01:00:02'), begun],
    ['CheckStatus', at('01:00:20'), begun],
    ['RunFailed', at('01:00:21'), { ...begun, ...FAILED }],
  ],
};

test('show of a failed run prints its error and cause, and no part of its input', async () => {
  const secret = { entity: 'leads', filters: [{ field: 'email', operator: 'eq', value: 'someone@example.org' }] };
  const entered = failed.entered?.map(([name, time, state]): Entered[number] => [
    name,
    time,
    { ...state, input: secret },
  ]);
  const cloud = await awsWithTarget(executions([{ ...failed, input: secret, entered: entered ?? [] }]));
  cloud.publish({ execution: 'leads-before', date: '2026-11-19' });

  const { code, stdout } = await expectScreen('show-failure', cloud, 'show', 'leads-night', '--deployment', 'test');
  const shown = await showRun(cloud.target, 'leads-night', undefined);

  expect(code).toBe(0);
  expect(stdout + JSON.stringify(shown)).not.toContain('someone@example.org');
});

/** The text of one part of the timeline of a run that differs from `night`. */
async function partOf(phase: string, changes: Partial<Execution>): Promise<string | undefined> {
  const cloud = await awsWithTarget(executions([{ ...night, ...changes }]));
  const { timeline } = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  return timeline.find((moment) => moment.phase === phase)?.text;
}

type Entered = NonNullable<Execution['entered']>;
const trouble = (count: number, status: number | null = 503) => ({
  ...{ error: 'CrmUnavailable', status, count, deadline: '2099-11-20T07:00:00.000Z' },
});
const after = (count: number, status?: number | null) => ({
  ...{ ...begun, outcome: 'PENDING', trouble: trouble(count, status) },
});
const running = { status: 'RUNNING', output: '' };
const again = { ...ready, outcome: 'NOT_READY', trouble: null };

function createdAt(count: number): Entered {
  const empty = runState({ input, run: null });
  const tries = Array.from(
    { length: count },
    (_, index): Entered => [
      [index === 0 ? 'BeginRun' : 'WaitBeforeCreate', at('01:00:00'), empty],
      ['CreateExport', at('01:00:01'), empty],
    ],
  );
  return [...tries.flat(), ...(night.entered?.slice(4) ?? [])];
}

const states = (...entered: [name: string, time: string, state: object][]): Entered =>
  entered.map(([name, time, state]) => [name, at(time), state]);
const empty = runState({ input, run: null });
const waits = { ...after(3), checks: 2, waitSeconds: 60, run: run({ deadline: trouble(1).deadline }) };
const adopted = { ...begun, run: { ...begun.run, adopted: 'leads-before' } };
const rejected = { status: 'FAILED', output: '', error: 'FileRejected', cause: 'The received file is not the export.' };
const repeated = { ...begun, input: { ...input, date: '2026-11-20' }, run: null };

const PARTS: [what: string, phase: string, entered: Entered, changes?: Partial<Execution>][] = [
  ['a third try', 'create', createdAt(3)],
  [
    'an adopted export',
    'create',
    states(['CreateExport', '01:00:00', empty], ['WaitBeforeCheck', '01:00:05', adopted]),
  ],
  [
    'errors of several kinds, each with its count',
    'check',
    [
      ...states(
        ['CheckStatus', '01:00:27', begun],
        ['WaitBeforeCheck', '01:00:28', after(1)],
        ['CheckStatus', '01:00:43', after(1)],
        ['WaitBeforeCheck', '01:00:44', after(2)],
        ['CheckStatus', '01:00:59', after(2)],
        ['WaitBeforeCheck', '01:01:00', after(3, null)],
        ['CheckStatus', '01:01:10', after(3, null)],
      ),
      ...(night.entered?.slice(8) ?? []),
    ],
  ],
  [
    'the state of a run, and why it waits',
    'check',
    states(['CheckStatus', '01:05:30', begun], ['WaitBeforeCheck', '01:06:00', waits]),
    running,
  ],
  [
    'a wait for a file that was not ready',
    'check',
    states(['DownloadFile', '01:00:50', ready], ['WaitBeforeCheck', '01:00:51', again]),
    running,
  ],
  [
    'that the file came, if the run rejected it',
    'download',
    states(['DownloadFile', '01:00:50', ready], ['RunFailed', '01:00:54', ready]),
    rejected,
  ],
  ['a nightly run that a person started again', 'begin', states(['CreateExport', '01:00:00', repeated])],
];

describe('the timeline', () => {
  clockAt('2026-11-20T05:00:00Z');

  test('shows tries, errors and waits of each part of a run', async () => {
    const texts = PARTS.map(async ([what, phase, entered, changes]) => {
      return [what, (await partOf(phase, { ...changes, entered })) ?? 'none'] as const;
    });

    await expectTexts('timeline-parts', await Promise.all(texts));
  });
});

test.each([
  ['aws-cn:states:cn-north-1', undefined, /^https:\/\/cn-north-1\.console\.amazonaws\.cn\/states\//],
  ['aws:states:eu-west-1', DEAD_ADDRESS, /^null$/],
])('the execution in %s (endpoint %s) has its page in the console of the partition', (where, endpoint, url) => {
  expect(String(consoleUrl(`arn:${where}:1:execution:m:x`, endpoint))).toMatch(url);
});

test('every error and failed status of a run has an entry in the runbook', () => {
  const entries = new Set(runbookEntries().map(({ id }) => `docs/runbook.md#${id.toLowerCase()}`));
  const foreign = ['StoppedByOperator', 'States.Timeout', 'States.DataLimitExceeded', 'toString'];
  for (const error of [...Object.keys(ERRORS), ...foreign, null]) {
    for (const status of ['FAILED', 'TIMED_OUT', 'ABORTED']) expect(entries).toContain(runbookEntry(error, status));
  }
  expect(runbookEntry('ExportFailed', 'FAILED')).toBe('docs/runbook.md#exportfailed');
  expect(runbookEntry('StoppedByOperator', 'ABORTED')).toBe('docs/runbook.md#executionsaborted');
  expect(runbookEntry('States.Timeout', 'TIMED_OUT')).toBe('docs/runbook.md#timedout');
  expect([runbookEntry(null, 'SUCCEEDED'), runbookEntry(null, 'RUNNING')]).toEqual([null, null]);
});

test('if manifest, pointer or bucket cannot be read, show prints what it knows with a warning', async () => {
  const cloud = await awsWithTarget(executions([night]));
  cloud.publish();
  cloud.objects.set('published/entity=leads/latest.json', Buffer.from('no JSON'));
  const shown = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(shown).toMatchObject({ standing: 'current', warnings: [expect.any(String)] });
  cloud.objects.set(LEADS_MANIFEST, Buffer.from('{"schemaVersion":9}'));
  const without = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(without).toMatchObject({ standing: null, rows: 240, status: 'SUCCEEDED' });
  await expectTexts('show-left-out', [
    ['the pointer', shown.warnings.join('\n')],
    ['the manifest too', without.warnings.join('\n')],
    ['the whole bucket', (await withoutBucket()).warnings.join('\n')],
  ]);
  expect(shownText(without, {}).match(/Warning: /g)).toHaveLength(without.warnings.length);
});

/** The screen of a failed run whose bucket is missing. */
async function withoutBucket() {
  const cloud = await awsWithTarget(bucketRefuses('NoSuchBucket', 404), executions([failed]));
  const shown = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(shown).toMatchObject({ error: 'ExportFailed', readers: null, makeUp: 'start leads' });
  return shown;
}

test('show of a failed run names the published files of its date and the latest', async () => {
  const cloud = await awsWithTarget(executions([failed]));
  const shown = async () => showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(await shown()).toMatchObject({ readers: { ofDate: null, latest: null }, makeUp: 'start leads' });
  cloud.publish({ execution: 'leads-before', date: '2026-11-19' });
  expect(await shown()).toMatchObject({ readers: { ofDate: null, latest: { run: 'leads-before' } } });
  cloud.publish({ execution: 'leads-again' });
  expect(await shown()).toMatchObject({ readers: { ofDate: { run: 'leads-again' } }, makeUp: null });
});

const OWN_PLAN = { input: { entity: 'leads', columns: ['id'] } };
const endsIn = (state: object): Execution['entered'] => [['RunFailed', at('01:00:21'), state]];

test.each<[what: string, execution: Partial<Execution>, makeUp: string | null]>([
  [
    'whose export a retry adopts',
    { status: 'ABORTED', error: 'StoppedByOperator', entered: [['WaitBeforeCheck', at('01:00:05'), begun]] },
    'retry leads-night',
  ],
  [
    'that waited for the CRM past its date',
    { entered: endsIn(runState({ input, run: null, date: '2026-11-19', waits: 1 })) },
    'retry leads-night',
  ],
  [
    'of a plan with dates',
    { entered: endsIn({ ...begun, run: run({ kind: 'window' }), outcome: 'FAILED' }) },
    'start leads --date 2026-11-20',
  ],
  ['of an input of its own', OWN_PLAN, 'retry leads-night'],
  ['with an invalid input', { error: 'InvalidInput' }, null],
  ['with too large an input', { error: 'States.DataLimitExceeded' }, null],
  ['whose name needs quoting in a shell', { name: "it's(mine)!", ...OWN_PLAN }, `retry 'it'\\''s(mine)!'`],
])('the command that replaces a failed run %s is right', async (_, changes, makeUp) => {
  const execution = { ...failed, ...changes };
  const cloud = await awsWithTarget(executions([execution]));
  expect(await showRun(cloud.target, execution.name, cloud.endpoint)).toMatchObject({ makeUp });
});

test('a run stopped during PublishFile is published, not published, or unknown, as the pointer says', async () => {
  const entered = night.entered?.slice(0, -1) ?? [];
  const stopped = executions([{ ...night, status: 'ABORTED', output: '', entered }]);
  const lineOf = async ({ target, endpoint }: Awaited<ReturnType<typeof awsWithTarget>>) =>
    (await showRun(target, 'leads-night', endpoint)).timeline.find(({ phase }) => phase === 'publish')?.text ?? '';
  const [named, other] = [await awsWithTarget(stopped), await awsWithTarget(stopped)];
  named.publish();
  other.publish({ pointers: [] });
  other.publish({ execution: 'leads-before', date: '2026-11-19' });

  await expectTexts('stopped-publication', [
    ['The pointer names the run', await lineOf(named)],
    ['The pointer names another run, and the run wrote its manifest', await lineOf(other)],
    ['The bucket cannot be read', await lineOf(await awsWithTarget(stopped, bucketRefuses('AccessDenied', 403)))],
  ]);
});
