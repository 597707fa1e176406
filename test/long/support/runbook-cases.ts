import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { StartExecutionCommand, StopExecutionCommand } from '@aws-sdk/client-sfn';
import { startRun } from '../../../cli/runs/executions.ts';
import { followRun } from '../../../cli/runs/follow.ts';
import type { Run } from '../../../cli/runs/run.ts';
import { headKey } from '../../../core/changes/feed-keys.ts';
import type { Entity } from '../../../core/config/entities.ts';
import type { FaultInput } from '../../../sandbox/faults.ts';
import { bucketTools } from '../../e2e/support/bucket-tools.ts';
import type { Deployed } from '../../e2e/support/deployed.ts';
import { putTokens } from '../../e2e/support/secrets.ts';
import { operatorOf } from './operator.ts';

export const ENTITY: Entity = 'leads';
/** The entity with feeds. Runs of other entities would otherwise wait for their tables. */
export const FED: Entity = 'contacts';
const FED_ROWS = 40;
/** The maximum file size: low, so that a file above it is still small. */
export const MAX_BYTES = 2_000_000;

/** An entry of the runbook, and how to cause its fault. */
export interface Case {
  entry: string;
  /** Causes the fault and returns the run that met it. */
  fault: (system: Deployed) => Promise<Run>;
  /** Default: `ENTITY`. */
  entity?: Entity;
  /** The expected end of a run; default: the entry's name. */
  error?: string | null;
  /** The actions of a person outside the command, at the CRM or in the console. */
  mend?: (system: Deployed) => Promise<unknown>;
}

type Fault = FaultInput extends infer F ? Omit<F, 'entity'> : never;

const answer = (status: number, body: Record<string, string> = {}) => ({ answer: { status, body } });

function atTheService(entry: string, fault: Fault): Case {
  return {
    entry,
    fault: (system) => {
      system.sandbox.faults.add({ ...fault, entity: ENTITY });
      return system.run(ENTITY);
    },
  };
}

function atTheTokenEndpoint(fault: Omit<Fault, 'path'>): Case['fault'] {
  return async (system) => {
    // All functions have the same stored token. Then the CRM refuses it, and its token endpoint is faulty.
    system.sandbox.expireAccessTokens();
    await system.run(ENTITY);
    system.sandbox.expireAccessTokens();
    system.sandbox.faults.add({ ...fault, path: 'token' });
    return system.run(ENTITY);
  };
}

/** Runs until one run ends as expected: a function retries half a minute after a failed refresh, and not before. */
async function runUntil(system: Deployed, ends: (report: Run) => boolean): Promise<Run> {
  let report = await system.run(ENTITY);
  for (let runs = 0; runs < 12 && !ends(report); runs += 1) report = await system.run(ENTITY);
  return report;
}

/** The first refreshes get no answer. Later runs find that calls to the CRM are paused. */
async function unansweredRefreshes(system: Deployed): Promise<Run> {
  await atTheTokenEndpoint({ reset: 'after' })(system);
  return runUntil(system, ({ error }) => error !== 'CrmUnavailable');
}

async function authorizedAgain(system: Deployed): Promise<void> {
  await system.authorize();
  await runUntil(system, ({ status }) => status === 'SUCCEEDED');
}

/** An entry whose fault cannot be made here: runs its commands after another failed run. */
function commandsOnly(entry: string): Case {
  return { ...atTheService(entry, { path: 'status', status: 'FAILED' }), error: 'ExportFailed' };
}

const OF_THE_SERVICE: Case[] = [
  atTheService('AuthRefused', { path: 'create', ...answer(403) }),
  atTheService('CrmUnavailable', { path: 'status', ...answer(503) }),
  atTheService('RateLimited', { path: 'status', ...answer(429) }),
  atTheService('CrmBusy', { path: 'create', ...answer(409) }),
  atTheService('CrmRejectedRequest', { path: 'create', ...answer(400) }),
  atTheService('CrmContractError', { path: 'status', status: 'DANCING' }),
  atTheService('CreateUnanswered', { path: 'create', reset: 'after' }),
  atTheService('ExportFailed', { path: 'status', status: 'FAILED' }),
  atTheService('ExportNotFound', { path: 'download', ...answer(404) }),
  atTheService('ExportNotReady', { path: 'download', ...answer(409) }),
  atTheService('ExportDeadlineExceeded', { path: 'status', status: 'PROCESSING' }),
  atTheService('DownloadUrlRejected', {
    ...{ path: 'file', answer: { status: 302, headers: { Location: 'http://169.254.169.254/latest/meta-data/' } } },
  }),
  atTheService('DownloadLinkExpired', { path: 'file', ...answer(403) }),
  atTheService('DownloadIncomplete', { path: 'file', hangUp: 10 }),
  atTheService('DownloadStalled', { path: 'file', stallAfter: 10 }),
  atTheService('FileQuarantined', { path: 'file', body: '' }),
  atTheService('DownloadTooLarge', { path: 'file', body: `id,name\n${'1,a\n'.repeat(MAX_BYTES / 2)}` }),
  atTheService('FileRejected', { path: 'file', body: '<!doctype html><p>Sign in', contentType: 'text/html' }),
];

