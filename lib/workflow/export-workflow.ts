import { Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import {
  Choice,
  Condition,
  DefinitionBody,
  type IChainable,
  Pass,
  StateMachine,
  Succeed,
} from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { MACHINE_VERSION } from '../../core/step/steps.ts';
import type { EncryptionKey } from '../resources/encryption-key.ts';
import { machineNameOf, watched } from '../resources/machine-logs.ts';
import { changesStates } from './changes-states.ts';
import { waitState } from './machine.ts';
import { nightStates } from './night-states.ts';
import type { OfExportRun } from './step-function.ts';
import { connectStep, stepTask, toRecord } from './step-task.ts';
import { tableStates } from './table-states.ts';

interface ExportWorkflowProps {
  functions: OfExportRun<IFunction>;
  deployment: Deployment;
  key: EncryptionKey;
}

/** Beyond the last deadline: time for a large file that became ready just before it. */
const AFTER_DEADLINE_SECONDS = 12 * 3600;

/** The machine ExportRun: one execution exports one entity. Reads like the picture in docs/design/export-run.md, which is drawn from it. */
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
    const record = nightStates(this, functions.RecordNight, {
      tables: functions.WriteTable !== undefined,
      changes: functions.WriteChanges !== undefined,
    });
    const ends = toRecord(record);
    const { publish, writeTable } = this.publication(functions, record);

    const waitBeforeCreate = waitState(this, 'WaitBeforeCreate', 'The CRM could not take the request yet', create);
    const waitBeforeCheck = waitState(this, 'WaitBeforeCheck', 'The CRM works on the export; waits grow', check);
    const waitBeforeDownload = waitState(this, 'WaitBeforeDownload', 'The file could not be fetched yet', download);
    const notDue = new Succeed(this, 'NotDue', { comment: 'Another start of the rule is the one for this date' });
    const alreadyStarted = new Succeed(this, 'AlreadyStarted', {
      comment: 'Another execution has this start of the rule',
    });
    connectStep(
      this,
      'CreateExport',
      create,
      { CREATED: waitBeforeCheck, RETRY: waitBeforeCreate, NOT_DUE: notDue, ALREADY_STARTED: alreadyStarted },
      ends,
    );
    connectStep(this, 'CheckStatus', check, { READY: download, PENDING: waitBeforeCheck }, ends);
    connectStep(
      this,
      'DownloadFile',
      download,
      { STORED: publish, NOT_READY: waitBeforeCheck, CONTINUE: waitBeforeDownload },
      ends,
    );
    const purpose = new Choice(this, 'AfterBeginRun', {
      comment: 'A new export, the release of a stored file, or a table of a published one?',
    });
    purpose.when(Condition.isPresent('$.input.release'), publish);
    if (writeTable) purpose.when(Condition.isPresent('$.input.table'), writeTable);
    return this.beginRun().next(purpose.otherwise(create));
  }

  /** What comes once a file is stored. */
  private publication(functions: OfExportRun<IFunction>, record: IChainable) {
    const publish = stepTask(this, 'PublishFile', 'Verifies the file, then names it', functions.PublishFile);
    const waitBeforePublish = waitState(this, 'WaitBeforePublish', 'The file is not wholly verified yet', publish);
    const table = functions.WriteTable;
    const writeTable = table && stepTask(this, 'WriteTable', 'Makes a table of the published file', table);
    const { WriteChanges } = functions;
    const writeChanges =
      WriteChanges && stepTask(this, 'WriteChanges', 'Tells what has changed since the last table', WriteChanges);
    if (writeTable) tableStates(this, writeTable, writeChanges, record);
    if (writeChanges) changesStates(this, writeChanges, record);
    // An execution that began before the configuration had tables has no state for them.
    const outcomes = { PUBLISHED: record, TABLE_DUE: writeTable ?? record, UNPUBLISHED: record };
    connectStep(this, 'PublishFile', publish, { ...outcomes, CONTINUE: waitBeforePublish }, toRecord(record));
    return { publish, writeTable };
  }

  /** Times that land in files come from the execution, not from a function's clock: repeats are then byte-equal. */
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
}

function longestDeadline(deployment: Deployment): number {
  return Math.max(...ENTITIES.map((entity) => deployment.entities[entity].polling.deadlineSeconds));
}
