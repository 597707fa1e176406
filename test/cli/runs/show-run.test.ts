import { describe, expect, test } from 'vitest';
import { addShow, linksOf, runbookEntry, shownText, showRun } from '../../../cli/runs/show-run.ts';
import { ERRORS } from '../../../core/errors.ts';
import { run, runState, storedFile } from '../../support/builders.ts';
import { runbookEntries } from '../../support/runbook.ts';
import { expectScreen } from '../../support/screen.ts';
import { bucketRefuses } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { arnOf } from '../support/cloud/stack.ts';
import { useCommands } from '../support/run-cli.ts';

useCommands({ show: addShow });

const EXPORT = '0b2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e10';
const at = (time: string) => `2026-11-20T${time}.000Z`;
const input = { entity: 'leads', scheduledFor: at('01:00:00') };
const begun = runState({ input, checks: 0, run: run({ prefix: 'runs/entity=leads/run=leads-night/' }) });
const ready = { ...begun, checks: 2, outcome: 'READY' };
const stored = { ...ready, outcome: 'STORED', file: storedFile({ bytes: 96_000_000 }) };
const MANIFEST = 'runs/entity=leads/run=leads-night/_manifest.json';
const published = { ...stored, outcome: 'PUBLISHED', manifestKey: MANIFEST, rows: 240 };

