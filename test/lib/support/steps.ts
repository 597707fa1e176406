import type { Context } from 'aws-lambda';
import type { Deployment } from '../../../core/config/deployment.ts';
import type { FunctionLog } from '../../../core/log/log.ts';
import { asStep } from '../../../core/step/export-run.ts';
import type { RunState } from '../../../core/step/states.ts';
import type { Invocation } from '../../../core/step/step.ts';
import { RECORDER, type StepName } from '../../../core/step/steps.ts';
import { composed } from '../../support/deps.ts';
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

const CONTEXT = { awsRequestId: 'request-1', getRemainingTimeInMillis: () => 900_000 } as Context;

function dependencies(deployment: Deployment, clock: Clock) {
  const log: FunctionLog = { info: () => {}, warn: () => {}, error: () => {}, about: () => log, measure: () => {} };
  return { deployment, log, now: clock.now, random: () => 0 };
}
