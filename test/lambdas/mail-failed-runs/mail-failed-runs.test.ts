import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Entity } from '../../../core/config/entities.ts';
import { adviceOf, ERRORS, RunError } from '../../../core/errors.ts';
import { exportRunEnd } from '../../../core/step/run-end.ts';
import {
  type MailFailedRunsDeps,
  type Message,
  mailFailedRuns,
} from '../../../lambdas/mail-failed-runs/mail-failed-runs.ts';
import { OTHER_ENDS } from '../../../lambdas/mail-failed-runs/mail-text.ts';
import { fullDeployment, synthesise } from '../../../scripts/definition.ts';
import { runState } from '../../support/builders.ts';

/** The metrics of our own that alarms read, and of which outcome, if of one. */
const ALARMED = Object.values(synthesise(fullDeployment()).Resources)
  .filter(({ Type, Properties }) => Type === 'AWS::CloudWatch::Alarm' && Properties.Namespace === 'crm-export-example')
  .map(({ Properties: { MetricName: metric, Dimensions = [] } }) => {
    const of = Dimensions.find(({ Name }: { Name: string }) => Name === 'outcome')?.Value;
    return { metric, of };
  });
const NOW = new Date('2026-11-20T03:00:00.000Z');
const minutesAgo = (minutes: number) => NOW.getTime() - minutes * 60_000;

/** `detail` of an event, with the fields that AWS was recorded to send. */
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

/** The function over a queue in memory, at a time. */
function mailer(bodies: unknown[], { newest = { leads: '2026-11-19' }, publish, read }: Options = {}) {
  const queue: Message[] = bodies.map((body, index) => ({
    body: typeof body === 'string' ? body : JSON.stringify(body),
    receipt: `receipt-${index}`,
  }));
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
  const run = (now = NOW) =>
    mailFailedRuns({
      now,
      deployment: 'prod',
      runbookUrl: 'docs/runbook.md',
      receive: async () => [...queue],
      remove: async (messages) => {
        for (const message of messages) queue.splice(queue.indexOf(message), 1);
      },
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
    });
  return { run, mails, queue };
}

describe('a run that verify has made to fail', () => {
  const refused = { error: 'InvalidInput', cause: 'The input lacks "entity".' };
  const names = ['verify-20261122T020000Z-1a2b3c-1', 'verify-20261122T020000Z-1a2b3c-2'];
  const byName = names.map((name) => detail({ ...refused, name, input: '{}' }));
  const byRule = detail({ ...refused, name: '5f1c-8a', input: '{"verify":"20261122T020000Z-1a2b3c"}' });

  test('is mailed as such, apart from those of others, and nothing is to be done', async () => {
    const ofAPerson = detail({ ...refused, input: '{"entity":"leeds"}' });
    const { run, mails } = mailer([...byName, byRule, ofAPerson]);

    await run();

    expect(mails.map(({ subject }) => subject)).toEqual([
      'prod: 3 runs ended in FailedOnPurpose',
      'prod: a run ended in InvalidInput',
    ]);
    expect(mails[0]?.text).toMatch(/^What to do: Nothing: `verify` made it/m);
  });

  test('is mailed as any other where it ends in another error', async () => {
    const { run, mails } = mailer([{ ...byRule, error: 'ConfigInvalid', cause: 'No.' }]);

    await run();

    expect(mails.map(({ subject }) => subject)).toEqual(['prod: a run ended in ConfigInvalid']);
  });
});

