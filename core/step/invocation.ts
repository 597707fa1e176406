import type { Context } from 'aws-lambda';
import { readDeployment } from '../aws/env.ts';
import type { Deployment } from '../config/deployment.ts';
import { createLog, type FunctionLog } from '../log/log.ts';
import type { Random } from './pacing.ts';
import type { FunctionName } from './steps.ts';

/** What surrounds a function; tests replace it. */
export interface Platform {
  log: FunctionLog;
  now: () => Date;
  random: Random;
  deployment: () => Deployment;
}

/** One invocation of a function, passed to the step beside its clients. */
export interface Invocation {
  deployment: Deployment;
  /** The log, whose lines name the run. */
  log: FunctionLog;
  now: () => Date;
  random: Random;
  /** Seconds until the platform kills the invocation. */
  secondsLeft: () => number;
  /** CPU time of this process so far. */
  cpuMilliseconds: () => number;
  /** Requests so far: to the CRM, for the file, to the bucket. */
  requests: { crm: number; file: number; store: number };
  /** The id of the request; a repeated call has another. */
  requestId: string;
}

export function lambdaPlatform(step: FunctionName): Platform {
  return {
    log: createLog(step),
    now: () => new Date(),
    random: Math.random,
    // The file lies beside the bundled code.
    deployment: once(() => readDeployment(new URL('deployment.json', import.meta.url))),
  };
}

export function begin({ log, now, random, deployment }: Platform, context: Context): Invocation {
  return {
    deployment: deployment(),
    log,
    now,
    random,
    secondsLeft: () => context.getRemainingTimeInMillis() / 1000,
    cpuMilliseconds,
    requests: { crm: 0, file: 0, store: 0 },
    requestId: context.awsRequestId,
  };
}

function cpuMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Makes something at its first use, and again where that has thrown. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