/** A run whose create succeeded at the second attempt, with two status checks and two invocations for the file. */
const night: Execution = {
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

test('a run is shown as a timeline in plain words, with how long each part took', async () => {
  const cloud = await aws(executions([night]));
  cloud.publish({ manifest: { warnings: ['The file has no rows.'] } });
  const shown = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(shown.timeline).toEqual([
    { at: at('01:00:00'), phase: 'begin', seconds: null, text: 'Started by the nightly rule, due at 01:00 UTC.' },
    {
      at: at('01:00:00'),
      phase: 'create',
      seconds: 12,
      text: `Export ${EXPORT} of 2026-11-20 created at the 2nd try, with 2 columns.`,
    },
    {
      at: at('01:00:12'),
      phase: 'check',
      seconds: 38,
      text: 'Status: 2 checks over 38.0 s: the export is ready.',
    },
    { at: at('01:00:50'), phase: 'download', seconds: 61, text: 'File moved: 96.0 MB in 2 invocations at 1.6 MB/s.' },
    { at: at('01:01:51'), phase: 'publish', seconds: 9, text: 'Checked every byte and 240 rows, then published.' },
    { at: at('01:02:00'), phase: 'end', seconds: null, text: 'Published, 2 min after the start.' },
  ]);
  expect(shown).toMatchObject({ standing: 'latest', checks: 2, rows: 240, seconds: 120, runbook: null });
  const text = shownText(shown, {});
  expect(text).toMatch(/^leads-night: leads of 2026-11-20, published, 240 rows, 96\.0 MB, the latest\n/);
  expect(text).toContain('Warning: The file has no rows.');
  expect(text).toContain(`Local cloud: ${cloud.endpoint}`);
});

test('a failed run has its error, its cause and the entry of the runbook, and no input of a person', async () => {
  const secret = { entity: 'leads', filters: [{ field: 'email', operator: 'eq', value: 'someone@example.org' }] };
  const failing = {
    ...begun,
    input: secret,
    outcome: 'FAILED',
    failure: { error: 'ExportFailed', cause: 'It failed.' },
  };
  const cloud = await aws(
    executions([
      {
        ...night,
        status: 'FAILED',
        stop: at('01:00:21'),
        error: 'ExportFailed',
        cause: `The CRM reports that export ${EXPORT} of leads failed.\n${ERRORS.ExportFailed.advice}`,
        input: secret,
        output: '',
        entered: [
          ['CreateExport', at('01:00:00'), runState({ input: secret, run: null })],
          ['WaitBeforeCheck', at('01:00:02'), { ...begun, input: secret }],
          ['CheckStatus', at('01:00:20'), { ...begun, input: secret }],
          ['RunFailed', at('01:00:21'), failing],
        ],
      },
    ]),
  );
  cloud.publish({ execution: 'leads-before', date: '2026-11-19' });

  const { code, stdout } = await expectScreen('show-failure', cloud, 'show', 'leads-night', '--deployment', 'test');
  const shown = await showRun(cloud.target, arnOf('leads-night'), undefined);

  expect(code).toBe(0);
  expect(Object.keys(shown.links.logGroups)).toHaveLength(6);
  expect(stdout + JSON.stringify(shown)).not.toContain('someone@example.org');
});

test('a command that the cause of a run names can be pasted', async () => {
  const start = at('01:00:00');
  const cause = 'The CRM refused. Authorize again: npx --no -- crm-export authorize. No export runs until then.';
  const failed = { status: 'FAILED', input: { entity: 'leads' }, start, stop: start };
  const cloud = await aws(executions([{ name: 'x', ...failed, error: 'ReauthorizationRequired', cause }]));

  const { stdout } = await cloud.cli('show', 'x', '--region', 'eu-central-1');

  expect(stdout).toMatch(
    /: npx --no -- crm-export authorize --region eu-central-1 --endpoint-url \S+ --deployment test\. No export/,
  );
});

test('a run that goes on is reported up to the state in which it is', async () => {
  const entered = night.entered?.slice(0, 7) ?? [];
  const { stop: _, output: __, ...going } = night;
  const cloud = await aws(executions([{ ...going, status: 'RUNNING', entered }]));
  const shown = await showRun(cloud.target, 'leads', cloud.endpoint);
  expect(shown.timeline.at(-1)).toMatchObject({
    phase: 'check',
    text: expect.stringMatching(/\(now in WaitBeforeCheck, 1 check, next try .*\)\.$/),
  });
  expect(shownText(shown, {})).toMatch(/^leads-night: leads of 2026-11-20, under way\n/);
});

test('a run that Step Functions has forgotten is reported from its manifest', async () => {
  const cloud = await aws();
  cloud.publish({ execution: 'leads-old', manifest: { startedAt: '2026-11-20T00:30:00.000Z' } });
  cloud.publish({ execution: 'leads-night' });
  const shown = await showRun(cloud.target, 'leads-old', cloud.endpoint);
  expect(shown).toMatchObject({ status: null, executionArn: null, entity: 'leads', rows: 1, standing: 'superseded' });
  expect(shownText(shown, {})).toMatch(
    /^leads-old: leads of 2026-11-20, published, 1 row, 12 B, superseded by a later run\n/,
  );
  expect((await showRun(cloud.target, 'leads', cloud.endpoint)).run).toBe('leads-night');
});

test('a run that nobody knows is refused with what is near to it', async () => {
  const cloud = await aws(executions([night]));
  await expect(showRun(cloud.target, 'leads-nihgt', cloud.endpoint)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('(did you mean "leads-night"?)'),
  });
});