describe('a run that failed', () => {
  test('is mailed with entity, error, what happened, what readers have, and the command', async () => {
    const { run, mails, queue } = mailer([detail()]);

    await run();

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
        '  The newest that readers have: leads of 2026-11-19.',
        '  npx --no -- crm-export show leads-20261120T020000Z-1a2b3c --deployment prod',
        '',
        'Runbook: docs/runbook.md#exportfailed',
      ].join('\n'),
    );
    expect(queue).toEqual([]);
  });

  test('is not told twice what to do, and is named in the commands, which name the deployment', async () => {
    const about = { entity: 'leads', execution: 'leads-20261120T020000Z-1a2b3c' };
    const cause = `The file is stored, not published. ${adviceOf('FileQuarantined', about)}`;
    const { run, mails } = mailer([detail({ error: 'FileQuarantined', cause })]);
    await run();

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
    const { run, mails } = mailer([ended('ChangesStopped', gone), ended('ChangesNotWritten', 'The disk is full.')]);
    await run();

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
    expect(unwritten).toContain('the next night tells what this one did not.\n');
    expect(unwritten).toContain(`  ${command(`show ${about.execution}`)}\n`);
  });

  test.each(['InvalidInput', 'EarlierRelease'] as const)(
    'in %s before its function knows the batch is not told twice what to do either',
    async (error) => {
      const cause = `What happened. ${adviceOf(error, { execution: 'a' })}`;
      const { run, mails } = mailer([detail({ name: 'a', error, cause, input: '{"file":"updates/b-1/input.jsonl"}' })]);
      await run();

      expect(mails[0]?.text).toContain('\n  What happened.\n');
      expect(mails[0]?.text).not.toContain('BATCH');
    },
  );

  test('beside another says what to do about each, where their commands differ', async () => {
    const quarantined = (name: string, entity: string) =>
      detail({ name, error: 'FileQuarantined', input: JSON.stringify({ entity }) });
    const { run, mails } = mailer([quarantined('a', 'leads'), quarantined('b', 'customers')]);
    await run();

    expect(mails[0]?.text.match(/download \w+ --run \w+/g)).toEqual([
      'download leads --run a',
      'download customers --run b',
    ]);
    expect(mails[0]?.text).not.toMatch(/ENTITY|RUN/);
  });

  test('of an entity that was never published says so, and where the bucket does not tell, that', async () => {
    const never = mailer([detail()], { newest: {} });
    const denied = mailer([detail()], { read: () => Promise.reject(new RunError('StorageDenied', 'No.')) });
    for (const { run } of [never, denied]) await run();

    expect(never.mails[0]?.text).toContain('  Readers have no leads at all.\n');
    expect(denied.mails[0]?.text).toContain('  What readers have of leads could not be read.\n');
  });

  test('of customer updates names its batch and the command for it', async () => {
    const input = '{"file":"updates/update-1/input.jsonl"}';
    const { run, mails } = mailer([detail({ name: 'update-1-abc', input, error: 'UpdatesIncomplete', cause: 'x' })]);
    await run();

    expect(mails[0]?.subject).toBe('prod: update-1 ended in UpdatesIncomplete');
    expect(mails[0]?.text).toContain('  npx --no -- crm-export update-status update-1 --deployment prod\n');
    expect(mails[0]?.text).not.toContain('readers');
  });

  test('of a batch whose name is none names no batch', async () => {
    const input = '{"file":"updates/a b/input.jsonl"}';
    const { run, mails } = mailer([detail({ name: 'abc', input, error: 'UpdatesIncomplete', cause: 'x' })]);
    await run();

    expect(mails[0]?.subject).toBe('prod: a run ended in UpdatesIncomplete');
  });

  test('that reached the time limit, or ended in an error of nobody, has advice all the same', async () => {
    const timedOut = detail({ name: 'a', status: 'TIMED_OUT', error: null, cause: null, input: null });
    const strange = detail({ name: 'b', error: 'eyJhbGciOi', cause: 'secret' });
    const { run, mails } = mailer([timedOut, strange]);
    await run();

    expect(mails.map(({ subject }) => subject)).toEqual([
      'prod: a run ended in TimedOut',
      'prod: leads ended in AnotherError',
    ]);
    expect(mails[0]?.text).toContain('#timedout');
    expect(mails[1]?.text).not.toMatch(/eyJ|secret/);
  });
});

