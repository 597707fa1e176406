import { Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import {
  DefinitionBody,
  Fail,
  type IChainable,
  JsonPath,
  Pass,
  StateMachine,
  Succeed,
  Wait,
  WaitTime,
} from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { entityPlan } from '../../core/config/entity-plan.ts';
import { ERRORS } from '../../core/errors.ts';
import type { StepName } from '../../core/step/steps.ts';
import type { EncryptionKey } from '../resources/encryption-key.ts';
import { machineNameOf, watched } from '../resources/machine-logs.ts';
import { connectStep, stepTask } from './step-task.ts';

interface ExportWorkflowProps {
  functions: Record<StepName, IFunction>;
  deployment: Deployment;
  key: EncryptionKey;
}

/** Beyond the last deadline: time for a large file that became ready just before it. */
const AFTER_DEADLINE_SECONDS = 12 * 3600;

/** The machine ExportRun: one execution exports one entity. Reads like the picture in README.md, which is drawn from it. */
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

  private definition(functions: Record<StepName, IFunction>): IChainable {
    const create = stepTask(this, 'CreateExport', 'Checks the input, asks for an export', functions.CreateExport);
    const check = stepTask(this, 'CheckStatus', 'Reads the status of the export once', functions.CheckStatus);
    const download = stepTask(this, 'DownloadFile', 'Asks for the link, stores the bytes', functions.DownloadFile);
    const publish = stepTask(this, 'PublishFile', 'Verifies the file, then names it', functions.PublishFile);

    const waitBeforeCreate = this.wait('WaitBeforeCreate', 'The service could not take the request yet', create);
    const waitBeforeCheck = this.wait('WaitBeforeCheck', 'The service works on the export; waits grow', check);
    const waitBeforeDownload = this.wait('WaitBeforeDownload', 'The file could not be fetched yet', download);
    const waitBeforePublish = this.wait('WaitBeforePublish', 'The file is not wholly verified yet', publish);
    const published = new Succeed(this, 'ExportPublished', { comment: 'Manifest and pointers name the file' });

    const ends = { failed: this.runFailed(), crashed: this.stepCrashed(), otherwise: this.unknownOutcome() };
    connectStep(this, 'CreateExport', create, { CREATED: waitBeforeCheck, RETRY: waitBeforeCreate }, ends);
    connectStep(this, 'CheckStatus', check, { READY: download, PENDING: waitBeforeCheck }, ends);
    connectStep(
      this,
      'DownloadFile',
      download,
      { STORED: publish, NOT_READY: waitBeforeCheck, CONTINUE: waitBeforeDownload },
      ends,
    );
    connectStep(this, 'PublishFile', publish, { PUBLISHED: published, CONTINUE: waitBeforePublish }, ends);
    return this.beginRun().next(create);
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
      },
    });
  }

  private wait(id: string, comment: string, next: IChainable): Wait {
    const wait = new Wait(this, id, { comment, time: WaitTime.secondsPath('$.waitSeconds') });
    wait.next(next);
    return wait;
  }

  private runFailed(): Fail {
    return new Fail(this, 'RunFailed', {
      comment: 'A step ended the run: error and cause are its own',
      errorPath: '$.failure.error',
      causePath: '$.failure.cause',
    });
  }

  /** Only the name of the original error is quoted: its message may hold data. */
  private stepCrashed(): Fail {
    const sentence = `A step stopped with {} before it could answer. ${ERRORS.StepCrashed.advice}`;
    return new Fail(this, 'StepCrashed', {
      comment: 'A function died, or has a bug',
      error: 'StepCrashed',
      causePath: JsonPath.format(sentence, JsonPath.stringAt('$.crash.Error')),
    });
  }

  private unknownOutcome(): Fail {
    return new Fail(this, 'UnknownOutcome', {
      comment: 'A step answered what this machine has no branch for',
      error: 'UnknownOutcome',
      cause: `A step answered what the state machine does not know. ${ERRORS.UnknownOutcome.advice}`,
    });
  }
}

function longestDeadline(deployment: Deployment): number {
  return Math.max(...ENTITIES.map((entity) => entityPlan(deployment, entity).polling.deadlineSeconds));
}