test('links lead to the console of the partition, the log group encoded as the console wants it', () => {
  const target = { downloadLogGroup: '/aws/lambda/crm-export-prod-DownloadFile' };
  const links = linksOf(target, 'arn:x', 'arn:aws-cn:states:cn-north-1:1:stateMachine:m', undefined);
  expect(links.execution).toMatch(/^https:\/\/cn-north-1\.console\.amazonaws\.cn\/states\//);
  expect(links.logGroups.CheckStatus).toMatch(/log-group\/\$252Faws\$252Flambda\$252Fcrm-export-prod-CheckStatus$/);
  expect(
    linksOf(target, 'arn:x', 'arn:aws:states:eu-west-1:1:stateMachine:m', 'http://127.0.0.1:1').execution,
  ).toBeNull();
});

test('every way in which a run ends badly has an entry in the runbook', () => {
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

test('a run that was ended from outside leads to the runbook, though it names no error', async () => {
  const entered = night.entered?.slice(0, 7) ?? [];
  const cloud = await aws(executions([{ ...night, status: 'ABORTED', output: '', entered }]));
  const text = shownText(await showRun(cloud.target, 'leads-night', cloud.endpoint), {});
  expect(text).toContain('ABORTED: no cause was given.\n  Runbook: docs/runbook.md#executionsaborted');
});

test('a run whose manifest or pointer cannot be read is reported as far as it is known, with that as a warning', async () => {
  const cloud = await aws(executions([night]));
  cloud.publish();
  cloud.objects.set('published/entity=leads/latest.json', Buffer.from('no JSON'));
  const shown = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(shown).toMatchObject({ standing: 'current', warnings: [expect.stringMatching(/latest\.json does not hold/)] });
  cloud.objects.set(MANIFEST, Buffer.from('{"schemaVersion":9}'));
  const without = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(without).toMatchObject({ standing: null, rows: 240, status: 'SUCCEEDED' });
  expect(shownText(without, {})).toMatch(/Warning: The object \S+_manifest\.json does not hold what it should/);
});

test('a nightly run that was retried is not shown as one that a rule started', async () => {
  const again = { ...begun, input: { ...input, date: '2026-11-20' } };
  const entered: Execution['entered'] = [
    ['CreateExport', at('01:00:00'), { ...again, run: null }],
    ['WaitBeforeCheck', at('01:00:02'), again],
  ];
  const cloud = await aws(executions([{ ...night, status: 'FAILED', output: '', entered }]));
  const { timeline } = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(timeline[0]?.text).toBe('Started again by a person or a program.');
});

test('a run that waits tells how often it was refused, the next try and the deadline', async () => {
  const begun = runState({ input, checks: 2, run: run({ deadline: '2099-11-20T07:00:00.000Z' }) });
  const trouble = { error: 'CrmUnavailable', status: 503, count: 3, deadline: '2099-11-20T07:00:00.000Z' };
  const waits = { ...begun, outcome: 'PENDING', waitSeconds: 60, trouble };
  const entered: Execution['entered'] = [
    ['CreateExport', at('01:00:00'), runState({ input, checks: 0, run: null })],
    ...[1, 2, 3, 4, 5].flatMap(
      (look): NonNullable<Execution['entered']> => [
        ['WaitBeforeCheck', at(`01:0${look}:00`), look < 4 ? { ...begun, checks: look - 1 } : waits],
        ['CheckStatus', at(`01:0${look}:30`), look < 4 ? { ...begun, checks: look - 1 } : waits],
      ],
    ),
    ['WaitBeforeCheck', at('01:06:00'), waits],
  ];
  const { stop: _, output: __, ...going } = night;
  const cloud = await aws(executions([{ ...going, status: 'RUNNING', entered }]));
  const shown = await showRun(cloud.target, 'leads', cloud.endpoint);
  expect(shown.timeline.map(({ phase }) => phase)).toEqual(['begin', 'create', 'check']);
  expect(shown.timeline.at(-1)?.text).toMatch(
    /^Status: 5 checks over .*; 1 answered 503 \(now in WaitBeforeCheck, 2 checks, the last 3 refused: 503, next try (\S+ )?01:07:00, deadline 2099-11-20 07:00:00 UTC\)\.$/,
  );
  expect(shown.waiting).toMatchObject({ checks: 2, nextTryAt: at('01:07:00'), trouble: { count: 3, status: 503 } });
});

test('faults that a run outlived are counted where they were', async () => {
  const trouble = (count: number, status: number | null = 503) => ({
    error: 'CrmUnavailable',
    status,
    count,
    deadline: '2026-11-20T02:00:00.000Z',
  });
  const retried = runState({ input, checks: 0, run: null, outcome: 'RETRY', trouble: trouble(1, 429) });
  const after = (count: number, status?: number | null) => ({
    ...begun,
    outcome: 'PENDING',
    trouble: trouble(count, status),
  });
  const entered: Execution['entered'] = [
    ['CreateExport', at('01:00:00'), runState({ input, checks: 0, run: null })],
    ['WaitBeforeCreate', at('01:00:01'), retried],
    ['CreateExport', at('01:00:11'), retried],
    ['WaitBeforeCheck', at('01:00:12'), begun],
    ['CheckStatus', at('01:00:27'), begun],
    ['WaitBeforeCheck', at('01:00:28'), after(1)],
    ['CheckStatus', at('01:00:43'), after(1)],
    ['WaitBeforeCheck', at('01:00:44'), after(2)],
    ['CheckStatus', at('01:00:59'), after(2)],
    ['WaitBeforeCheck', at('01:01:00'), after(3, null)],
    ['CheckStatus', at('01:01:10'), after(3, null)],
    ...(night.entered?.slice(8) ?? []),
  ];
  const cloud = await aws(executions([{ ...night, entered }]));
  const { timeline } = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(timeline.slice(1, 3).map(({ text }) => text)).toEqual([
    `Export ${EXPORT} of 2026-11-20 created at the 2nd try, with 2 columns; 1 answered 429.`,
    'Status: 4 checks over 58.0 s: the export is ready; 2 answered 503; 1 failed with CrmUnavailable.',
  ]);
});

test('a wait behind a file that was not there yet is no wait before the first look', async () => {
  const again = { ...ready, outcome: 'NOT_READY', trouble: null };
  const entered: Execution['entered'] = [
    ['DownloadFile', at('01:00:50'), ready],
    ['WaitBeforeCheck', at('01:00:51'), again],
  ];
  const { stop: _, output: __, ...going } = night;
  const cloud = await aws(executions([{ ...going, status: 'RUNNING', entered }]));
  const { timeline } = await showRun(cloud.target, 'leads', cloud.endpoint);
  expect(timeline.at(-1)?.text).toMatch(/^Waited before a check of the status \(now in WaitBeforeCheck, /);
});

test('a status that is ready does not tell of the refusals of the file before it', async () => {
  const trouble = { error: 'ExportNotReady', status: 409, count: 2, deadline: '2099-11-20T07:00:00.000Z' };
  const again = { ...ready, outcome: 'NOT_READY', trouble };
  const entered: Execution['entered'] = [
    ['WaitBeforeCheck', at('01:00:51'), again],
    ['CheckStatus', at('01:00:55'), again],
    ['DownloadFile', at('01:00:56'), { ...ready, trouble }],
  ];
  const { stop: _, output: __, ...going } = night;
  const cloud = await aws(executions([{ ...going, status: 'RUNNING', entered }]));
  const { timeline } = await showRun(cloud.target, 'leads', cloud.endpoint);
  expect(timeline.find(({ phase }) => phase === 'check')?.text).toMatch(/: the export is ready\.$/);
});

const failed: Execution = {
  ...night,
  status: 'FAILED',
  error: 'ExportFailed',
  cause: 'It failed.',
  output: '',
  entered: [
    ['CreateExport', at('01:00:00'), runState({ input, run: null })],
    [
      'RunFailed',
      at('01:00:21'),
      { ...begun, outcome: 'FAILED', failure: { error: 'ExportFailed', cause: 'It failed.' } },
    ],
  ],
};

test('a failed run tells what readers have, and the command that makes it up', async () => {
  const cloud = await aws(executions([failed]));
  const text = async () => shownText(await showRun(cloud.target, 'leads-night', cloud.endpoint), {});
  expect(await text()).toContain('Readers have no leads at all.\n  To make it up: start leads\n');
  cloud.publish({ execution: 'leads-before', date: '2026-11-19' });
  expect(await text()).toContain(
    'Readers have nothing of 2026-11-20, still leads of 2026-11-19, from leads-before.\n  To make it up: start leads',
  );
  cloud.publish({ execution: 'leads-again' });
  expect(await text()).toContain('Readers have leads of 2026-11-20, from leads-again.\n');
  expect(await text()).not.toContain('To make it up');
});

test('a failed run whose export a retry adopts is made up by a retry', async () => {
  const state = { ...begun, machineVersion: 2 };
  const entered: Execution['entered'] = [['WaitBeforeCheck', at('01:00:05'), state]];
  const stopped = { ...failed, status: 'ABORTED', error: 'StoppedByOperator', entered };
  const cloud = await aws(executions([stopped]));
  expect(await showRun(cloud.target, 'leads-night', cloud.endpoint)).toMatchObject({ makeUp: 'retry leads-night' });
});

test('an adopted export is shown as that of the run that had requested it, also where only the manifest is left', async () => {
  const run = { ...begun.run, adopted: 'leads-before' };
  const entered: Execution['entered'] = [
    ['CreateExport', at('01:00:00'), runState({ input, run: null })],
    ['WaitBeforeCheck', at('01:00:05'), { ...begun, run }],
  ];
  const cloud = await aws(executions([{ ...failed, entered }]));
  const { timeline } = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(timeline.find(({ phase }) => phase === 'create')?.text).toMatch(
    /^Export \S{36} of \S+ adopted from leads-before, /,
  );

  const adopted = { adopted: 'leads-before' };
  const { run: made } = cloud.publish({ execution: 'leads-old', manifest: adopted });
  const forgotten = await showRun(cloud.target, 'leads-old', cloud.endpoint);
  expect(forgotten.timeline[1]).toMatchObject({
    at: forgotten.timeline[0]?.at,
    text: `Export ${made.exportId} of 2026-11-20 adopted from leads-before: created at ${made.createdAt}.`,
  });
});

test('a failed run that had waited for the CRM is made up for the date of its start, not of the day on which its rule fired', async () => {
  const waited = runState({ input, run: null, date: '2026-11-19', waits: 1 });
  const entered: Execution['entered'] = [['RunFailed', at('01:00:21'), waited]];
  const cloud = await aws(executions([{ ...failed, entered }]));
  expect(await showRun(cloud.target, 'leads-night', cloud.endpoint)).toMatchObject({
    date: '2026-11-19',
    makeUp: 'retry leads-night',
  });
});

test('a failed run of a plan with dates is made up for its date', async () => {
  const window = { ...begun, run: run({ kind: 'window' }), outcome: 'FAILED' as const };
  const entered: Execution['entered'] = [['RunFailed', at('01:00:21'), window]];
  const cloud = await aws(executions([{ ...failed, entered }]));
  expect(await showRun(cloud.target, 'leads-night', cloud.endpoint)).toMatchObject({
    makeUp: 'start leads --date 2026-11-20',
  });
});

test('a failed run of an input of its own is made up by a retry', async () => {
  const own = { ...failed, input: { entity: 'leads', columns: ['id'] } };
  const cloud = await aws(executions([own]));
  expect(await showRun(cloud.target, 'leads-night', cloud.endpoint)).toMatchObject({
    readers: { ofDate: null, latest: null },
    makeUp: 'retry leads-night',
  });
});

test.each(['InvalidInput', 'States.DataLimitExceeded'])(
  'a run that ended in %s is not made up by the same input',
  async (error) => {
    const cloud = await aws(executions([{ ...failed, error }]));
    expect(await showRun(cloud.target, 'leads-night', cloud.endpoint)).toMatchObject({
      readers: { ofDate: null, latest: null },
      makeUp: null,
    });
  },
);

test('the command can be pasted, whatever name a person gave the run', async () => {
  const run = "it's(mine)!";
  const cloud = await aws(executions([{ ...failed, name: run, input: { entity: 'leads', columns: ['id'] } }]));
  const shown = await showRun(cloud.target, run, cloud.endpoint);
  expect(shown.makeUp).toBe(`retry 'it'\\''s(mine)!'`);
});

test('a failed run is shown also where the bucket is gone, which may be why it failed', async () => {
  const cloud = await aws(bucketRefuses('NoSuchBucket', 404), executions([failed]));
  const shown = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  expect(shown).toMatchObject({ error: 'ExportFailed', readers: null, makeUp: 'start leads' });
  expect(shown.warnings).toEqual([
    expect.stringMatching(/^What readers have, .* are not known: the bucket could not be read\. .*gone/),
  ]);
});

test('the columns that changed are named, each once: those that warned, those that are accepted, other labels', async () => {
  const cloud = await aws(executions([night]));
  const warning = 'Columns that the CRM no longer lists since the export of 2026-11-19: "phone".';
  const drift = {
    since: { date: '2026-11-19', execution: 'leads-before' },
    added: ['email'],
    removed: ['phone'],
    retyped: [],
    unnamed: 2,
    relabelled: [{ name: 'name', from: 'שם', to: 'שם מלא' }],
  };
  cloud.publish({ manifest: { warnings: [warning], drift } });

  const shown = await showRun(cloud.target, 'leads-night', cloud.endpoint);
  const text = shownText(shown, {});

  expect(shown.drift).toEqual(drift);
  expect(text.split(warning)).toHaveLength(2);
  expect(text).toContain('\n  Columns that the CRM lists newly since the export of 2026-11-19: "email".\n');
  expect(text).toContain('Columns with another label than at the export of 2026-11-19: "name" (שם מלא, was שם).');
  expect(text).toContain('Further changes of columns that are not named: 2.');
});

test.each([
  [2, '2nd'],
  [3, '3rd'],
  [11, '11th'],
  [92, '92nd'],
])('an export that was created at try %i is shown as that of the %s', async (count, ordinal) => {
  const again = runState({ input, run: null });
  const creates = Array.from({ length: count }, (_, index): NonNullable<Execution['entered']>[number][] => {
    const state = index === 0 ? 'BeginRun' : 'WaitBeforeCreate';
    return [
      [state, at('01:00:00'), again],
      ['CreateExport', at('01:00:01'), again],
    ];
  });
  const entered = [...creates.flat(), ...(night.entered?.slice(4) ?? [])];
  const cloud = await aws(executions([{ ...night, entered }]));

  const { timeline } = await showRun(cloud.target, 'leads-night', cloud.endpoint);

  expect(timeline.find(({ phase }) => phase === 'create')?.text).toContain(` created at the ${ordinal} try, `);
});

describe('a run that was stopped during PublishFile', () => {
  const entered = night.entered?.slice(0, -1) ?? [];
  const stopped = executions([{ ...night, status: 'ABORTED', output: '', entered }]);
  const lineOf = async (cloud: Awaited<ReturnType<typeof aws>>) => {
    const { timeline } = await showRun(cloud.target, 'leads-night', cloud.endpoint);
    return timeline.find(({ phase }) => phase === 'publish')?.text;
  };

  test('is published where the pointer names it', async () => {
    const cloud = await aws(stopped);
    cloud.publish();
    expect(await lineOf(cloud)).toMatch(/^Published: the pointer/);
  });

  test('is not published where the pointer names another run, though it wrote its manifest', async () => {
    const cloud = await aws(stopped);
    cloud.publish({ pointers: [] });
    cloud.publish({ execution: 'leads-before', date: '2026-11-19' });
    expect(await lineOf(cloud)).toMatch(/it was not published\.$/);
  });

  test('may be published where the bucket cannot be read', async () => {
    expect(await lineOf(await aws(stopped, bucketRefuses('AccessDenied', 403)))).toMatch(/it is not known whether/);
  });
});

test('the first run of a plan has one line that there is nothing to compare it with', async () => {
  const cloud = await aws(executions([night]));
  cloud.publish({ manifest: { guards: { checks: [], comparedWith: [], medianRows: null } } });

  const text = shownText(await showRun(cloud.target, 'leads-night', cloud.endpoint), {});

  expect(text.match(/compare/g)).toHaveLength(1);
});