/** The rows of the runbook's table of errors: what ends a run, and what tells it. */
const TOLD = [
  ...readFileSync('docs/runbook.md', 'utf8').matchAll(
    /^\| \[`(\w+)`\]\(#\w+\) \| .* \| ((?:alarm|mail)[alarm, il]*) \|$/gm,
  ),
].map(([, name = '', by = '']) => [name, by] as const);

/** What ends a run in that. */
function endOf(name: string) {
  if (name === 'TimedOut') return { status: 'TIMED_OUT' };
  return name === 'FailedOnPurpose'
    ? { name: 'verify-20261122T020000Z-1a2b3c-1', input: '{}', error: 'InvalidInput' }
    : { error: name };
}

describe('the table of what tells an error', () => {
  test('has every end of a run', () => {
    const ends = [...Object.keys(ERRORS), ...Object.keys(OTHER_ENDS), 'StoppedByOperator'];
    expect(TOLD.map(([name]) => name)).toEqual(ends);
  });

  test.each(TOLD.filter(([, by]) => by.includes('mail')))(
    '%s is mailed, and mailed again when it comes again',
    async (name) => {
      const end = endOf(name);
      const { run, mails, queue } = mailer([detail(end)]);
      await run();
      queue.push({ body: JSON.stringify(detail({ name: 'again', ...end })), receipt: 'again' });
      await run();

      const subjects = mails.map(({ subject }) => subject.replace(/: (leads|a run) /, ': '));
      expect(subjects).toEqual(Array(2).fill(`prod: ended in ${name}`));
      expect(queue).toEqual([]);
    },
  );

  test.each(TOLD)('%s is told by %s: an alarm reads what its run counts, or none does', (name, by) => {
    const failure = { error: name, cause: '' };
    const { outcome = '', measures = {} } = exportRunEnd(runState({ outcome: 'FAILED', failure }), NOW) ?? {};
    const read = ALARMED.some(
      ({ metric, of }) =>
        measures[metric as keyof typeof measures] !== undefined && (of === undefined || of === outcome),
    );

    expect(read || name === 'StoppedByOperator').toBe(by.includes('alarm'));
  });
});

describe('what others may have put into an end', () => {
  test.each<[what: string, values: Record<string, unknown>]>([
    ['the cause of a crash', { error: 'StepCrashed', cause: 'TypeError: leaked' }],
    ['an address in a cause', { cause: 'See https://crm.example/leaked?token=leaked for it.' }],
    ['an input', { input: '{"entity":"leaked","filters":{"phone":"leaked"}}' }],
    ['an entity that is none', { input: '{"entity":{"leaked":1}}' }],
  ])('%s is not in the mail', async (_, values) => {
    const { run, mails } = mailer([detail(values)]);
    await run();

    expect(mails).toHaveLength(1);
    expect(JSON.stringify(mails)).not.toContain('leaked');
  });

  test('no line break or control gets from a name or a cause into the mail, and the command stays one argument', async () => {
    const { run, mails } = mailer([detail({ name: "it's-(mine)", cause: 'a\r\n\u001b[2Jb\u202ec' })]);
    await run();

    expect(mails[0]?.text).toContain('\n  a [2Jb c\n');
    expect(mails[0]?.text).toContain(`show "it's-(mine)" --deployment prod`);
  });

  test('what a cause quotes does not end the code block of a chat', async () => {
    const { run, mails } = mailer([detail({ cause: 'Unrecognized key: "``` <!channel> `"' })]);
    await run();

    const { description } = JSON.parse(mails[0]?.chat ?? '').content;
    expect(description.match(/`+/g)).toEqual(['```', '```']);
    expect(mails[0]?.text).toContain('Unrecognized key: "``` <!channel> `"');
  });

  test('a cause that is cut in the middle of a character is still text', async () => {
    const { run, mails } = mailer([detail({ cause: `${'x'.repeat(999)}😀` })]);
    await run();

    expect(mails[0]?.text.isWellFormed()).toBe(true);
  });

  test('a subject is ASCII and shorter than SNS allows, whatever the names', async () => {
    const { run, mails } = mailer([detail({ name: 'ש'.repeat(80), input: null })]);
    await run();

    expect(mails[0]?.subject).toMatch(/^[\x20-\x7e]{1,99}$/);
  });
});

describe('seven failures', () => {
  const entities = ['leads', 'customers', 'meetings', 'workflows', 'employers', 'contacts', 'agent-numbers'];
  const night = (last: number, error = 'ReauthorizationRequired') =>
    entities.map((entity, index) =>
      detail({
        ...{ name: `run-${index}`, error, cause: 'x' },
        input: JSON.stringify({ entity }),
        stopDate: minutesAgo(last + 7 * index),
      }),
    );

  test('of one cause are one mail, in the order in which they came', async () => {
    const { run, mails, queue } = mailer(night(12));
    await run();

    expect(mails.map(({ subject }) => subject)).toEqual(['prod: 7 runs ended in ReauthorizationRequired']);
    expect([...(mails[0]?.text ?? '').matchAll(/ show (\S+)/g)].map(([, name]) => name)).toEqual(
      [6, 5, 4, 3, 2, 1, 0].map((index) => `run-${index}`),
    );
    expect(queue).toEqual([]);
  });

  test('wait for those that may follow, for an hour at most', async () => {
    const early = mailer(night(5));
    await early.run();
    expect([early.mails.length, early.queue.length]).toEqual([0, 7]);

    await early.run(new Date(NOW.getTime() + 6 * 60_000));
    expect([early.mails.length, early.queue.length]).toEqual([1, 0]);

    const long = mailer([...night(5), detail({ error: 'ReauthorizationRequired', stopDate: minutesAgo(60) })]);
    await long.run();
    expect(long.mails).toHaveLength(1);
  });

  test('of several causes are one mail for each', async () => {
    const { run, mails } = mailer([...night(12), detail()]);
    await run();

    expect(mails).toHaveLength(2);
  });

  test('that SQS delivers twice are told once', async () => {
    const { run, mails, queue } = mailer([detail(), detail()]);
    await run();

    expect(mails[0]?.subject).toBe('prod: leads ended in ExportFailed');
    expect(queue).toEqual([]);
  });
});

test('a mail that is not sent stays in the queue', async () => {
  const { run, queue } = mailer([detail()], { publish: () => Promise.reject(new Error('refused')) });

  await expect(run()).rejects.toThrow('refused');
  expect(queue).toHaveLength(1);
});

test('a mail that is refused holds no other mail back', async () => {
  const sent: string[] = [];
  const publish = async (subject: string) => {
    if (subject.includes('ExportFailed')) throw new Error('refused');
    sent.push(subject);
  };
  const { run, queue } = mailer([detail(), detail({ name: 'b', error: 'FileRejected' })], { publish });

  await expect(run()).rejects.toThrow('refused');
  expect(sent).toEqual(['prod: leads ended in FileRejected']);
  expect(queue).toHaveLength(1);
});

test.each(['', '{}', 'null', '{"detail":1}'])(
  'the message %j, which is no end of a run, is left to the queue',
  async (body) => {
    const { run, mails, queue } = mailer([body, detail()]);
    await run();

    expect(mails).toHaveLength(1);
    expect(queue).toHaveLength(1);
  },
);

test('a chat gets the same as the custom notification of Amazon Q Developer', async () => {
  const { run, mails } = mailer([detail()]);
  await run();
  const [mail] = mails;

  expect(JSON.parse(mail?.chat ?? '')).toEqual({
    version: '1.0',
    source: 'custom',
    content: { textType: 'client-markdown', title: mail?.subject, description: `\`\`\`\n${mail?.text}\n\`\`\`` },
  });
});
