import { expect, test } from 'vitest';
import { consoleUrl, runbookEntry, shownText, showRun } from '../../../cli/runs/show-run.ts';
import { ERRORS } from '../../../core/errors.ts';
import { run, runState, storedFile } from '../../support/builders.ts';
import { clockAt } from '../../support/clock.ts';
import { DEAD_ADDRESS } from '../../support/http-server.ts';
import { stoppedBy } from '../../support/manifests.ts';
import { runbookEntries } from '../../support/runbook.ts';
import { expectScreen, expectTexts } from '../../support/screen.ts';
import { bucketRefuses } from '../support/cloud/answers.ts';
import { aws, awsWithTarget } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';

const EXPORT = '0b2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e10';
const at = (time: string) => `2026-11-20T${time}.000Z`;
clockAt(at('05:00:00'));

/** The input and the states of the run below. */
const input = { entity: 'leads', scheduledFor: at('01:00:00') };
const begun = runState({ input, checks: 0, run: run({ prefix: 'runs/entity=leads/run=leads-night/' }) });
const ready = { ...begun, checks: 2, outcome: 'READY' };
const stored = { ...ready, outcome: 'STORED', file: storedFile({ bytes: 96_000_000 }) };

const LEADS_MANIFEST = 'runs/entity=leads/run=leads-night/_manifest.json';

/** A run whose create succeeded at the second attempt, with two status checks and two invocations for the file. */
function leadsNight(warningCount = 0): Execution {
  const published = { ...stored, outcome: 'PUBLISHED', manifestKey: LEADS_MANIFEST, rows: 240, warningCount };
  return {
    name: 'leads-night',
    status: 'SUCCEEDED',
    input,
    start: at('01:00:00'),
    stop: at('01:02:00'),
    output: JSON.stringify(published),
    entered: [
      ['BeginRun', at('01:00:00'), input],
      ['CreateExport', at('01:00:00'), runState({ input, checks: 0, run: null })],
      ['WaitBeforeCreate', at('01:00:01'), runState({ input, run: null })],
      ['CreateExport', at('01:00:11'), runState({ input, run: null })],
      ['WaitBeforeCheck', at('01:00:12'), begun],
      ['CheckStatus', at('01:00:27'), begun],
      ['WaitBeforeCheck', at('01:00:27'), { ...begun, checks: 1, outcome: 'PENDING' }],
      ['CheckStatus', at('01:00:50'), { ...begun, checks: 1, outcome: 'PENDING' }],
      ['DownloadFile', at('01:00:50'), ready],
      ['WaitBeforeDownload', at('01:01:20'), { ...ready, outcome: 'CONTINUE' }],
      ['DownloadFile', at('01:01:21'), { ...ready, outcome: 'CONTINUE' }],
      ['PublishFile', at('01:01:51'), stored],
      ['ExportPublished', at('01:02:00'), published],
    ],
  };
}

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

const states = (...entered: [name: string, time: string, state: object][]): Entered =>
  entered.map(([name, time, state]) => [name, at(time), state]);
const empty = runState({ input, run: null });
const waits = { ...after(3), checks: 2, waitSeconds: 60, run: run({ deadline: trouble(1).deadline }) };
const adopted = { ...begun, run: { ...begun.run, adopted: 'leads-before' } };
const rejected = { status: 'FAILED', output: '', error: 'FileRejected', cause: 'The received file is not the export.' };
const table = { ...rejected, input: { entity: 'leads', table: { run: 'leads-nite' } } };
const release = { ...rejected, input: { entity: 'leads', release: 'leads-nite' } };
const repeated = { ...begun, input: { ...input, date: '2026-11-20' }, run: null };

const PARTS: [what: string, phase: string, entered: Entered, changes?: Partial<Execution>][] = [
  [
    'a third try',
    'create',
    [
      ...[1, 2, 3].flatMap(() => states(['WaitBeforeCreate', '01:00:00', empty], ['CreateExport', '01:00:01', empty])),
      ...(night.entered?.slice(4) ?? []),
    ],
  ],
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
    'all attempts to download a file that was not ready',
    'download',
    states(
      ['DownloadFile', '01:00:50', ready],
      ['CheckStatus', '01:01:51', again],
      ['DownloadFile', '01:01:52', ready],
    ),
    running,
  ],
  [
    'that the file came, if the run rejected it',
    'download',
    states(['DownloadFile', '01:00:50', ready], ['RunFailed', '01:00:54', ready]),
    rejected,
  ],
  ['a table for a run without a file', 'table', states(['WriteTable', '01:00:50', empty]), table],
  ['a table that a release did not write', 'table', states(['WriteTable', '01:00:50', empty]), release],
  ['a nightly run that a person started again', 'begin', states(['CreateExport', '01:00:00', repeated])],
];

test('the timeline shows tries, errors and waits of each part of a run', async () => {
  const texts = PARTS.map(async ([what, phase, entered, changes]) => {
    return [what, (await partOf(phase, { ...changes, entered })) ?? 'none'] as const;
  });

  await expectTexts('timeline-parts', await Promise.all(texts));
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
  const broken = await awsWithTarget(bucketRefuses('NoSuchBucket', 404), executions([failed]));
  const whole = await showRun(broken.target, 'leads-night', broken.endpoint);
  expect(whole).toMatchObject({ error: 'ExportFailed', readers: null, makeUp: 'start leads' });
  await expectTexts('show-left-out', [
    ['the pointer', shown.warnings.join('\n')],
    ['the manifest too', without.warnings.join('\n')],
    ['the whole bucket', whole.warnings.join('\n')],
  ]);
  expect(shownText(without, {}).match(/Warning: /g)).toHaveLength(without.warnings.length);
});

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

