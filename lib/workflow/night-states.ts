import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Choice, Condition, type IChainable, JsonPath, Succeed } from 'aws-cdk-lib/aws-stepfunctions';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import type { Construct } from 'constructs';
import { RECORDER } from '../../core/step/steps.ts';
import { changesEnds } from './changes-states.ts';
import { failStates } from './machine.ts';
import { retriesOf } from './step-task.ts';
import { tableEnds } from './table-states.ts';

/** What comes behind a publication. */
interface Behind {
  tables: boolean;
  changes: boolean;
}

/**
 * The last step of every run that has begun, and the ends behind it. The state passes it unchanged, and decides the end: what is
 * not recorded is no error of the run (docs/adr/0042).
 */
export function nightStates(scope: Construct, lambdaFunction: IFunction, behind: Behind): LambdaInvoke {
  const record = new LambdaInvoke(scope, RECORDER, {
    comment: 'Records what there is of the date, whatever became of the run',
    lambdaFunction,
    resultPath: JsonPath.DISCARD,
    retryOnServiceExceptions: false,
  });
  const end = new Choice(scope, `After${RECORDER}`, { comment: 'What became of the run before?' });
  for (const retry of retriesOf(RECORDER)) record.addRetry(retry);
  record.addCatch(end, { resultPath: JsonPath.DISCARD });
  runEnds(scope, end, behind);
  record.next(end);
  return record;
}

function runEnds(scope: Construct, end: Choice, { tables, changes }: Behind): void {
  const fails = failStates(scope, { failed: 'RunFailed', crashed: 'StepCrashed', otherwise: 'UnknownOutcome' });
  const published = new Succeed(scope, 'ExportPublished', { comment: 'Manifest and pointers name the file' });
  const stored = new Succeed(scope, 'ExportStored', { comment: 'The manifest names the file; readers do not get it' });
  const ends = { FAILED: fails.failed, PUBLISHED: published, TABLE_DUE: published, UNPUBLISHED: stored };
  // First: a run that crashes at once has no outcome yet.
  end.when(Condition.isPresent('$.crash'), fails.crashed);
  if (changes) changesEnds(scope, end);
  if (tables) tableEnds(scope, end);
  for (const [outcome, next] of Object.entries<IChainable>(ends)) {
    end.when(Condition.stringEquals('$.outcome', outcome), next);
  }
  end.otherwise(fails.otherwise);
}
