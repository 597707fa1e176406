import { type Choice, Condition, Fail, type IChainable, JsonPath, Succeed } from 'aws-cdk-lib/aws-stepfunctions';
import type { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import type { Construct } from 'constructs';
import { ERRORS } from '../../core/errors.ts';
import { waitState } from './machine.ts';
import { connectStep, toRecord } from './step-task.ts';

/** The states behind a table whose entity has a feed of changes. @param record comes before every end */
export function changesStates(scope: Construct, writeChanges: LambdaInvoke, record: IChainable): void {
  const comment = 'The feed of changes could not be written yet';
  const waitBeforeChanges = waitState(scope, 'WaitBeforeChanges', comment, writeChanges);
  const outcomes = { CHANGES_WRITTEN: record, UP_TO_DATE: record, CONTINUE: waitBeforeChanges };
  connectStep(scope, 'WriteChanges', writeChanges, outcomes, toRecord(record), CHANGES_CRASH);
}

/** Where the state of a run has the crash of WriteChanges, whose end is another than that of other steps. */
const CHANGES_CRASH = '$.changesCrash';

/** The ends of a run whose feed was due. */
export function changesEnds(scope: Construct, end: Choice): void {
  const written = new Succeed(scope, 'ChangesWritten', { comment: 'File and table are there, and what has changed' });
  const upToDate = new Succeed(scope, 'ChangesUpToDate', {
    comment: 'The feeds tell of all that is published already',
  });
  end.when(Condition.isPresent(CHANGES_CRASH), changesCrashed(scope));
  end.when(Condition.stringEquals('$.outcome', 'CHANGES_WRITTEN'), written);
  end.when(Condition.stringEquals('$.outcome', 'UP_TO_DATE'), upToDate);
}

/** Out of memory or time: file and table stand all the same, which the name of the error says. */
function changesCrashed(scope: Construct): Fail {
  const cause = `WriteChanges stopped with {} before it could answer. ${ERRORS.ChangesNotWritten.advice}`;
  return new Fail(scope, 'ChangesCrashed', {
    comment: 'Its function died, or has a bug; file and table are published',
    error: 'ChangesNotWritten',
    causePath: JsonPath.format(cause, JsonPath.stringAt(`${CHANGES_CRASH}.Error`)),
  });
}