/** What a person sees of the runs of a night, in 80 columns: published, failed, quarantined and under way. */

const leads = leadsNight(1);
const contacts: Execution = {
  ...{ name: 'contacts-night', status: 'FAILED', input: { entity: 'contacts' } },
  ...{ error: 'ExportFailed', cause: 'The CRM reports it as failed.', start: at('01:10:00'), stop: at('01:10:21') },
  entered: [['RunFailed', at('01:10:21'), begun]],
};
const QUARANTINED = [
  'The file of meetings of 2026-11-20 is stored but not published: it has 1 row, 100 are usual (maxShrink 0.5).',
  'Look at the stopped file: npx --no -- crm-export diff meetings --run meetings-night.',
  'If it is right and can be released: npx --no -- crm-export release meetings-night --reason WHY.',
].join(' ');
const shrunk = { ...stored, input: { entity: 'meetings' } };
const meetings: Execution = {
  ...{ name: 'meetings-night', status: 'FAILED', input: { entity: 'meetings' } },
  ...{ error: 'FileQuarantined', cause: QUARANTINED, start: at('01:20:00'), stop: at('01:25:00') },
  entered: [
    ['PublishFile', at('01:24:00'), shrunk],
    ['RunFailed', at('01:25:00'), { ...shrunk, outcome: 'FAILED' }],
  ],
};
const stillDown = { error: 'CrmUnavailable', status: 503, count: 3, deadline: at('07:00:00') };
const waiting = runState({
  checks: 2,
  waitSeconds: 60,
  trouble: stillDown,
  run: run({ entity: 'customers', deadline: at('07:00:00') }),
});
const customers: Execution = {
  ...{ name: 'customers-night', status: 'RUNNING', input: { entity: 'customers' }, start: at('04:58:00') },
  entered: [
    ['CheckStatus', at('04:59:00'), { ...waiting, trouble: null }],
    ['WaitBeforeCheck', at('04:59:30'), waiting],
  ],
};

const line = (second: number, fields: object) => ({
  timestamp: 1,
  message: JSON.stringify({ level: 'INFO', execution: 'leads-night', timestamp: at(`01:00:0${second}`), ...fields }),
});
const LOGS: Record<string, object[]> = {
  CreateExport: [line(1, { step: 'CreateExport', message: 'created', exportId: 'x', columns: 2 })],
  CheckStatus: [line(3, { level: 'WARN', step: 'CheckStatus', message: 'refused', status: 503, oddities: ['a b'] })],
};

async function aNight() {
  const { name: _, input: __, ...again } = leads;
  const found = await aws(executions([customers, meetings, contacts, leads], { onStart: () => again }), {
    ...{ StopExecution: {}, DescribeRule: { State: 'ENABLED' }, DisableRule: {} },
    FilterLogEvents: ({ input }) => ({ events: LOGS[String(input.logGroupName).split('-').at(-1) ?? ''] ?? [] }),
  });
  const drift = { since: { date: '2026-11-19', execution: 'leads-before' }, removed: [], retyped: [] };
  found.publish({
    manifest: {
      warnings: ['The file has no rows.'],
      drift: { ...drift, added: ['email'], unnamed: 2 },
      guards: { checks: [], comparedWith: [], medianRows: null },
    },
  });
  found.publish({ entity: 'contacts', date: '2026-11-19', execution: 'contacts-before' });
  const before = { entity: 'meetings', date: '2026-11-19', execution: 'meetings-before' } as const;
  found.publish({ ...before, content: 'id,name\n1,a\n2,b\n3,c\n' });
  found.publish({
    ...{ entity: 'meetings', content: 'id,name\n1,a\n2,x\n', pointers: [] },
    manifest: stoppedBy('maxShrink', {
      comparedWith: [{ date: '2026-11-19', execution: 'meetings-before', rows: 100 }],
    }),
  });
  return found;
}

test.each<[screen: string, code: number, command: string]>([
  ['list', 0, 'list'],
  ['show-published', 0, 'show leads-night'],
  ['show-quarantined', 0, 'show meetings-night'],
  ['show-waiting', 0, 'show customers-night'],
  ['follow-failure', 1, 'follow contacts-night'],
  ['logs', 0, 'logs leads-night'],
  ['start', 0, 'start leads contacts'],
  ['start-wait', 0, 'start leads --wait'],
  ['retry', 0, 'retry contacts-night'],
  ['release', 0, 'release meetings-night --reason Holidays'],
  ['stop', 0, 'stop customers-night --yes'],
  ['backfill', 0, 'backfill leads --from 2026-11-18 --to 2026-11-20 --same-data --dry-run'],
  ['pause', 0, 'pause leads'],
  ['resume', 0, 'resume leads'],
  ['plan', 0, 'plan leads --date 2026-03-05 --configuration config/example.json'],
])('prints the screen %s', async (name, code, command) => {
  const result = await expectScreen(name, await aNight(), ...command.split(' '), '--deployment', 'test');

  expect(result.code, result.stderr).toBe(code);
});
