import { expect, test } from 'vitest';
import { followLines } from '../../../../cli/runs/logs/logs.ts';
import { HEADINGS, linesOfRun, textOf } from '../../../../cli/runs/logs/logs-lines.ts';
import { waitUntil } from '../../../../local/processes/wait-until.ts';
import { run } from '../../../local/support/running.ts';
import { refused, silent } from '../../support/cloud/answers.ts';
import { aws } from '../../support/cloud/cloud.ts';
import { executions } from '../../support/cloud/executions.ts';
import { arnOf } from '../../support/cloud/stack.ts';
import { WITHOUT_AWS } from '../../support/run-cli.ts';

const NAME = 'leads-20261120T020000Z-1a2b3c';
const START = Date.parse('2026-11-20T02:00:00Z');
const timeOf = (second: number) => new Date(START + second * 1000).toISOString();
const line = (second: number, fields: object) => ({
  eventId: `e${second}`,
  // All lines of an invocation may have one time; each says its own.
  timestamp: START,
  message: JSON.stringify({
    level: 'INFO',
    message: 'read',
    execution: NAME,
    step: 'CheckStatus',
    timestamp: timeOf(second),
    ...fields,
  }),
});

/** CloudWatch Logs with the events of groups, and a Step Functions that knows the run. */
async function logged(groups: Record<string, object[]>, statuses: string[] = ['SUCCEEDED']) {
  const { target, calls } = await aws({
    DescribeExecution: () => {
      const status = statuses.length > 1 ? statuses.shift() : statuses[0];
      return { executionArn: arnOf(NAME), name: NAME, status, startDate: START / 1000 };
    },
    FilterLogEvents: ({ input }) => {
      const events = groups[String(input.logGroupName)];
      return events ? { events } : refused('ResourceNotFoundException');
    },
  });
  const asked = () => calls.filter(({ service }) => service === 'logs').map(({ input }) => input);
  return { target, asked };
}

const ended = { name: NAME, startDate: new Date(START), stopDate: new Date(START + 60_000) };
const found = {
  ...ended,
  executionArn: arnOf(NAME),
  entity: 'leads' as const,
  what: 'export' as const,
  status: 'RUNNING',
  stopDate: undefined,
};
const group = (step: string) => `/aws/lambda/crm-export-test-${step}`;

test('lines of all functions come in order of time; those of other runs, metrics and plain text are left out', async () => {
  const { target, asked } = await logged({
    [group('CheckStatus')]: [line(2, {}), line(3, { execution: 'another' }), { timestamp: START, message: 'REPORT x' }],
    [group('CreateExport')]: [line(1, { step: 'CreateExport' }), { ...line(5, {}), message: '{"_aws":{}}' }],
    [group('PublishFile')]: [line(4, { step: 'PublishFile' })],
  });
  const lines = await linesOfRun(target, ended);
  expect(lines.map(({ fields }) => fields.step)).toEqual(['CreateExport', 'CheckStatus', 'PublishFile']);
  expect(
    asked()
      .map(({ logGroupName }) => logGroupName)
      .toSorted(),
  ).toEqual(['CheckStatus', 'CreateExport', 'DownloadFile', 'PublishFile', 'WriteChanges', 'WriteTable'].map(group));
  for (const call of asked()) {
    expect(call).toMatchObject({ filterPattern: `{ $.execution = "${NAME}" }`, startTime: START - 60_000 });
    // A function whose run was stopped ends later than the run.
    expect(call.endTime).toBe(START + 60_000 + 20 * 60_000);
  }
});

test('a long text, and one of other letters, is shown whole', () => {
  const message = `Größe ${'x'.repeat(300)}\u001b]0;owned\u0007.`;
  const text = textOf({ id: '1', at: START, storedAt: START, fields: { level: 'INFO', message, execution: NAME } });
  expect(text.endsWith(`Größe ${'x'.repeat(300)}.`)).toBe(true);
});

test('a line is a row: time, step, level, message, and its facts without what is elsewhere', () => {
  const fields = { level: 'INFO', message: 'read', execution: NAME, step: 'CheckStatus' };
  const facts = {
    entity: 'leads',
    exportId: 'x',
    status: 200,
    oddities: ['a b'],
    outcome: 'READY\u001b[31m',
    key: null,
  };
  const text = textOf({ id: '1', at: START, storedAt: START, fields: { ...fields, ...facts } });
  expect(text).toBe('2026-11-20 02:00:00.000  CheckStatus   INFO   read  status=200  oddities=["a b"]  outcome=READY');
  expect(HEADINGS.indexOf('message')).toBe(text.indexOf('read'));
});

test('lines that come late, up to some looks after the end, are shown, each once', async () => {
  const events = [line(1, {})];
  const { target, asked } = await logged({ [group('CheckStatus')]: events }, ['RUNNING', 'RUNNING', 'SUCCEEDED']);
  const shown: string[] = [];
  await followLines(target, found, {
    everyMs: 1,
    show: ({ id }) => {
      shown.push(id);
      if (events.length < 3) events.push(line(events.length + 1, {}));
    },
  });
  expect(shown).toEqual(['e1', 'e2', 'e3']);
  expect(asked().filter(({ logGroupName }) => logGroupName === group('CheckStatus'))).toHaveLength(5);
});

test('each look asks for what is new, and for what may have come late', async () => {
  const groups = { [group('CheckStatus')]: [{ ...line(1, {}), timestamp: START + 3_600_000 }] };
  const { target, asked } = await logged(groups, ['RUNNING', 'SUCCEEDED']);
  await followLines(target, found, { everyMs: 1, show: () => undefined });
  const starts = asked().map(({ startTime }) => startTime);
  expect(starts.slice(0, 6)).toEqual(Array(6).fill(START - 60_000));
  expect(new Set(starts.slice(6))).toEqual(new Set([START + 3_600_000 - 300_000]));
});

test('to stop following does not wait for an answer', async () => {
  const stop = new AbortController();
  const { target } = await aws({
    DescribeExecution: { status: 'RUNNING' },
    FilterLogEvents: () => {
      stop.abort(new Error('enough'));
      return silent;
    },
  });
  const following = followLines(target, found, { show: () => undefined, signal: stop.signal });
  await expect(following).rejects.toThrow();
  expect(stop.signal.aborted).toBe(true);
});

test('Ctrl-C while a document is followed gives the lines that were read so far', async () => {
  const name = "it's(mine)!";
  const running = { name, status: 'RUNNING', input: { entity: 'leads' }, start: timeOf(0) };
  const { place, asked } = await aws(executions([running]), {
    FilterLogEvents: ({ input: { logGroupName } }) => ({
      events: logGroupName === group('CheckStatus') ? [line(1, { execution: name })] : [],
    }),
  });
  const command = run('cli/main.js', ['logs', name, '--follow', '--json', ...place], WITHOUT_AWS);
  const looks = () => asked.filter((line) => line === 'DescribeExecution').length;
  await waitUntil(() => looks() >= 3, { withinMs: 20_000 });
  command.child.kill('SIGINT');
  expect(await command.ended, command.stderr()).toBe(130);
  expect(JSON.parse(command.stdout())).toEqual({
    ...{
      ok: false,
      error: expect.stringMatching(
        /^Stopped following; the run goes on: npx --no -- crm-export logs 'it'\\''s\(mine\)!' --follow /,
      ),
    },
    execution: name,
    lines: [expect.objectContaining({ message: 'read' })],
  });
});
