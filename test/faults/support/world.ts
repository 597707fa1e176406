import { randomUUID } from 'node:crypto';
import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { GetSecretValueCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { Upload } from '@aws-sdk/lib-storage';
import type { Context } from 'aws-lambda';
import { vi } from 'vitest';
import { AWS_LIMITS } from '../../../core/aws/aws-limits.ts';
import { asBatchStep } from '../../../core/batch/batch-state.ts';
import { createLog } from '../../../core/log/log.ts';
import { asStep } from '../../../core/step/export-run.ts';
import type { Platform } from '../../../core/step/step.ts';
import type { InvokedName } from '../../../core/step/steps.ts';
import { createUploadBucket } from '../../../core/storage/upload.ts';
import { applyChunk } from '../../../lambdas/apply-chunk/apply-chunk.ts';
import { connect as connectApplyChunk } from '../../../lambdas/apply-chunk/handler.ts';
import { checkStatus } from '../../../lambdas/check-status/check-status.ts';
import { connect as connectCheckStatus } from '../../../lambdas/check-status/handler.ts';
import { createExport } from '../../../lambdas/create-export/create-export.ts';
import { connect as connectCreateExport } from '../../../lambdas/create-export/handler.ts';
import { downloadFile } from '../../../lambdas/download-file/download-file.ts';
import { connect as connectDownloadFile } from '../../../lambdas/download-file/handler.ts';
import { connect as connectPublishFile } from '../../../lambdas/publish-file/handler.ts';
import { publishFile } from '../../../lambdas/publish-file/publish-file.ts';
import { recorder } from '../../../lambdas/record-night/handler.ts';
import { connect as connectSummarizeBatch } from '../../../lambdas/summarize-batch/handler.ts';
import { summarizeBatch } from '../../../lambdas/summarize-batch/summarize-batch.ts';
import { connect as connectValidateBatch } from '../../../lambdas/validate-batch/handler.ts';
import { validateBatch } from '../../../lambdas/validate-batch/validate-batch.ts';
import { connect as connectWriteChanges } from '../../../lambdas/write-changes/handler.ts';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { connect as connectWriteTable } from '../../../lambdas/write-table/handler.ts';
import { writeTable } from '../../../lambdas/write-table/write-table.ts';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../sandbox/sandbox-settings.ts';
import { fullDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { definitionOf } from '../../../scripts/template.ts';
import { LIMITS } from '../../../transfer/base/limits.ts';
import { abortUpload, transfer } from '../../../transfer/transfer.ts';
import { type Execution, execute, type Options, PlatformError } from '../../lib/support/interpreter.ts';
import { oneOf } from '../../lib/support/template.ts';
import { FakeLedger } from '../../oauth/support/fake-ledger.ts';
import { FakeSecrets } from '../../oauth/support/fake-secrets.ts';
import { deployment } from '../../support/builders.ts';
import { startStrictStore } from '../../support/strict-store/strict-store.ts';
import { PART } from '../../support/transfer-limits.ts';
import { callName, isOfStore } from './call-names.ts';
import { type Answer, type Exchange, type Request, startFront } from './front.ts';
import { startVirtualTime } from './virtual-time.ts';

// The value that published-run.ts sets too: files of one worker share the class.
Object.assign(Upload, { MIN_PART_SIZE: 1 });

/** Part sizes, a thousandth of those in production. Waits and time limits are real ones: time is virtual. */
const SMALL = { ...LIMITS, bufferBytes: PART, smallestPartBytes: PART, largestPartBytes: PART };
export const CANARY = 'c4n4ry-of-a-customer';
const TEMPLATE = synthesise(fullDeployment());
const MACHINES = {
  ExportRun: definitionOf(TEMPLATE, 'ExportRun'),
  CustomerUpdates: definitionOf(TEMPLATE, 'CustomerUpdates'),
};
const SANDBOX: SandboxOptions = { canary: CANARY, rows: 12, jobChecks: 1, accessTokenSeconds: 86_400 };

export interface Intercepted extends Exchange {
  step: InvokedName;
  call: string;
  /** The number of this call by this step, from 1. */
  nth: number;
}

/** The fault of a call. `died` ends the process of the function. */
export type Meet = (met: Intercepted, died: () => void) => Promise<void>;

export type World = Awaited<ReturnType<typeof startWorld>>;

export type Entities = NonNullable<Parameters<typeof deployment>[0]>['entities'];

/** The CRM, the cloud and the functions of a deployment, in virtual time. */
export async function startWorld(start: string, options: SandboxOptions = {}, entities: Entities = {}) {
  const sandbox = await startSandbox({ ...SANDBOX, ...options });
  const store = await startStrictStore({ minPartBytes: PART });
  const aws = awsJson();
  const behind = (request: Request) => {
    if (request.headers['x-amz-target'] !== undefined) return aws.answer(request);
    return isOfStore(request) ? store.endpoint : sandbox.url;
  };
  const front = await startFront(behind);
  const time = startVirtualTime(start, front.traffic);
  const environment = {
    AWS_ENDPOINT_URL: front.url,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    BUCKET_NAME: 'exports',
    CLIENT_SECRET_ID: 'client',
    DEPLOYMENT: 'faults',
    HASH_KEY_SECRET_ID: 'hash-key',
    LEDGER_TABLE: 'ledger',
    SOFTWARE_VERSION: '0.0.0',
    TOKENS_SECRET_ID: 'tokens',
    URL_SUFFIX: 'amazonaws.com',
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const settings = deployment({
    crm: {
      baseUrl: `${front.url}/api/v1`,
      authUrl: `${front.url}/auth`,
      scopes: ['openid', 'global:export', 'customers:update'],
    },
    customerUpdates: true,
    entities,
    readers: [{ principal: '444455556666', entities: 'all', of: ['files'] }],
    polling: { firstWaitSeconds: 600, largestWaitSeconds: 3600, deadlineSeconds: 14_400 },
  });
  const said = keptOutput();
  const containers = new Map<InvokedName, Handler>();
  /** The states of the runs that a person can see. */
  const states: unknown[] = [];
  const crashes: unknown[] = [];
  const counts = new Map<string, number>();
  const causes: unknown[] = [];
  /** The secrets that no output may contain. */
  const secrets = new Set([CANARY, HASH_KEY, sandbox.clientSecret]);
  const met: { step: InvokedName; call: string }[] = [];
  const world = { meet: undefined as Meet | undefined };
  let step: InvokedName = 'CreateExport';
  let die: (name: string) => void = () => undefined;

  front.meddler = async (exchange) => {
    const call = callName(exchange.request);
    const nth = (counts.get(`${step} ${call}`) ?? 0) + 1;
    counts.set(`${step} ${call}`, nth);
    met.push({ step, call });
    const done = async () => {
      const answer = await exchange.done();
      if (call === 'refresh the grant') for (const token of tokensIn(answer.body)) secrets.add(token);
      return answer;
    };
    const passOn = async () => exchange.answer(await done());
    await (world.meet?.({ ...exchange, done, step, call, nth }, () => die('Runtime.ExitError')) ?? passOn());
  };

  const invoke = async (name: string, payload: unknown): Promise<unknown> => {
    step = name as InvokedName;
    const handler = containers.get(step) ?? HANDLERS[step](platformOf(step, settings));
    containers.set(step, handler);
    states.push(payload);
    const death = Promise.withResolvers<never>();
    die = (cause) => death.reject(new PlatformError(cause));
    const limit = oneOf(TEMPLATE, 'AWS::Lambda::Function', `${step}Function`)[1].Properties.Timeout * 1000;
    const end = Date.now() + limit;
    const killer = setTimeout(() => die('Sandbox.Timedout'), limit);
    const context = { awsRequestId: randomUUID(), getRemainingTimeInMillis: () => end - Date.now() } as Context;
    try {
      const answer = await time.run(Promise.race([handler(payload, context), death.promise]));
      states.push(answer);
      return answer;
    } catch (error) {
      if (!(error instanceof PlatformError)) crashes.push(error);
      containers.delete(step);
      front.frozen = true;
      await time.forget();
      front.frozen = false;
      throw error;
    } finally {
      clearTimeout(killer);
    }
  };

  return Object.assign(world, {
    sandbox,
    store,
    aws,
    front,
    time,
    settings,
    states,
    causes,
    secrets,
    crashes,
    met,
    said,
    /** Makes a new grant, as a person does. @param secondsLeft of its access token */
    newTokens: (secondsLeft: number) => {
      const { accessToken, refreshToken } = sandbox.issueTokens();
      for (const token of [accessToken, refreshToken]) secrets.add(token);
      const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
      const times = { expiresAt: at(secondsLeft), obtainedAt: at(secondsLeft - 3600), earlierObtainedAt: [] };
      return { accessToken, refreshToken, ...times, scope: 'openid global:export customers:update' };
    },
    forgetCalls: () => {
      counts.clear();
      met.length = 0;
    },
    execute: async (machine: keyof typeof MACHINES, options: Options): Promise<Execution> => {
      containers.clear();
      const begun = new Date(time.time).toISOString();
      const items = async ({ Key }: Record<string, unknown>) => jsonLines(store.object(String(Key))?.body);
      const settings = { start: begun, drawn: 0.5, clock: time, items, ...options };
      const ended = await execute(MACHINES[machine], invoke, settings);
      causes.push(ended);
      return ended;
    },
    stop: async () => {
      time.end();
      front.stop();
      await Promise.all([sandbox.close(), store.stop()]);
      vi.unstubAllEnvs();
    },
  });
}

function tokensIn(body: Buffer): string[] {
  const { access_token, refresh_token } = JSON.parse(body.toString());
  return [access_token, refresh_token].filter((token) => typeof token === 'string');
}

/** Keeps the output of the functions: logs and metrics. */
function keptOutput() {
  const written: string[] = [];
  const keep = (chunk: unknown) => written.push(String(chunk)) > 0;
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockImplementation(keep);
  return () => written.join('');
}

function jsonLines(body: Buffer | undefined): unknown[] {
  return (body?.toString() ?? '')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

type Handler = (event: unknown, context: Context) => Promise<unknown>;

/** The deployed functions: `handler.ts` makes their clients from the environment. */
const HANDLERS: Record<InvokedName, (platform: Platform) => Handler> = {
  CreateExport: (platform) => asStep('CreateExport', createExport, connectCreateExport, platform),
  CheckStatus: (platform) => asStep('CheckStatus', checkStatus, connectCheckStatus, platform),
  DownloadFile: (platform) => asStep('DownloadFile', downloadFile, connectSmallDownload, platform),
  PublishFile: (platform) => asStep('PublishFile', publishFile, connectPublishFile, platform),
  RecordNight: (platform) => recorder(platform),
  WriteTable: (platform) => asStep('WriteTable', writeTable, connectWriteTable, platform),
  WriteChanges: (platform) => asStep('WriteChanges', writeChanges, connectSmallChanges, platform),
  ValidateBatch: (platform) => asBatchStep('ValidateBatch', validateBatch, connectValidateBatch, platform),
  ApplyChunk: (platform) => asBatchStep('ApplyChunk', applyChunk, connectApplyChunk, platform),
  SummarizeBatch: (platform) => asBatchStep('SummarizeBatch', summarizeBatch, connectSummarizeBatch, platform),
};

const connectSmallDownload: typeof connectDownloadFile = () => {
  const connected = connectDownloadFile();
  return (invocation) => ({
    ...connected(invocation),
    transfer: (options) => transfer({ ...options, limits: SMALL }),
    abortUpload: (options, upload) => abortUpload({ ...options, limits: SMALL }, upload),
  });
};

const connectSmallChanges: typeof connectWriteChanges = () => {
  const connected = connectWriteChanges();
  const client = new S3Client(AWS_LIMITS);
  return (invocation) => ({ ...connected(invocation), bucket: createUploadBucket(client, 'exports', undefined, PART) });
};

function platformOf(step: InvokedName, settings: ReturnType<typeof deployment>): Platform {
  const now = () => new Date();
  return { log: createLog(step, 'faults'), now, random: () => 0.5, deployment: () => settings };
}

type Command = new (input: never) => object;

const COMMANDS: Record<string, Command> = {
  'secretsmanager.GetSecretValue': GetSecretValueCommand,
  'secretsmanager.PutSecretValue': PutSecretValueCommand,
  'DynamoDB_20120810.UpdateItem': UpdateItemCommand,
};

const HASH_KEY = 'k4y-of-the-hashed-columns-of-all-tables';

/** Secrets Manager and DynamoDB at the protocol level, with the conditions and versions of AWS. */
function awsJson() {
  const now = async () => undefined;
  const secrets = new FakeSecrets(() => new Date(), now);
  const ledger = new FakeLedger(now);
  return {
    secrets,
    ledger,
    answer: async ({ headers, body }: Request): Promise<Answer> => {
      const target = String(headers['x-amz-target']);
      const Of = COMMANDS[target];
      if (!Of) throw new Error(`${target} is not known`);
      const input = JSON.parse(body.toString());
      if (input.SecretId === 'hash-key') return json(200, { SecretString: HASH_KEY });
      const client = target.startsWith('Dynamo') ? ledger.client : secrets.client;
      const send = client.send as (command: object) => Promise<object>;
      return send(new Of(input as never)).then(
        (answer) => json(200, answer),
        (error: Error) => json(400, { ...error, __type: error.name, message: '' }),
      );
    },
  };
}

function json(status: number, value: object): Answer {
  const headers = { 'content-type': 'application/x-amz-json-1.1' };
  return { status, headers, body: Buffer.from(JSON.stringify(value)) };
}
