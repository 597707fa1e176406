import { type Choice, Condition, Fail, type IChainable, JsonPath, Succeed } from 'aws-cdk-lib/aws-stepfunctions';
import type { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import type { Construct } from 'constructs';
import { ERRORS } from '../../core/errors.ts';
import { waitState } from './machine.ts';
import { connectStep, toRecord } from './step-task.ts';

/**
 * The states behind a publication whose file becomes a table.
 * @param writeChanges comes where the table has a feed
 * @param record comes before every end
 */
export function tableStates(
  scope: Construct,
  writeTable: LambdaInvoke,
  writeChanges: IChainable | undefined,
  record: IChainable,
): void {
  const waitBeforeTable = waitState(scope, 'WaitBeforeTable', 'The table could not be written yet', writeTable);
  // An execution that began before the configuration had feeds has no state for them.
  const changes = { CHANGES_DUE: writeChanges ?? record };
  const outcomes = { WRITTEN: record, SUPERSEDED: record, ...changes, CONTINUE: waitBeforeTable };
  connectStep(scope, 'WriteTable', writeTable, outcomes, toRecord(record), TABLE_CRASH);
}

/** Where the state of a run has the crash of WriteTable, whose end is another than that of other steps. */
const TABLE_CRASH = '$.tableCrash';

/** The ends of a run whose table was due. */
export function tableEnds(scope: Construct, end: Choice): void {
  const written = new Succeed(scope, 'TableWritten', { comment: 'The file is published, and its table is written' });
  const superseded = new Succeed(scope, 'TableSuperseded', {
    comment: 'Another run is published for the date: it writes the table',
  });
  end.when(Condition.isPresent(TABLE_CRASH), tableCrashed(scope));
  end.when(Condition.stringEquals('$.outcome', 'WRITTEN'), written);
  end.when(Condition.stringEquals('$.outcome', 'CHANGES_DUE'), written);
  end.when(Condition.stringEquals('$.outcome', 'SUPERSEDED'), superseded);
}

/** Out of memory or time: the publication stands all the same, which the name of the error says. */
function tableCrashed(scope: Construct): Fail {
  const cause = `WriteTable stopped with {} before it could answer. ${ERRORS.TableNotWritten.advice}`;
  return new Fail(scope, 'TableCrashed', {
    comment: 'Its function died, or has a bug; the file is published',
    error: 'TableNotWritten',
    causePath: JsonPath.format(cause, JsonPath.stringAt(`${TABLE_CRASH}.Error`)),
  });
}
