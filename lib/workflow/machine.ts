import { Fail, type IChainable, JsonPath, Wait, WaitTime } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import { ERRORS } from '../../core/errors.ts';
import type { Ends } from './step-task.ts';

/** The states in which a machine fails, by the names that it gives them. */
export function failStates(scope: Construct, ids: { failed: string; crashed: string; otherwise: string }): Ends {
  // The advice quotes only the name of the original error: its message may hold data.
  const crash = `A step stopped with {} before it could answer. ${ERRORS.StepCrashed.advice}`;
  return {
    failed: new Fail(scope, ids.failed, {
      comment: 'A step ended it: error and cause are its own',
      errorPath: '$.failure.error',
      causePath: '$.failure.cause',
    }),
    crashed: new Fail(scope, ids.crashed, {
      comment: 'A function died, or has a bug',
      error: 'StepCrashed',
      causePath: JsonPath.format(crash, JsonPath.stringAt('$.crash.Error')),
    }),
    otherwise: new Fail(scope, ids.otherwise, {
      comment: 'A step answered what this machine has no branch for',
      error: 'UnknownOutcome',
      cause: `A step answered what the state machine does not know. ${ERRORS.UnknownOutcome.advice}`,
    }),
  };
}

/** Waits for as long as the step before requested. */
export function waitState(scope: Construct, id: string, comment: string, next: IChainable): Wait {
  const wait = new Wait(scope, id, { comment, time: WaitTime.secondsPath('$.waitSeconds') });
  wait.next(next);
  return wait;
}
