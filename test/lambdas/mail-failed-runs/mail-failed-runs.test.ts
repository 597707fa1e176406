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

describe('a run that verify has made to fail', () => {
  const refused = { error: 'InvalidInput', cause: 'The input lacks "entity".' };
  const byRule = detail({ ...refused, name: '5f1c-8a', input: '{"verify":"20261122T020000Z-1a2b3c"}' });

  test('is mailed as such, and nothing is to be done', async () => {
    const ofAPerson = detail({ ...refused, input: '{"entity":"leeds"}' });
    const mails = await mailsOf([byRule, ofAPerson]);

    expect(mails.map(({ subject }) => subject)).toEqual([
      'prod: a run ended in FailedOnPurpose',
      'prod: a run ended in InvalidInput',
    ]);
    expect(mails[0]?.text).toMatch(/^What to do: Nothing: `verify` made it/m);
  });

  test('is mailed as any other where it ends in another error', async () => {
    const mails = await mailsOf([{ ...byRule, error: 'ConfigInvalid', cause: 'No.' }]);

    expect(mails.map(({ subject }) => subject)).toEqual(['prod: a run ended in ConfigInvalid']);
  });
});

describe('a run that failed', () => {
  test('is mailed with entity, error, what happened, what readers have, and the command', async () => {
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

  test('has its advice once in the mail, with commands that name the run and the deployment', async () => {
    const about = { entity: 'leads', execution: 'leads-20261120T020000Z-1a2b3c' };
    const cause = `The file is stored, not published. ${adviceOf('FileQuarantined', about)}`;
    const mails = await mailsOf([detail({ error: 'FileQuarantined', cause })]);

    const command = `npx --no -- crm-export download leads --run ${about.execution} --deployment prod`;
    expect(mails[0]?.text).toContain(
      `What to do: Readers keep the last good file. Look at this one: ${command}. If it is right,`,
    );
    expect(mails[0]?.text).toContain('\n  The file is stored, not published.\n');
  });

  test('whose feed was stopped or not written is mailed by that name, with commands to paste', async () => {
    const about = { entity: 'leads', execution: 'leads-20261120T020000Z-1a2b3c' };
    const ended = (error: 'ChangesStopped' | 'ChangesNotWritten', what: string) =>
      detail({ error, cause: `${what} ${adviceOf(error, about)}` });
    const gone = '30 of 100 keys of leads are gone.';
    const mails = await mailsOf([ended('ChangesStopped', gone), ended('ChangesNotWritten', 'The disk is full.')]);

    const command = (words: string) => `npx --no -- crm-export ${words} --deployment prod`;
    expect(mails.map(({ subject }) => subject)).toEqual([
      'prod: leads ended in ChangesStopped',
      'prod: leads ended in ChangesNotWritten',
    ]);
    const [stopped, unwritten] = mails.map(({ text }) => text);
    expect(stopped).toContain(`\n  ${gone}\n`);
    expect(stopped).toContain(`Look at what is gone: ${command('changes leads')}. If that is right`);
    expect(stopped).toContain(`${command('changes leads --release --reason WHY')}.\n`);
    expect(stopped).toContain('docs/runbook.md#changesstopped');
    expect(unwritten).toContain('\n  The disk is full.\n');
    expect(unwritten).toContain('The feed of the next night includes these changes.\n');
    expect(unwritten).toContain(`  ${command(`show ${about.execution}`)}\n`);
  });

  test.each(['InvalidInput', 'EarlierRelease'] as const)(
    'in %s before its function knows the batch has its advice once, too',
    async (error) => {
      const cause = `What happened. ${adviceOf(error, { execution: 'a' })}`;
      const mails = await mailsOf([detail({ name: 'a', error, cause, input: '{"file":"updates/b-1/input.jsonl"}' })]);

      expect(mails[0]?.text).toContain('\n  What happened.\n');
      expect(mails[0]?.text).not.toContain('BATCH');
    },
  );

  test('of an entity that was never published says so, and where the bucket does not tell, that', async () => {
    const never = await mailsOf([detail()], { newest: {} });
    const denied = await mailsOf([detail()], { read: () => Promise.reject(new RunError('StorageDenied', 'No.')) });

    expect(never[0]?.text).toContain('  Readers have no file of leads.\n');
    expect(denied[0]?.text).toContain('  The published files of leads could not be read.\n');
  });

  test('of customer updates names its batch and the command for it', async () => {
    const input = '{"file":"updates/update-1/input.jsonl"}';
    const mails = await mailsOf([detail({ name: 'update-1-abc', input, error: 'UpdatesIncomplete', cause: 'x' })]);

    expect(mails[0]?.subject).toBe('prod: update-1 ended in UpdatesIncomplete');
    expect(mails[0]?.text).toContain('  npx --no -- crm-export update-status update-1 --deployment prod\n');
    expect(mails[0]?.text).not.toMatch(/published file|no file of/);
  });

  test('of a batch whose name is none names no batch', async () => {
    const input = '{"file":"updates/a b/input.jsonl"}';
    const mails = await mailsOf([detail({ name: 'abc', input, error: 'UpdatesIncomplete', cause: 'x' })]);

    expect(mails[0]?.subject).toBe('prod: a run ended in UpdatesIncomplete');
  });

  test('that reached the time limit, or ended in an error of nobody, has advice all the same', async () => {
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

describe('an end of a run', () => {
  test.each(ENDS)('%s is mailed, and mailed again when it comes again', async (name) => {
    const end = endOf(name);
    const mails = await mailsOf([detail(end), detail({ name: 'again', ...end })]);

    const subjects = mails.map(({ subject }) => subject.replace(/: (leads|a run) /, ': '));
    expect(subjects).toEqual(Array(2).fill(`prod: ended in ${name}`));
  });

  test.each(ENDS)('%s raises the alarm of its name, if there is one, and no other', (name) => {
    const failure = { error: name, cause: '' };
    const { outcome = '', measures = {} } = exportRunEnd(runState({ outcome: 'FAILED', failure }), NOW) ?? {};
    const read = ALARMED.some(
      ({ metric, of }) =>
        measures[metric as keyof typeof measures] !== undefined && (of === undefined || of === outcome),
    );

    expect(read).toBe(Object.hasOwn(ALARMS, name));
  });
});

describe('what others may have put into an end', () => {
  test.each<[what: string, values: Record<string, unknown>]>([
    ['the cause of a crash', { error: 'StepCrashed', cause: 'TypeError: leaked' }],
    ['an address in a cause', { cause: 'See https://crm.example/leaked?token=leaked for it.' }],
    ['an input', { input: '{"entity":"leaked","filters":{"phone":"leaked"}}' }],
    ['an entity that is none', { input: '{"entity":{"leaked":1}}' }],
  ])('%s is not in the mail', async (_, values) => {
    const mails = await mailsOf([detail(values)]);

    expect(mails).toHaveLength(1);
    expect(JSON.stringify(mails)).not.toContain('leaked');
  });

  test('no line break or control gets from a name or a cause into the mail, and the command stays one argument', async () => {
    const mails = await mailsOf([detail({ name: "it's-(mine)", cause: 'a\r\n\u001b[2Jb\u202ec' })]);

    expect(mails[0]?.text).toContain('\n  a [2Jb c\n');
    expect(mails[0]?.text).toContain(`show "it's-(mine)" --deployment prod`);
  });

  test('what a cause quotes does not end the code block of a chat', async () => {
    const mails = await mailsOf([detail({ cause: 'Unrecognized key: "``` <!channel> `"' })]);

    const { description } = JSON.parse(mails[0]?.chat ?? '').content;
    expect(description.match(/`+/g)).toEqual(['```', '```']);
    expect(mails[0]?.text).toContain('Unrecognized key: "``` <!channel> `"');
  });

  test('a cause that is cut in the middle of a character is still text', async () => {
    const mails = await mailsOf([detail({ cause: `${'x'.repeat(999)}😀` })]);

    expect(mails[0]?.text.isWellFormed()).toBe(true);
  });

  test('a subject is ASCII and shorter than SNS allows, whatever the names', async () => {
    const mails = await mailsOf([detail({ name: 'ש'.repeat(80), input: null })]);

    expect(mails[0]?.subject).toMatch(/^[\x20-\x7e]{1,99}$/);
  });
});

test('seven failures of one cause are seven mails, each with its own entity and command', async () => {
  const entities = ['leads', 'customers', 'meetings', 'workflows', 'employers', 'contacts', 'agent-numbers'];
  const mails = await mailsOf(
    entities.map((entity) =>
      detail({ name: `run-of-${entity}`, error: 'ReauthorizationRequired', input: JSON.stringify({ entity }) }),
    ),
  );

  expect(mails.map(({ subject }) => subject)).toEqual(
    entities.map((entity) => `prod: ${entity} ended in ReauthorizationRequired`),
  );
  expect(mails.map(({ text }) => / show (\S+)/.exec(text)?.[1])).toEqual(entities.map((entity) => `run-of-${entity}`));
});

test('a mail that SNS refuses fails the invocation, so that Lambda repeats it', async () => {
  const publish = () => Promise.reject(new Error('refused'));

  await expect(mailsOf([detail()], { publish })).rejects.toThrow('refused');
});

test.each([undefined, {}, null, { name: 1 }])(
  'the detail %j, which is no end of a run, is not mailed and fails the invocation',
  async (strange) => {
    await expect(mailsOf([strange])).rejects.toThrow();
  },
);

test('a chat gets the same as the custom notification of Amazon Q Developer', async () => {
  const mails = await mailsOf([detail()]);
  const [mail] = mails;

  expect(JSON.parse(mail?.chat ?? '')).toEqual({
    version: '1.0',
    source: 'custom',
    content: { textType: 'client-markdown', title: mail?.subject, description: `\`\`\`\n${mail?.text}\n\`\`\`` },
  });
});
