import { Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import {
  Choice,
  Condition,
  DefinitionBody,
  Fail,
  type IChainable,
  JsonPath,
  Pass,
  StateMachine,
  Succeed,
} from 'aws-cdk-lib/aws-stepfunctions';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { ERRORS, type RunErrorName } from '../../core/errors.ts';
import { MACHINE_VERSION, RECORDER } from '../../core/step/steps.ts';
import type { EncryptionKey } from '../resources/encryption-key.ts';
import type { OfExportRun } from './step-function.ts';
import {
  connectStep,
  failStates,
  machineNameOf,
  retriesOf,
  stepTask,
  toRecord,
  waitState,
  watched,
} from './step-task.ts';

interface ExportWorkflowProps {
  functions: OfExportRun<IFunction>;
  deployment: Deployment;
  key: EncryptionKey;
}

/** Time after the last deadline, for a large file that became ready just before it. */
const AFTER_DEADLINE_SECONDS = 12 * 3600;
/** Paths in the state for the crash of WriteTable and of WriteChanges, which have their own errors. */
const TABLE_CRASH = '$.tableCrash';
const CHANGES_CRASH = '$.changesCrash';

/**
 * The machine ExportRun: one execution exports one entity. It creates the export, waits until the CRM has processed
 * it, downloads and publishes the file, then writes table and feed if the entity has them. RecordNight runs before
 * every end. docs/design/export-run.md has the picture, drawn from this definition.
 */
export class ExportWorkflow extends Construct {
  readonly machine: StateMachine;

  constructor(scope: Construct, id: string, { functions, deployment, key }: ExportWorkflowProps) {
    super(scope, id);
    const stateMachineName = machineNameOf(this, id);
    this.machine = new StateMachine(this, 'Machine', {
      stateMachineName,
      comment: 'Exports one entity: create, wait, check, download, publish. Start it with {"entity":"leads"}.',
      definitionBody: DefinitionBody.fromChainable(this.definition(functions)),
      timeout: Duration.seconds(longestDeadline(deployment) + AFTER_DEADLINE_SECONDS),
      ...watched(this, stateMachineName, { deployment, key }),
    });
  }

  private definition(functions: OfExportRun<IFunction>): IChainable {
    const create = stepTask(this, 'CreateExport', 'Checks the input, requests an export', functions.CreateExport);
    const check = stepTask(this, 'CheckStatus', 'Reads the status of the export once', functions.CheckStatus);
    const download = stepTask(this, 'DownloadFile', 'Requests the link, stores the bytes', functions.DownloadFile);
    const record = this.recordNight(functions);
    const ends = toRecord(record);
    const { publish, writeTable } = this.publication(functions, record);

    const waitBeforeCreate = waitState(this, 'WaitBeforeCreate', 'The CRM could not take the request yet', create);
    const waitBeforeCheck = waitState(this, 'WaitBeforeCheck', 'The CRM works on the export; waits grow', check);
    const waitBeforeDownload = waitState(this, 'WaitBeforeDownload', 'The file could not be fetched yet', download);
    const notDue = new Succeed(this, 'NotDue', { comment: 'Another start of the rule is the one for this date' });
    const alreadyStarted = new Succeed(this, 'AlreadyStarted', {
      comment: 'Another execution has this start of the rule',
    });
    const afterCreate = { NOT_DUE: notDue, ALREADY_STARTED: alreadyStarted };
    connectStep(
      this,
      'CreateExport',
      create,
      { CREATED: waitBeforeCheck, RETRY: waitBeforeCreate, ...afterCreate },
      ends,
    );
    connectStep(this, 'CheckStatus', check, { READY: download, PENDING: waitBeforeCheck }, ends);
    const afterDownload = { STORED: publish, NOT_READY: waitBeforeCheck, CONTINUE: waitBeforeDownload };
    connectStep(this, 'DownloadFile', download, afterDownload, ends);
    const purpose = new Choice(this, 'AfterBeginRun', {
      comment: 'A new export, the release of a stored file, or a table of a published one?',
    });
    purpose.when(Condition.isPresent('$.input.release'), publish);
    if (writeTable) purpose.when(Condition.isPresent('$.input.table'), writeTable);
    return this.beginRun().next(purpose.otherwise(create));
  }

  /** The states after a file is stored. */
  private publication(functions: OfExportRun<IFunction>, record: IChainable) {
    const publish = stepTask(this, 'PublishFile', 'Verifies the file, then names it', functions.PublishFile);
    const waitBeforePublish = waitState(this, 'WaitBeforePublish', 'The file is not wholly verified yet', publish);
    const table = functions.WriteTable;
    const writeTable = table && stepTask(this, 'WriteTable', 'Makes a table of the published file', table);
    const { WriteChanges } = functions;
    const writeChanges =
      WriteChanges && stepTask(this, 'WriteChanges', 'Tells what has changed since the last table', WriteChanges);
    if (writeTable) this.afterTable(writeTable, writeChanges, record);
    if (writeChanges) this.afterChanges(writeChanges, record);
    // An execution keeps its definition: TABLE_DUE may come after a later deployment has added tables.
    const outcomes = { PUBLISHED: record, TABLE_DUE: writeTable ?? record, UNPUBLISHED: record };
    connectStep(this, 'PublishFile', publish, { ...outcomes, CONTINUE: waitBeforePublish }, toRecord(record));
    return { publish, writeTable };
  }

  /** Times in files come from the execution, not from the clock of a function, so that retries write equal bytes. */
  private beginRun(): Pass {
    return new Pass(this, 'BeginRun', {
      comment: 'Wraps the input, whatever it is, into the state of the run',
      parameters: {
        'input.$': '$$.Execution.Input',
        'execution.$': '$$.Execution.Name',
        'startedAt.$': '$$.Execution.StartTime',
        checks: 0,
        machineVersion: MACHINE_VERSION,
      },
    });
  }

  /** @param writeChanges the next step, if the entity has a feed */
  private afterTable(writeTable: LambdaInvoke, writeChanges: IChainable | undefined, record: IChainable): void {
    const wait = waitState(this, 'WaitBeforeTable', 'The table could not be written yet', writeTable);
    // An execution keeps its definition: CHANGES_DUE may come after a later deployment has added feeds.
    const due = { CHANGES_DUE: writeChanges ?? record };
    const outcomes = { WRITTEN: record, SUPERSEDED: record, ...due, CONTINUE: wait };
    connectStep(this, 'WriteTable', writeTable, outcomes, toRecord(record), TABLE_CRASH);
  }

  private afterChanges(writeChanges: LambdaInvoke, record: IChainable): void {
    const wait = waitState(this, 'WaitBeforeChanges', 'The feed of changes could not be written yet', writeChanges);
    const outcomes = { CHANGES_WRITTEN: record, UP_TO_DATE: record, CONTINUE: wait };
    connectStep(this, 'WriteChanges', writeChanges, outcomes, toRecord(record), CHANGES_CRASH);
  }

  /**
   * The last step of every run, and the ends after it. The state passes unchanged and decides the end. A failure to
   * record the night does not fail the run (docs/adr/0042).
   */
  private recordNight({ RecordNight, WriteTable, WriteChanges }: OfExportRun<IFunction>): LambdaInvoke {
    const record = new LambdaInvoke(this, RECORDER, {
      comment: 'Records what there is of the date, whatever became of the run',
      lambdaFunction: RecordNight,
      resultPath: JsonPath.DISCARD,
      retryOnServiceExceptions: false,
    });
    const end = new Choice(this, `After${RECORDER}`, { comment: 'What became of the run before?' });
    for (const retry of retriesOf(RECORDER)) record.addRetry(retry);
    record.addCatch(end, { resultPath: JsonPath.DISCARD });
    record.next(end);
    const fails = failStates(this, { failed: 'RunFailed', crashed: 'StepCrashed', otherwise: 'UnknownOutcome' });
    // Checked first, because a run that crashes at once has no outcome.
    end.when(Condition.isPresent('$.crash'), fails.crashed);
    if (WriteChanges) this.changesEnds(end);
    if (WriteTable) this.tableEnds(end);
    const published = new Succeed(this, 'ExportPublished', { comment: 'Manifest and pointers name the file' });
    const stored = new Succeed(this, 'ExportStored', { comment: 'The manifest names the file; readers do not get it' });
    when(end, { FAILED: fails.failed, PUBLISHED: published, TABLE_DUE: published, UNPUBLISHED: stored });
    end.otherwise(fails.otherwise);
    return record;
  }

  private changesEnds(end: Choice): void {
    const written = new Succeed(this, 'ChangesWritten', { comment: 'File and table are there, and what has changed' });
    const upToDate = new Succeed(this, 'ChangesUpToDate', {
      comment: 'The feeds tell of all that is published already',
    });
    const crashed = this.crashed('ChangesCrashed', 'ChangesNotWritten', {
      comment: 'Its function died, or has a bug; file and table are published',
      step: 'WriteChanges',
      path: CHANGES_CRASH,
    });
    end.when(Condition.isPresent(CHANGES_CRASH), crashed);
    when(end, { CHANGES_WRITTEN: written, UP_TO_DATE: upToDate });
  }

  private tableEnds(end: Choice): void {
    const written = new Succeed(this, 'TableWritten', { comment: 'The file is published, and its table is written' });
    const superseded = new Succeed(this, 'TableSuperseded', {
      comment: 'Another run is published for the date: it writes the table',
    });
    const crashed = this.crashed('TableCrashed', 'TableNotWritten', {
      comment: 'Its function died, or has a bug; the file is published',
      step: 'WriteTable',
      path: TABLE_CRASH,
    });
    end.when(Condition.isPresent(TABLE_CRASH), crashed);
    when(end, { WRITTEN: written, CHANGES_DUE: written, SUPERSEDED: superseded });
  }

  /** The step ran out of memory or time. The name of the error shows that the file is published. */
  private crashed(
    id: string,
    error: RunErrorName,
    { comment, step, path }: Record<'comment' | 'step' | 'path', string>,
  ): Fail {
    const cause = `${step} stopped with {} before it could answer. ${ERRORS[error].advice}`;
    const causePath = JsonPath.format(cause, JsonPath.stringAt(`${path}.Error`));
    return new Fail(this, id, { comment, error, causePath });
  }
}

/** Connects each outcome to its end. */
function when(end: Choice, ends: Record<string, IChainable>): void {
  for (const [outcome, next] of Object.entries(ends)) end.when(Condition.stringEquals('$.outcome', outcome), next);
}

function longestDeadline(deployment: Deployment): number {
  return Math.max(...ENTITIES.map((entity) => deployment.entities[entity].polling.deadlineSeconds));
}
