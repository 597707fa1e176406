import {
  DescribeAlarmsCommand,
  DisableAlarmActionsCommand,
  EnableAlarmActionsCommand,
  PutMetricDataCommand,
} from '@aws-sdk/client-cloudwatch';
import { CreateLogStreamCommand, PutLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { ListRulesCommand } from '@aws-sdk/client-eventbridge';
import { ListObjectVersionsCommand, PutBucketEncryptionCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { ListSubscriptionsByTopicCommand } from '@aws-sdk/client-sns';
import { ListQueuesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyIdOf } from '../../cli/deployment-state.ts';
import { ALL_CHECKS, type VerifyOptions, verify } from '../../cli/health/verify.ts';
import type { Verifying, VerifyRun } from '../../cli/health/verify-export.ts';
import { TEMPORARY_PREFIX, temporaryName } from '../../cli/health/verify-temporary.ts';
import { deployedConfiguration } from '../../cli/support/deployed-configuration.ts';
import { METRICS, namespaceOf } from '../../core/log/metrics.ts';
import { STEPS } from '../../core/step/steps.ts';
import { WITHOUT_AWS } from '../cli/support/run-cli.ts';
import { eventually } from '../support/project.ts';
import { endAll, run } from '../support/running.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';

/**
 * Tests `verify` on a real deployment: each check passes, and fails after its fault is made. test/cli/health tests the
 * parts that MiniStack lacks (docs/verify.md).
 */

let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('verify', { dashboard: true }, { rows: 3, jobChecks: 1 });
});

afterAll(async () => {
  await endAll();
  await system?.close();
});

/** The pace for results that arrive. */
const PATIENT = { everyMs: 20, patienceMs: 120_000, runMs: 150_000 };
/** The pace for results that never arrive. */
const IMPATIENT = { ...PATIENT, patienceMs: 300 };

function verified(ids: string[], options: Partial<VerifyOptions> = {}) {
  const checks = ALL_CHECKS.filter(({ id }) => ids.includes(id));
  const { signal } = new AbortController();
  return verify(system.target, {
    place: { deployment: 'verify' },
    entity: 'leads',
    signal,
    checks,
    pace: IMPATIENT,
    ...options,
  });
}

async function finding(id: string, options: Partial<VerifyOptions> = {}) {
  const { checks } = await verified([id], options);
  return checks.find((one) => one.id === id);
}

/** All temporary resources of a verify, except runs. */
async function temporary() {
  const { events, sqs, sns, s3, cloudwatch, AlarmTopicArn, BucketName } = system.target;
  const name = temporaryName(system.target.stack, '');
  const { Rules = [] } = await events.send(new ListRulesCommand({ NamePrefix: name }));
  const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({ QueueNamePrefix: name }));
  const { Subscriptions = [] } = await sns.send(new ListSubscriptionsByTopicCommand({ TopicArn: AlarmTopicArn }));
  const objects = await s3.send(new ListObjectVersionsCommand({ Bucket: BucketName, Prefix: TEMPORARY_PREFIX }));
  const { MetricAlarms = [] } = await cloudwatch.send(new DescribeAlarmsCommand({ StateValue: 'ALARM' }));
  const raised = MetricAlarms.filter(({ StateReason }) => StateReason?.startsWith('Set by hand for verify'));
  const rest = [...(objects.Versions ?? []), ...(objects.DeleteMarkers ?? []), ...raised];
  return [...Rules, ...QueueUrls, ...Subscriptions, ...rest];
}

/** Sets the bucket's encryption, which MiniStack drops from the template and AWS keeps. */
async function setEncryption() {
  const { s3, BucketName: Bucket } = system.target;
  const KMSMasterKeyID = await keyIdOf(system.target);
  const byDefault = { ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID } } as const;
  await s3.send(new PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration: { Rules: [byDefault] } }));
}

/** Writes the metrics of a run for this minute and the next ones: MiniStack makes none from log lines. */
async function putMetrics() {
  const { cloudwatch, stack, StateMachineArn } = system.target;
  const put = async (Namespace: string, MetricName: string, dimensions: Record<string, string>) => {
    const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }));
    const times = [0, 1, 2, 3, 4].map((minutes) => new Date(Date.now() + 60_000 * minutes));
    const MetricData = times.map((Timestamp) => ({ MetricName, Dimensions, Timestamp, Value: 1 }));
    await cloudwatch.send(new PutMetricDataCommand({ Namespace, MetricData }));
  };
  const values = { entity: 'leads', outcome: 'PUBLISHED' };
  for (const [name, { dimensions }] of Object.entries(METRICS)) {
    // Alarms read the metrics without a dimension, and MiniStack evaluates alarms, so these are left out.
    for (const set of dimensions.filter((one) => one.length > 0)) {
      await put(
        namespaceOf('verify'),
        name,
        Object.fromEntries(set.map((dimension) => [dimension, values[dimension]])),
      );
    }
  }
  await put('AWS/States', 'ExecutionsSucceeded', { StateMachineArn });
  for (const step of Object.keys(STEPS)) await put('AWS/Lambda', 'Duration', { FunctionName: `${stack}-${step}` });
}

