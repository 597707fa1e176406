import { describe, expect, test } from 'vitest';
import type { Entity } from '../../../core/config/entities.ts';
import { adviceOf, ERRORS, RunError } from '../../../core/errors.ts';
import { exportRunEnd } from '../../../core/step/export-run.ts';
import {
  type MailFailedRunsDeps,
  mailFailedRuns,
  OTHER_ENDS,
} from '../../../lambdas/mail-failed-runs/mail-failed-runs.ts';
import { ALARMS } from '../../../lib/monitoring/monitoring.ts';
import { fullDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { runState } from '../../support/builders.ts';

/** The product's metrics that alarms read, with the outcome dimension if there is one. */
const ALARMED = Object.values(synthesise(fullDeployment()).Resources)
  .filter(({ Type, Properties }) => Type === 'AWS::CloudWatch::Alarm' && Properties.Namespace === 'crm-export-example')
  .map(({ Properties: { MetricName: metric, Dimensions = [] } }) => {
    const of = Dimensions.find(({ Name }: { Name: string }) => Name === 'outcome')?.Value;
    return { metric, of };
  });
const NOW = new Date('2026-11-20T03:00:00.000Z');
const minutesAgo = (minutes: number) => NOW.getTime() - minutes * 60_000;

/** The `detail` of an event, with the fields that were recorded on AWS. */
function detail(values: Record<string, unknown> = {}) {
  const name = 'leads-20261120T020000Z-1a2b3c';
  const machine = 'arn:aws:states:us-east-1:111111111111:stateMachine:ExportRun';
  return {
    ...{ executionArn: `${machine.replace(':stateMachine:', ':execution:')}:${name}`, stateMachineArn: machine, name },
    ...{
      status: 'FAILED',
      startDate: minutesAgo(30),
      stopDate: minutesAgo(20),
      input: '{"entity":"leads"}',
      output: null,
    },
    ...{ stateMachineVersionArn: null, stateMachineAliasArn: null, redriveCount: 0, redriveDate: null },
    ...{
      redriveStatus: 'REDRIVABLE',
      redriveStatusReason: null,
      inputDetails: { included: true },
      outputDetails: null,
    },
    ...{ error: 'ExportFailed', cause: `The CRM reported the export as failed. ${ERRORS.ExportFailed.advice}` },
    ...values,
  };
}

interface Options {
  newest?: Partial<Record<Entity, string>>;
  publish?: MailFailedRunsDeps['publish'];
  read?: MailFailedRunsDeps['bucket']['read'];
}

/** Invokes the function once for each event, as the rule does. */
async function mailsOf(details: unknown[], { newest = { leads: '2026-11-19' }, publish, read }: Options = {}) {
  const mails: { subject: string; text: string; chat: string }[] = [];
  const pointer = (date: string) =>
    JSON.stringify({
      schemaVersion: 2,
      date,
      startedAt: NOW.toISOString(),
      execution: 'a',
      kind: 'full',
      newNormal: false,
    });
  const deps: MailFailedRunsDeps = {
    deployment: 'prod',
    runbookUrl: 'docs/runbook.md',
    publish:
      publish ??
      (async (subject, message) => {
        const { default: text, https: chat } = JSON.parse(message);
        mails.push({ subject, text, chat });
      }),
    bucket: {
      read:
        read ??
        (async (key) => {
          const date = newest[/entity=([^/]+)/.exec(key)?.[1] as Entity];
          return date === undefined ? undefined : { text: pointer(date), etag: '' };
        }),
    },
  };
  for (const one of details) await mailFailedRuns(one, deps);
  return mails;
}

describe('a run that verify makes fail on purpose', () => {
  const refused = { error: 'InvalidInput', cause: 'The input lacks "entity".' };
  const byRule = detail({ ...refused, name: '5f1c-8a', input: '{"verify":"20261122T020000Z-1a2b3c"}' });

  test('is mailed as FailedOnPurpose, with the advice to do nothing', async () => {
    const ofAPerson = detail({ ...refused, input: '{"entity":"leeds"}' });
    const mails = await mailsOf([byRule, ofAPerson]);

    expect(mails.map(({ subject }) => subject)).toEqual([
      'prod: a run ended in FailedOnPurpose',
      'prod: a run ended in InvalidInput',
    ]);
    expect(mails[0]?.text).toMatch(/^What to do: Nothing: `verify` made it/m);
  });

  test('is mailed under its own error if it ends in another one', async () => {
    const mails = await mailsOf([{ ...byRule, error: 'ConfigInvalid', cause: 'No.' }]);

    expect(mails.map(({ subject }) => subject)).toEqual(['prod: a run ended in ConfigInvalid']);
  });
});

describe('a run that failed', () => {
  test('is mailed with entity, error, cause, newest published file and the command to show it', async () => {
    const mails = await mailsOf([detail()]);

    expect(mails).toHaveLength(1);
    expect(mails[0]?.subject).toBe('prod: leads ended in ExportFailed');
    expect(mails[0]?.text).toBe(
      [
        'leads of the deployment prod ended in ExportFailed.',
        '',
        `What to do: ${ERRORS.ExportFailed.advice}`,
        '',
        'leads, 2026-11-20 02:40 UTC, run leads-20261120T020000Z-1a2b3c',
        '  The CRM reported the export as failed.',
        '  The newest published file: leads of 2026-11-19.',
        '  npx --no -- crm-export show leads-20261120T020000Z-1a2b3c --deployment prod',
        '',
        'Runbook: docs/runbook.md#exportfailed',
      ].join('\n'),
    );
  });

  test('has its advice in the mail once, with commands that name the run and the deployment', async () => {
    const about = { entity: 'leads', execution: 'leads-20261120T020000Z-1a2b3c' };
    const cause = `The file is stored, not published. ${adviceOf('FileQuarantined', about)}`;
    const mails = await mailsOf([detail({ error: 'FileQuarantined', cause })]);

    const command = `npx --no -- crm-export diff leads --run ${about.execution} --deployment prod`;
    expect(mails[0]?.text).toContain(
      `What to do: Readers keep the last good file. Look at this one: ${command}. If it is right`,
    );
    expect(mails[0]?.text).toContain('\n  The file is stored, not published.\n');
  });

  test.each(['InvalidInput', 'EarlierRelease'] as const)(
    'in %s, before its function knows the batch, has its advice in the mail once',
    async (error) => {
      const cause = `What happened. ${adviceOf(error, { execution: 'a' })}`;
      const mails = await mailsOf([detail({ name: 'a', error, cause, input: '{"file":"updates/b-1/input.jsonl"}' })]);

      expect(mails[0]?.text).toContain('\n  What happened.\n');
      expect(mails[0]?.text).not.toContain('BATCH');
    },
  );

  test('is mailed with "no file" if none was ever published, and says so if the bucket cannot be read', async () => {
    const never = await mailsOf([detail()], { newest: {} });
    const denied = await mailsOf([detail()], { read: () => Promise.reject(new RunError('StorageDenied', 'No.')) });

    expect(never[0]?.text).toContain('  Readers have no file of leads.\n');
    expect(denied[0]?.text).toContain('  The published files of leads could not be read.\n');
  });

  test('of customer updates is mailed with the name of its batch and the command update-status', async () => {
    const input = '{"file":"updates/update-1/input.jsonl"}';
    const mails = await mailsOf([detail({ name: 'update-1-abc', input, error: 'UpdatesIncomplete', cause: 'x' })]);

    expect(mails[0]?.subject).toBe('prod: update-1 ended in UpdatesIncomplete');
    expect(mails[0]?.text).toContain('  npx --no -- crm-export update-status update-1 --deployment prod\n');
    expect(mails[0]?.text).not.toMatch(/published file|no file of/);
  });

  test('of customer updates is mailed without a batch if the name of the batch is invalid', async () => {
    const input = '{"file":"updates/a b/input.jsonl"}';
    const mails = await mailsOf([detail({ name: 'abc', input, error: 'UpdatesIncomplete', cause: 'x' })]);

    expect(mails[0]?.subject).toBe('prod: a run ended in UpdatesIncomplete');
  });

  test('is mailed with advice if it timed out, and as AnotherError if its error is unknown', async () => {
    const timedOut = detail({ name: 'a', status: 'TIMED_OUT', error: null, cause: null, input: null });
    const strange = detail({ name: 'b', error: 'eyJhbGciOi', cause: 'secret' });
    const mails = await mailsOf([timedOut, strange]);

    expect(mails.map(({ subject }) => subject)).toEqual([
      'prod: a run ended in TimedOut',
      'prod: leads ended in AnotherError',
    ]);
    expect(mails[0]?.text).toContain('#timedout');
    expect(mails[1]?.text).not.toMatch(/eyJ|secret/);
  });
});

const ENDS = [...Object.keys(ERRORS), ...Object.keys(OTHER_ENDS)];

/** The fields of an event for an execution that ends in this way. */
function endOf(name: string) {
  if (name === 'TimedOut') return { status: 'TIMED_OUT' };
  return name === 'FailedOnPurpose'
    ? { input: '{"verify":"20261122T020000Z-1a2b3c"}', error: 'InvalidInput' }
    : { error: name };
}

describe('each way a run can end', () => {
  test.each(ENDS)('%s is mailed each time it happens', async (name) => {
    const end = endOf(name);
    const mails = await mailsOf([detail(end), detail({ name: 'again', ...end })]);

    const subjects = mails.map(({ subject }) => subject.replace(/: (leads|a run) /, ': '));
    expect(subjects).toEqual(Array(2).fill(`prod: ended in ${name}`));
  });

  test.each(ENDS)('%s raises an alarm exactly if ALARMS lists one for it', (name) => {
    const failure = { error: name, cause: '' };
    const { outcome = '', measures = {} } = exportRunEnd(runState({ outcome: 'FAILED', failure }), NOW) ?? {};
    const read = ALARMED.some(
      ({ metric, of }) =>
        measures[metric as keyof typeof measures] !== undefined && (of === undefined || of === outcome),
    );

    expect(read).toBe(Object.hasOwn(ALARMS, name));
  });
});

describe('untrusted text in the event of a failed run', () => {
  test.each<[what: string, values: Record<string, unknown>]>([
    ['the cause of a crash', { error: 'StepCrashed', cause: 'TypeError: leaked' }],
    ['an address in a cause', { cause: 'See https://crm.example/leaked?token=leaked for it.' }],
    ['an input', { input: '{"entity":"leaked","filters":{"phone":"leaked"}}' }],
    ['an entity that is not a text', { input: '{"entity":{"leaked":1}}' }],
  ])('%s does not appear in the mail', async (_, values) => {
    const mails = await mailsOf([detail(values)]);

    expect(mails).toHaveLength(1);
    expect(JSON.stringify(mails)).not.toContain('leaked');
  });

  test('line breaks and control characters of a name or cause are removed, and the name stays one argument', async () => {
    const mails = await mailsOf([detail({ name: "it's-(mine)", cause: 'a\r\n\u001b[2Jb\u202ec' })]);

    expect(mails[0]?.text).toContain('\n  a [2Jb c\n');
    expect(mails[0]?.text).toContain(`show "it's-(mine)" --deployment prod`);
  });

  test('backticks in a cause do not end the code block of the chat message', async () => {
    const mails = await mailsOf([detail({ cause: 'Unrecognized key: "``` <!channel> `"' })]);

    const { description } = JSON.parse(mails[0]?.chat ?? '').content;
    expect(description.match(/`+/g)).toEqual(['```', '```']);
    expect(mails[0]?.text).toContain('Unrecognized key: "``` <!channel> `"');
  });

  test('the mail is well-formed text if the cause is cut in the middle of a character', async () => {
    const mails = await mailsOf([detail({ cause: `${'x'.repeat(999)}😀` })]);

    expect(mails[0]?.text.isWellFormed()).toBe(true);
  });

  test('the subject is ASCII and shorter than SNS allows, for any name', async () => {
    const mails = await mailsOf([detail({ name: 'ש'.repeat(80), input: null })]);

    expect(mails[0]?.subject).toMatch(/^[\x20-\x7e]{1,99}$/);
  });
});

test('fails the invocation if SNS refuses the mail, so that Lambda repeats it', async () => {
  const publish = () => Promise.reject(new Error('refused'));

  await expect(mailsOf([detail()], { publish })).rejects.toThrow('refused');
});

test.each([undefined, {}, null, { name: 1 }])(
  'rejects the detail %j, which does not describe the end of a run, and fails the invocation',
  async (strange) => {
    await expect(mailsOf([strange])).rejects.toThrow();
  },
);

test('sends chats the same text as a custom notification of Amazon Q Developer', async () => {
  const mails = await mailsOf([detail()]);
  const [mail] = mails;

  expect(JSON.parse(mail?.chat ?? '')).toEqual({
    version: '1.0',
    source: 'custom',
    content: { textType: 'client-markdown', title: mail?.subject, description: `\`\`\`\n${mail?.text}\n\`\`\`` },
  });
});
