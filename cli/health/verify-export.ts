import { setTimeout as sleep } from 'node:timers/promises';
import { GetMetricDataCommand, type Metric, type MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import { paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import * as z from 'zod/mini';
import type { Deployed } from '../../core/config/deployed.ts';
import type { Entity } from '../../core/config/entities.ts';
import { parseJson } from '../../core/json.ts';
import { isListed } from '../../core/log/log-fields.ts';
import { DASHBOARD_ONLY, METRICS, namespaceOf } from '../../core/log/metrics.ts';
import { newestTokenSet } from '../../core/oauth/grant.ts';
import { STEPS } from '../../core/step/steps.ts';
import { verifyPublished } from '../data/stored-file.ts';
import { grantPlaces, keyIdOf } from '../deployment-state.ts';
import { historyOf, startRun } from '../runs/executions.ts';
import { followRun } from '../runs/follow.ts';
import type { Run } from '../runs/run.ts';
import type { Target } from '../support/target.ts';
import { asciiText, bytesText, countText } from '../support/text.ts';
import { broken, CannotCheck, type Finding, holds, holdsUnless, ifRead, type Question, unknown } from './check.ts';
import { GRANT_STORED, storedFinding } from './grant-checks.ts';

export interface Check extends Question {
  answer: (verifying: Verifying) => Finding | Promise<Finding>;
}

/** One verify run: the deployment, and what its checks share. */
export interface Verifying {
  target: Target;
  configuration: Promise<Deployed>;
  entity: Entity;
  /** The part of the names of temporary objects that shows which verify made them. */
  id: string;
  /** Whether verify may set an alarm, which sends mails. */
  alarm: boolean;
  pace: Pace;
  signal: AbortSignal;
  /** Names of all runs that this verify started. */
  runs: string[];
  /** One export, made once for all checks. @throws CannotCheck if it does not end in time */
  exported: () => Promise<VerifyRun>;
}

/**
 * Repeats `read` until its result is enough, or the time is over.
 * @returns the last result
 * @throws the reason of the signal
 */
export async function pollUntil<T>(
  read: () => Promise<T>,
  enough: (found: T) => boolean,
  { pace, signal }: Pick<Verifying, 'pace' | 'signal'>,
): Promise<T> {
  const end = performance.now() + pace.patienceMs;
  for (;;) {
    signal.throwIfAborted();
    const found = await read();
    if (enough(found) || performance.now() >= end) return found;
    await sleep(pace.everyMs, undefined, { signal });
  }
}

/** Turns a finding that does not hold into `unknown` in a local cloud, which enforces less than AWS. */
export async function unlessLocal({ configuration }: Pick<Verifying, 'configuration'>, finding: Finding) {
  const isLocal = finding.verdict !== 'holds' && (await ifRead(configuration))?.local === true;
  return isLocal ? unknown('not enforced by the local cloud') : finding;
}

export interface Pace {
  everyMs: number;
  /** How long to wait for logs and metrics, which arrive minutes after the run. */
  patienceMs: number;
  runMs: number;
}

const RUN_RIGHTS = [
  'states:StartExecution on ExportRun',
  'states:DescribeExecution on executions of ExportRun',
  'states:GetExecutionHistory on executions of ExportRun',
];

/** A completed run that this verify started. */
export interface VerifyRun extends Run {
  /** The time just before the start of the run, by the clock of this machine. */
  askedAt: Date;
  /** The steps whose functions the run called: not every run has every step. */
  steps: string[];
}

/** The export of this verify. @throws CannotCheck if it is not published */
async function publishedBy({ exported }: Pick<Verifying, 'exported'>) {
  const run = await exported();
  const { outcome, manifestKey, key } = run;
  if (outcome === 'published' && manifestKey && key) return { ...run, manifestKey, key };
  throw new CannotCheck('the export was not published');
}

/** Makes one export. @throws CannotCheck if it does not end in time */
export async function makeExport({ target, entity, pace, id, signal, runs }: Verifying): Promise<VerifyRun> {
  const name = `${entity}-verify-${id}-0`;
  const askedAt = new Date();
  const { executionArn } = await startRun(target, entity, {}, name);
  runs.push(name);
  const limit = AbortSignal.timeout(pace.runMs);
  const follow = { everyMs: Math.min(pace.everyMs, 2000), signal: AbortSignal.any([signal, limit]) };
  const run = await followRun(target.sfn, executionArn, follow).catch((error: unknown) => {
    if (!limit.aborted || signal.aborted) throw error;
    throw new CannotCheck(`${name} was still under way after ${Math.round(pace.runMs / 60_000)} minutes`);
  });
  const entered = (await historyOf(target.sfn, executionArn)).map((state) => state.name);
  return { ...run, askedAt, steps: Object.keys(STEPS).filter((step) => entered.includes(step)) };
}

/** Checks of one export, from its start to its readers. */
export const EXPORT_CHECKS: Check[] = [
  {
    id: 'export',
    question: 'Is one export published?',
    rights: RUN_RIGHTS,
    answer: async ({ exported }) => {
      const { run: name, outcome, manifestKey, status, error, cause, rows, bytes, seconds } = await exported();
      if (outcome === 'published' && manifestKey) {
        const count = rows === null ? '' : `${countText(rows, 'row')}, `;
        return holds(`${name} is published after ${seconds} s: ${count}${bytesText(bytes)}`);
      }
      const why = `in ${error ?? status}: ${cause ?? 'no cause was given'}`;
      const found = `${name} ended ${status === 'SUCCEEDED' ? 'without publishing' : why}`;
      return broken(found, 'The export should be published; docs/runbook.md has an entry for each error.');
    },
  },
  {
    id: 'read-back',
    question: 'Do pointers, manifest and every byte of the file of that export agree?',
    rights: [
      ...RUN_RIGHTS,
      's3:GetObject on `published/*`, `runs/*`',
      's3:ListBucket on the bucket',
      'kms:Decrypt on the key, through S3',
    ],
    answer: async (verifying) => {
      const manifest = await verifyPublished(verifying.target, await publishedBy(verifying));
      const { bytes, crc32 } = manifest.file;
      return holds(`pointers and manifest name the file, its ${bytes} bytes have the CRC-32 ${crc32} of the manifest`);
    },
  },
  {
    // This check finds lines of libraries that write their own log.
    id: 'log-lines',
    question: 'Do the functions log only listed fields, since the start of that export?',
    rights: [...RUN_RIGHTS, 'logs:FilterLogEvents on log groups of the functions'],
    answer: async (verifying) => {
      const { steps, run, askedAt } = await publishedBy(verifying);
      const silentIn = (lines: Line[]) =>
        steps.filter((step) => !lines.some((line) => line.step === step && line.text.includes(run)));
      const read = () => linesSince(verifying, steps, askedAt);
      const lines = await pollUntil(read, (found) => silentIn(found).length === 0, verifying);
      const silent = silentIn(lines);
      if (silent.length > 0) throw new CannotCheck(`${silent.join(', ')} logged nothing of that export yet`);
      const wrong = lines.flatMap(({ step, text }) => unlistedIn(text).map((what) => `${step}: ${what}`));
      const why =
        'Only the fields of core/log/log-fields.ts should be there: look at the log group, and tell the developers.';
      return holdsUnless([...new Set(wrong)].slice(0, 5), `${lines.length} lines hold only listed fields`, why);
    },
  },
  {
    id: 'encryption',
    question: 'Are the file and its manifest encrypted by the key of the deployment?',
    rights: [
      ...RUN_RIGHTS,
      'cloudformation:ListStackResources on the stack',
      's3:GetObject on `published/*`, `runs/*`',
      'kms:Decrypt on the key, through S3',
    ],
    answer: async (verifying) => {
      const { s3, BucketName: Bucket } = verifying.target;
      const { key, manifestKey } = await publishedBy(verifying);
      const ours = await keyIdOf(verifying.target);
      const wrong: string[] = [];
      let encrypted = 0;
      for (const Key of [key, manifestKey]) {
        const { ServerSideEncryption: by, SSEKMSKeyId: id = '' } = await s3.send(
          new HeadObjectCommand({ Bucket, Key }),
        );
        encrypted += by ? 1 : 0;
        if (by !== 'aws:kms') wrong.push(`${Key} is ${by ? `encrypted with ${by}` : 'not encrypted'}`);
        else if (id.split('/').at(-1) !== ours) wrong.push(`${Key} is encrypted with another key, ${id}`);
      }
      const finding = holdsUnless(wrong, `both are encrypted with the key ${ours} of the deployment`);
      // S3 encrypts every object: https://docs.aws.amazon.com/AmazonS3/latest/userguide/default-encryption-faq.html
      return encrypted > 0 ? finding : unlessLocal(verifying, finding);
    },
  },
];

/** Checked after the export, even after a failed one, because its functions refresh a grant that is due. */
export const GRANT_CHECK: Check = {
  ...GRANT_STORED,
  answer: async ({ target, exported }) => {
    await exported().catch(() => undefined);
    return storedFinding((await newestTokenSet(grantPlaces(target).store)).tokens);
  },
};

/**
 * Lines that Lambda writes (https://docs.aws.amazon.com/lambda/latest/dg/nodejs-logging.html), and fixed texts of Node.
 */
const PLATFORM = [
  /^(START|END|REPORT) RequestId: |^XRAY TraceId: /,
  /^(INIT_START|INIT_REPORT|RESTORE_START|RESTORE_REPORT|EXTENSION)\b/,
  /^\(node:\d+\) \[DEP\d+\] DeprecationWarning: |^\(Use `node --trace-deprecation /,
];
const OF_EVERY_LINE = ['level', 'message', 'timestamp', 'step', 'xray_trace_id'];
const OF_METRICS = ['_aws', ...Object.keys(METRICS)];
const lineSchema = z.looseObject({ execution: z.optional(z.string()) });

interface Line {
  step: string;
  text: string;
}

async function linesSince({ target, signal }: Verifying, steps: string[], since: Date): Promise<Line[]> {
  const lines: Line[] = [];
  for (const step of steps) {
    const query = { logGroupName: `/aws/lambda/${target.stack}-${step}`, startTime: since.getTime() };
    for await (const page of paginateFilterLogEvents({ client: target.logs }, query, { abortSignal: signal })) {
      lines.push(...(page.events ?? []).map(({ message = '' }) => ({ step, text: message.trim() })));
    }
  }
  return lines;
}

/** Unlisted fields of a log line, by name only: their values may be data. */
function unlistedIn(text: string): string[] {
  if (text === '' || PLATFORM.some((pattern) => pattern.test(text))) return [];
  const line = parseJson(lineSchema, text);
  if (!line) return ['a line that is not a JSON record'];
  const unlisted = Object.keys(line).filter(
    (name) => !isListed(name) && !OF_EVERY_LINE.includes(name) && !OF_METRICS.includes(name),
  );
  return unlisted.map((name) => `the field ${asciiText(name).slice(0, 40)}`);
}

export const METRIC_CHECK: Check = {
  id: 'metrics',
  question: 'Have the metrics of that export arrived?',
  rights: [...RUN_RIGHTS, 'cloudwatch:GetMetricData on `*`'],
  // Missing metrics are unknown, because they may still arrive.
  answer: async (verifying) => {
    const run = await publishedBy(verifying);
    const expected = expectedOf(verifying, run);
    const read = () => withoutData(verifying.target, expected, run.askedAt);
    const judge = (missing: Metric[]) =>
      missing.length === 0
        ? holds(`all ${expected.length} have data`)
        : unknown(`CloudWatch has no data yet for ${missing.map(metricText).join(', ')}`, LATER);
    const first = await unlessLocal(verifying, judge(await read()));
    // A finding without advice is final: a second read cannot change it.
    if (first.advice === null) return first;
    return judge(await pollUntil(read, (missing) => missing.length === 0, verifying));
  },
};

const LATER = 'Some metrics arrive late: check CloudWatch in a quarter of an hour.';

/** The metrics that every export writes, by the names of their dimensions. */
function expectedOf({ target, entity }: Verifying, { rows, steps }: Pick<VerifyRun, 'rows' | 'steps'>): Metric[] {
  const own = (MetricName: string, dimensions: Record<string, string>) =>
    metricOf(namespaceOf(target.stack.replace(/^crm-export-/, '')), MetricName, dimensions);
  const outcome = 'PUBLISHED';
  const ofEntity = target.DashboardName ? DASHBOARD_ONLY.filter((name) => rows !== null || name !== 'FileRows') : [];
  return [
    own('RunsEnded', { entity, outcome }),
    own('RunsEnded', { outcome }),
    ...ofEntity.map((name) => own(name, { entity })),
    metricOf('AWS/States', 'ExecutionsSucceeded', { StateMachineArn: target.StateMachineArn }),
    ...steps.map((step) => metricOf('AWS/Lambda', 'Duration', { FunctionName: `${target.stack}-${step}` })),
  ];
}

function metricOf(Namespace: string, MetricName: string, dimensions: Record<string, string>): Metric {
  return { Namespace, MetricName, Dimensions: Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value })) };
}

const MINUTE_MS = 60_000;

async function withoutData({ cloudwatch }: Pick<Target, 'cloudwatch'>, metrics: Metric[], since: Date) {
  const MetricDataQueries = metrics.map((metric, index): MetricDataQuery => {
    return { Id: `m${index}`, MetricStat: { Metric: metric, Period: 60, Stat: 'SampleCount' } };
  });
  const StartTime = new Date(Math.floor(since.getTime() / MINUTE_MS) * MINUTE_MS);
  const EndTime = new Date(Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS);
  const { MetricDataResults = [] } = await cloudwatch.send(
    new GetMetricDataCommand({ MetricDataQueries, StartTime, EndTime }),
  );
  const counted = new Set(MetricDataResults.filter(({ Values = [] }) => Values.length > 0).map(({ Id }) => Id));
  return metrics.filter((_, index) => !counted.has(`m${index}`));
}

/** `crm-export-prod RunsEnded {entity=leads}` */
function metricText({ Namespace, MetricName, Dimensions = [] }: Metric): string {
  return `${Namespace} ${MetricName} {${Dimensions.map(({ Name, Value }) => `${Name}=${Value}`).join(', ')}}`;
}
