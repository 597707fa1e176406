import { expect, test } from 'vitest';
import { linesOfRun } from '../../../cli/runs/logs.ts';
import { refused } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';

const NAME = 'leads-20261120T020000Z-1a2b3c';
const START = Date.parse('2026-11-20T02:00:00Z');
const timeOf = (second: number) => new Date(START + second * 1000).toISOString();
const line = (second: number, fields: object) => ({
  // All lines of an invocation may have the same timestamp; each contains its own time.
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

/** CloudWatch Logs with the events of groups, and a Step Functions with the run. */
async function logged(groups: Record<string, object[]>) {
  const { target, calls } = await awsWithTarget({
    FilterLogEvents: ({ input }) => {
      const events = groups[String(input.logGroupName)];
      return events ? { events } : refused('ResourceNotFoundException');
    },
  });
  const asked = () => calls.filter(({ service }) => service === 'logs').map(({ input }) => input);
  return { target, asked };
}

const ended = { name: NAME, startDate: new Date(START), stopDate: new Date(START + 60_000) };
const group = (step: string) => `/aws/lambda/crm-export-test-${step}`;

test('prints the lines of all functions of a run by time, without other runs, metrics and plain text', async () => {
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