const deadGrant = atTheTokenEndpoint(answer(400, { error: 'invalid_grant' }));
const OF_THE_GRANT: Case[] = [
  { entry: 'ReauthorizationRequired', fault: deadGrant },
  { entry: 'GrantRotatedButNotStored', fault: deadGrant, error: 'ReauthorizationRequired' },
  { entry: 'TokenRefreshInProgress', fault: unansweredRefreshes, mend: authorizedAgain },
  { entry: 'ConfigInvalid', fault: brokenSecret },
];

const OF_A_PERSON: Case[] = [
  { entry: 'InvalidInput', fault: (system) => system.runRaw({ entity: ENTITY, colour: 'blue' }) },
  { entry: 'ExecutionsAborted', fault: abortedRun, error: null },
  { entry: 'NightIncomplete', fault: pausedRule, error: null },
  { entry: 'NoPublishedExport', fault: pausedRule, error: null },
  { entry: 'StorageConflict', fault: takenManifest },
  { entry: 'ChangesStopped', entity: FED, fault: massDeletion },
  { entry: 'ChangesNotWritten', entity: FED, fault: unreadableHead, mend: removedHead },
];

const WITHOUT_FAULT = [
  ...['AnotherError', 'FailedOnPurpose', 'TimedOut', 'MailsNotSent', 'ExecutionsThrottled', 'FunctionThrottled'],
  ...['UndeliveredStarts', 'SecretVersionsNearLimit', 'SecretVersionsExhausted', 'TokenEndpointUnanswered'],
  ...['TokenStoreUnavailable', 'StorageUnavailable', 'DownloadUnfinished', 'StepCrashed', 'UnknownOutcome'],
];

/** The cases run in this order: the last one creates the deployment again. */
export const CASES: Case[] = [
  ...OF_THE_SERVICE,
  ...OF_THE_GRANT,
  ...OF_A_PERSON,
  ...WITHOUT_FAULT.map(commandsOnly),
  { entry: 'StorageDenied', fault: goneBucket },
];

async function brokenSecret(system: Deployed): Promise<Run> {
  await putTokens(system, 'no JSON');
  // Warm functions read the secret again only when the CRM refuses their token.
  system.sandbox.expireAccessTokens();
  return system.run(ENTITY);
}

async function abortedRun({ sandbox, target }: Deployed): Promise<Run> {
  sandbox.faults.add({ path: 'status', entity: ENTITY, status: 'PROCESSING' });
  const { executionArn } = await startRun(target, ENTITY, {});
  await target.sfn.send(new StopExecutionCommand({ executionArn, cause: 'by hand' }));
  return followRun(target.sfn, executionArn);
}

async function pausedRule(system: Deployed): Promise<Run> {
  const { code, stderr } = await operatorOf(system).cli('pause', ENTITY);
  if (code !== 0) throw new Error(stderr);
  return system.run(ENTITY);
}

/** Puts another object at the key that the run will write. */
async function takenManifest({ target }: Deployed): Promise<Run> {
  const { sfn, s3, StateMachineArn: stateMachineArn, BucketName: Bucket } = target;
  const name = `taken-${Date.now()}`;
  const Key = `runs/entity=${ENTITY}/run=${name}/_manifest.json`;
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'something else' }));
  const input = JSON.stringify({ entity: ENTITY });
  const { executionArn = '' } = await sfn.send(new StartExecutionCommand({ stateMachineArn, name, input }));
  return followRun(sfn, executionArn);
}

/** Removes half of the records from the CRM, after a feed with all of them. */
async function massDeletion(system: Deployed): Promise<Run> {
  const { settings } = system.sandbox;
  settings.rows = FED_ROWS;
  await system.run(FED);
  settings.rows = FED_ROWS / 2;
  return system.run(FED);
}

/** Replaces the head by another object. */
async function unreadableHead(system: Deployed): Promise<Run> {
  const { s3, BucketName: Bucket } = system.target;
  await s3.send(new PutObjectCommand({ Bucket, Key: headKey(FED), Body: 'something else' }));
  return system.run(FED);
}

async function removedHead({ target: { s3, BucketName: Bucket } }: Deployed): Promise<void> {
  await s3.send(new DeleteObjectCommand({ Bucket, Key: headKey(FED) }));
}

async function goneBucket(system: Deployed): Promise<Run> {
  await bucketTools(system.target).remove();
  return system.run(ENTITY);
}
