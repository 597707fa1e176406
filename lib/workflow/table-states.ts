import { Fail, JsonPath, Succeed } from 'aws-cdk-lib/aws-stepfunctions';
import type { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import type { Construct } from 'constructs';
import { ERRORS } from '../../core/errors.ts';
import { waitState } from './machine.ts';
import { connectStep, type Ends } from './step-task.ts';

/** The states behind a publication whose file becomes a table. */
export function tableStates(scope: Construct, writeTable: LambdaInvoke, ends: Ends): void {
  const waitBeforeTable = waitState(scope, 'WaitBeforeTable', 'The table could not be written yet', writeTable);
  const written = new Succeed(scope, 'TableWritten', { comment: 'The file is published, and its table is written' });
  const superseded = new Succeed(scope, 'TableSuperseded', {
    comment: 'Another run is published for the date: it writes the table',
  });
  const outcomes = { WRITTEN: written, SUPERSEDED: superseded, CONTINUE: waitBeforeTable };
  connectStep(scope, 'WriteTable', writeTable, outcomes, { ...ends, crashed: tableCrashed(scope) });
}

/** Out of memory or time: the publication stands all the same, which the name of the error says. */
function tableCrashed(scope: Construct): Fail {
  const cause = `WriteTable stopped with {} before it could answer. ${ERRORS.TableNotWritten.advice}`;
  return new Fail(scope, 'TableCrashed', {
    comment: 'Its function died, or has a bug; the file is published',
    error: 'TableNotWritten',
    causePath: JsonPath.format(cause, JsonPath.stringAt('$.crash.Error')),
  });
}