const NOT_HERE = ['plain-http', 'foreign-key', 'rule-start'];

it('all checks hold on a complete deployment, and only the runs are left', async () => {
  expect(await findingAbout('grant-stored', {})).toMatchObject({ verdict: 'warning' });
  await setEncryption();
  await putMetrics();
  const here = ALL_CHECKS.map(({ id }) => id).filter((id) => !NOT_HERE.includes(id));

  const { checks, runs } = await verified(here, { alarm: true, pace: PATIENT });

  expect(checks.filter(({ verdict }) => verdict !== 'holds')).toEqual([]);
  expect(checks.map(({ id }) => id)).toEqual([...here, 'left-overs']);
  expect(runs).toHaveLength(1);
  expect(await temporary()).toEqual([]);
});

async function findingAbout(id: string, run: Partial<VerifyRun>, pace = PATIENT) {
  const steps = ['CreateExport', 'CheckStatus', 'DownloadFile', 'PublishFile'];
  const made = { run: 'a-run', askedAt: new Date(), steps, ...run } as VerifyRun;
  const { signal } = new AbortController();
  const configuration = deployedConfiguration(system.target);
  const rest = { configuration, entity: 'leads', id: 'test', alarm: false, pace, signal } as const;
  const verifying: Verifying = { ...rest, runs: [], target: system.target, exported: async () => made };
  return ALL_CHECKS.find((check) => check.id === id)?.answer(verifying);
}

it('a failed export is broken, and the checks that need it are unknown', async () => {
  system.sandbox.faults.add({ path: 'status', entity: 'leads', status: 'FAILED' });
  const { checks } = await verified(['export', 'read-back', 'encryption']);
  system.sandbox.faults.clear();

  expect(checks[0]).toMatchObject({ verdict: 'broken', found: expect.stringMatching(/ended in ExportFailed: /) });
  const rest = { verdict: 'unknown', found: 'the export was not published' };
  expect(checks.slice(1, 3)).toMatchObject([rest, rest]);
});

it('read-back rejects a file that differs from its manifest', async () => {
  const { s3, BucketName: Bucket } = system.target;
  const published = await system.run('contacts');
  await s3.send(new PutObjectCommand({ Bucket, Key: published.key ?? '', Body: 'another' }));

  await expect(findingAbout('read-back', published)).rejects.toThrow(/corrupt: .*\b7 bytes/);
});

it('log-lines is broken by an unlisted field, and names the field but not its value', async () => {
  const { logs, stack } = system.target;
  const askedAt = new Date();
  const at = { logGroupName: `/aws/lambda/${stack}-CheckStatus`, logStreamName: 'by-hand' };
  await logs.send(new CreateLogStreamCommand(at));
  const messages = ['{"level":"INFO","customer":"Dana Levi"}', 'Dana Levi said so'];
  const logEvents = messages.map((message) => ({ message, timestamp: Date.now() }));
  await logs.send(new PutLogEventsCommand({ ...at, logEvents }));
  const report = await system.run('leads');

  const found = await findingAbout('log-lines', {
    ...report,
    askedAt,
  });

  expect(found).toMatchObject({
    verdict: 'broken',
    found: expect.stringMatching(/^CheckStatus: .*\bcustomer; CheckStatus: .*\bJSON/),
  });
  const another = { ...report, run: 'another', askedAt: new Date() };
  await expect(findingAbout('log-lines', another, IMPATIENT)).rejects.toThrow(/logged nothing/);
});

it('alarm is broken if the alarm does not arrive, and is reset', async () => {
  const { cloudwatch, stack } = system.target;
  const look = new DescribeAlarmsCommand({ AlarmNamePrefix: `${stack}-` });
  const { MetricAlarms = [] } = await cloudwatch.send(look);
  const names = MetricAlarms.flatMap((alarm) => alarm.AlarmName ?? []);
  await cloudwatch.send(new DisableAlarmActionsCommand({ AlarmNames: names }));

  expect(await finding('alarm', { alarm: true })).toMatchObject({
    verdict: 'broken',
    found: expect.stringMatching(/queue/),
  });
  expect(await temporary()).toEqual([]);
  await cloudwatch.send(new EnableAlarmActionsCommand({ AlarmNames: names }));
  expect(await finding('alarm')).toMatchObject({ verdict: 'unknown', found: expect.stringMatching(/add --alarm$/) });
});

async function temporaryRule(): Promise<boolean> {
  const name = temporaryName(system.target.stack, '');
  const { Rules = [] } = await system.target.events.send(new ListRulesCommand({ NamePrefix: name }));
  return Rules.length > 0;
}

it('Ctrl-C removes everything that verify created', async () => {
  const command = run('cli/main.js', ['verify', '--alarm', ...system.place], WITHOUT_AWS);
  await eventually(temporaryRule);
  expect(await command.interrupt(), command.stderr()).toBe(130);
  expect(command.stderr()).toMatch(/^Stopped\. /m);
  expect(await temporary()).toEqual([]);
});
