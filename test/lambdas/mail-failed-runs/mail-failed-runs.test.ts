import { describe, expect, test } from 'vitest';
import { adviceOf, ERRORS, RunError } from '../../../core/errors.ts';
import { latestPointerKey } from '../../../core/export/pointer.ts';
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
import { fakeBucket } from '../../support/fake-bucket.ts';
import { manifestOf, pointerTo } from '../../support/manifests.ts';
import { expectTexts } from '../../support/screen.ts';

/** The product's metrics that alarms read, with the outcome dimension if there is one. */
const ALARMED = Object.values(synthesise(fullDeployment()).Resources)
  .filter(({ Type, Properties }) => Type === 'AWS::CloudWatch::Alarm' && Properties.Namespace === 'crm-export-example')
  .map(({ Properties: { MetricName: metric, Dimensions = [] } }) => {
    const of = Dimensions.find(({ Name }: { Name: string }) => Name === 'outcome')?.Value;
    return { metric, of };
  });
const NOW = new Date('2026-11-20T03:00:00.000Z');

const NAME = 'leads-20261120T020000Z-1a2b3c';
const CAUSE = `The CRM reported the export as failed. ${ERRORS.ExportFailed.advice}`;

/** The `detail` of an event. AWS sends further fields, and null for those that do not apply. */
const detail = (values: Record<string, unknown> = {}) => ({
  ...{ name: NAME, status: 'FAILED', stopDate: NOW.getTime() - 20 * 60_000, input: '{"entity":"leads"}' },
  ...{ output: null, redriveCount: 0, inputDetails: { included: true } },
  ...{ error: 'ExportFailed', cause: CAUSE, ...values },
});

interface Options extends Partial<Pick<MailFailedRunsDeps, 'publish' | 'bucket'>> {
  /** The date of the newest published file of leads. */
  newest?: string | undefined;
}

/** Invokes the function once for each event, as the rule does. */
async function mailsOf(details: unknown[], options: Options = { newest: '2026-11-19' }) {
  const mails: { subject: string; text: string; chat: string }[] = [];
  const pointer = options.newest && { ...pointerTo(manifestOf()), date: options.newest };
  const deps: MailFailedRunsDeps = {
    deployment: 'prod',
    runbookUrl: 'docs/runbook.md',
    publish: async (subject, message) => {
      const { default: text, https: chat } = JSON.parse(message);
      mails.push({ subject, text, chat });
    },
    bucket: fakeBucket({ objects: pointer ? { [latestPointerKey('leads')]: JSON.stringify(pointer) } : {} }),
    ...options,
  };
  for (const one of details) await mailFailedRuns(one, deps);
  return mails;
}

/** The mail about one event. */
async function mailOf(values: Record<string, unknown> = {}, options?: Options) {
  const [mail, ...others] = await mailsOf([detail(values)], options);
  if (!mail || others.length > 0) throw new Error('one event makes one mail');
  return mail;
}

const BY_VERIFY = { error: 'InvalidInput', cause: 'No entity.', input: '{"verify":"20261122T020000Z-1a2b3c"}' };
const QUARANTINED = adviceOf('FileQuarantined', { entity: 'leads', execution: NAME });
const updatesOf = (batch: string) => {
  return { input: `{"file":"updates/${batch}/input.jsonl"}`, error: 'UpdatesIncomplete', cause: null };
};
const DENIED = { read: () => Promise.reject(new RunError('StorageDenied', 'No.')) };

const MAILS: [what: string, values: Record<string, unknown>, options?: Options][] = [
  ['an export that failed', {}],
  ['the same, if no file was ever published', {}, {}],
  ['the same, if the bucket cannot be read', {}, { bucket: DENIED }],
  ['a cause that has the advice', { error: 'FileQuarantined', cause: `The file is stored. ${QUARANTINED}` }],
  ['a run that verify made', BY_VERIFY],
  ['customer updates', { name: 'update-1-abc', ...updatesOf('update-1') }],
  ['customer updates with an invalid name', updatesOf('a b')],
  ['a run that timed out', { status: 'TIMED_OUT', error: null, cause: null, input: null }],
  ['an unknown error', { error: 'eyJhbGciOi', cause: 'secret' }],
];

test('each failed run is mailed with its advice once, its newest file and its command; an unknown error is not quoted', async () => {
  const mails: [string, string][] = [];
  for (const [what, values, options] of MAILS) {
    const { subject, text } = await mailOf(values, options);
    mails.push([what, `Subject: ${subject}\n\n${text}`]);
  }

  await expectTexts('mails', mails);
  expect(mails.join()).not.toMatch(/eyJ|secret/);
});

test.each([
  ['InvalidInput', { ...BY_VERIFY, input: '{"entity":"leeds"}' }],
  ['ConfigInvalid', { ...BY_VERIFY, error: 'ConfigInvalid' }],
])('a run that ends in %s in another way than verify makes it fail is mailed as such', async (error, values) => {
  expect((await mailOf(values)).subject).toMatch(new RegExp(`^prod: .* ${error}$`));
});

test.each(['InvalidInput', 'EarlierRelease'] as const)(
  'the mail of a batch that ends in %s has its advice once',
  async (error) => {
    const cause = `What happened. ${adviceOf(error, { execution: 'a' })}`;
    const { text } = await mailOf({ name: 'a', error, cause, input: '{"file":"updates/b-1/input.jsonl"}' });

    expect(text).toContain('\n  What happened.\n');
    expect(text).not.toContain('BATCH');
  },
);

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

    const subjects = mails.map(({ subject }) => subject.replace(/: (leads|A run) /, ': '));
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
    expect(JSON.stringify(await mailOf(values))).not.toContain('leaked');
  });

  test('line breaks and control characters of a name or cause are removed, and the name stays one argument', async () => {
    const { text } = await mailOf({ name: "it's-(mine)", cause: 'a\r\n\u001b[2Jb\u202ec' });

    expect(text).toContain('\n  a [2Jb c\n');
    expect(text).toContain(`show "it's-(mine)" --deployment prod`);
  });

  test('backticks in a cause do not end the code block of the chat message', async () => {
    const { chat, text } = await mailOf({ cause: 'Unrecognized key: "``` <!channel> `"' });

    expect(JSON.parse(chat).content.description.match(/`+/g)).toEqual(['```', '```']);
    expect(text).toContain('Unrecognized key: "``` <!channel> `"');
  });

  test('the mail is well-formed text if the cause is cut in the middle of a character', async () => {
    expect((await mailOf({ cause: `${'x'.repeat(999)}😀` })).text.isWellFormed()).toBe(true);
  });

  test('the subject is ASCII and shorter than SNS allows, for any name', async () => {
    expect((await mailOf({ name: 'ש'.repeat(80), input: null })).subject).toMatch(/^[\x20-\x7e]{1,99}$/);
  });
});

test('fails the invocation if SNS refuses the mail, so that Lambda repeats it', async () => {
  const publish = () => Promise.reject(new Error('refused'));

  await expect(mailsOf([detail()], { publish })).rejects.toThrow('refused');
});

test.each([undefined, {}, null, { name: 1 }])('fails at the detail %j, which is no end of a run', async (strange) => {
  await expect(mailsOf([strange])).rejects.toThrow();
});

test('sends chats the same text as a custom notification of Amazon Q Developer', async () => {
  const { chat, subject, text } = await mailOf();

  expect(JSON.parse(chat)).toEqual({
    version: '1.0',
    source: 'custom',
    content: { textType: 'client-markdown', title: subject, description: `\`\`\`\n${text}\n\`\`\`` },
  });
});
