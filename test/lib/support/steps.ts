import type { Context } from 'aws-lambda';
import * as z from 'zod';
import type { Deployment } from '../../../core/config/deployment.ts';
import { requestOf } from '../../../core/crm/call.ts';
import type { CrmClient } from '../../../core/crm/crm-client.ts';
import type { FunctionLog } from '../../../core/log/log.ts';
import { asStep } from '../../../core/step/export-run.ts';
import type { RunState } from '../../../core/step/states.ts';
import type { Invocation } from '../../../core/step/step.ts';
import { RECORDER, type StepName } from '../../../core/step/steps.ts';
import { checkStatus } from '../../../lambdas/check-status/check-status.ts';
import { createExport } from '../../../lambdas/create-export/create-export.ts';
import { type DownloadFileDeps, downloadFile } from '../../../lambdas/download-file/download-file.ts';
import { publishFile } from '../../../lambdas/publish-file/publish-file.ts';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { writeTable } from '../../../lambdas/write-table/write-table.ts';
import { composed } from '../../support/deps.ts';
import { tableOf } from '../../support/export-records.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';
import { fakeTransfer, NO_STORE } from '../../support/fake-transfer.ts';
import type { Clock, Invoke } from './interpreter.ts';

/** The answers of each step, in order. The step throws an error in the list. */
export type Script = Partial<Record<StepName, (Partial<RunState> | Error)[]>>;

/** Steps that answer from a script, through the common wrapper. */
export function scriptedSteps(script: Script, deployment: Deployment): Invoke {
  const left: Script = Object.fromEntries(Object.entries(script).map(([step, answers]) => [step, [...answers]]));
  return async (step, payload, clock) => {
    if (step === RECORDER) return null;
    const name = step as StepName;
    const answer = left[name]?.shift();
    if (!answer) throw new Error(`the script has no further answer of ${step}`);
    const handler = asStep<StepName, Invocation>(
      name,
      async () => {
        if (answer instanceof Error) throw answer;
        return answer as never;
      },
      ...composed(dependencies(deployment, clock)),
    );
    return handler(payload, CONTEXT);
  };
}

/** The platform's error for a call that our code never answered. It does not pass through the wrapper. */
export class PlatformError extends Error {
  constructor(name: string) {
    super('made by the platform');
    this.name = name;
  }
}

/** The external systems that the real steps use. */
export interface World {
  /** Answers a call to the CRM, or throws as the client would. */
  crm: (template: string) => unknown;
  /** The transfer. Default: stores an empty file. */
  transfer?: DownloadFileDeps['transfer'];
}

/** The deployed steps in a made-up world. Jitter draws the shortest waits. */
export function realSteps(world: World, deployment: Deployment): Invoke {
  return async (step, payload, clock) => {
    if (step === RECORDER) return null;
    const deps = { ...dependencies(deployment, clock), ...clients(world), softwareVersion: '0.0.0' };
    return handlers[step as StepName](deps)(payload, CONTEXT);
  };
}

type Clients = ReturnType<typeof clients> & ReturnType<typeof dependencies> & { softwareVersion: string };

const handlers = {
  CreateExport: (deps: Clients) => asStep('CreateExport', createExport, ...composed(deps)),
  CheckStatus: (deps: Clients) => asStep('CheckStatus', checkStatus, ...composed(deps)),
  DownloadFile: (deps: Clients) => asStep('DownloadFile', downloadFile, ...composed(deps)),
  PublishFile: (deps: Clients) => asStep('PublishFile', publishFile, ...composed(deps)),
  WriteTable: (deps: Clients) => asStep('WriteTable', writeTable, ...composed(deps)),
  WriteChanges: (deps: Clients) => asStep('WriteChanges', writeChanges, ...composed(deps)),
};

function clients(world: World) {
  const bucket = fakeBucket();
  const crm: CrmClient = { call: async (call, schema) => z.parse(schema, world.crm(requestOf(call).template)) };
  return {
    crm,
    bucket,
    hashKey: async () => 'k'.repeat(64),
    table: tableOf(),
    read: bucket.read,
    store: NO_STORE,
    transfer: world.transfer ?? fakeTransfer,
    abortUpload: async () => {},
  };
}

const CONTEXT = { awsRequestId: 'request-1', getRemainingTimeInMillis: () => 900_000 } as Context;

function dependencies(deployment: Deployment, clock: Clock) {
  const log: FunctionLog = { info: () => {}, warn: () => {}, error: () => {}, about: () => log, measure: () => {} };
  return { deployment, log, now: clock.now, random: () => 0 };
}
