import { Duration } from 'aws-cdk-lib';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { ERRORS, type RunErrorName } from '../../core/errors.ts';
import { type Answered, RECORDER, type StepName } from '../../core/step/steps.ts';
import type { EncryptionKey } from '../resources/encryption-key.ts';
import type { ExportSteps } from './step-function.ts';
import { beginState, connectStep, failStates, machineIn, retriesOf, stepTask, type Task } from './step-task.ts';

/** A step of the machine: what it does, the state in which it waits, and the next state for each of its outcomes. */
interface Row<S extends StepName> {
  does: string;
  wait: [id: string, comment: string];
  next: Record<Answered<S>, string>;
  /** If a crash of this step has its own error name: the end state, and the path of the crash in the state. */
  crash?: { path: string; id: string; comment: string; error: RunErrorName };
}

/**
 * The next state for each step. RecordNight takes the place of a step that the machine does not have, and follows a
 * failed step.
 */
const ROWS: { [S in StepName]: Row<S> } = {
  CreateExport: {
    does: 'Checks the input, requests an export',
    wait: ['WaitBeforeCreate', 'The CRM could not take the request yet'],
    next: {
      CREATED: 'WaitBeforeCheck',
      RETRY: 'WaitBeforeCreate',
      NOT_DUE: 'NotDue',
      ALREADY_STARTED: 'AlreadyStarted',
    },
  },
  CheckStatus: {
    does: 'Reads the status of the export once',
    wait: ['WaitBeforeCheck', 'The CRM is making the export; the wait grows'],
    next: { READY: 'DownloadFile', PENDING: 'WaitBeforeCheck' },
  },
  DownloadFile: {
    does: 'Requests the link, stores the bytes',
    wait: ['WaitBeforeDownload', 'The file could not be fetched yet'],
    next: { STORED: 'PublishFile', NOT_READY: 'WaitBeforeCheck', CONTINUE: 'WaitBeforeDownload' },
  },
  PublishFile: {
    does: 'Verifies the file, then publishes it',
    wait: ['WaitBeforePublish', 'The file is not completely verified yet'],
    // TABLE_DUE is accepted even without tables: a run keeps the definition that it began with, and may call the
    // function of a later deployment, which has tables.
    next: { PUBLISHED: RECORDER, TABLE_DUE: 'WriteTable', UNPUBLISHED: RECORDER, CONTINUE: 'WaitBeforePublish' },
  },
  WriteTable: {
    does: 'Makes a table of the published file',
    wait: ['WaitBeforeTable', 'The table could not be written yet'],
    next: { WRITTEN: RECORDER, SUPERSEDED: RECORDER, CHANGES_DUE: 'WriteChanges', CONTINUE: 'WaitBeforeTable' },
    crash: {
      path: '$.tableCrash',
      id: 'TableCrashed',
      comment: 'The function of the step crashed; the file is published',
      error: 'TableNotWritten',
    },
  },
  WriteChanges: {
    does: 'Writes what changed since the last table',
    wait: ['WaitBeforeChanges', 'The feed of changes could not be written yet'],
    next: { CHANGES_WRITTEN: RECORDER, UP_TO_DATE: RECORDER, CONTINUE: 'WaitBeforeChanges' },
    crash: {
      path: '$.changesCrash',
      id: 'ChangesCrashed',
      comment: 'The function of the step crashed; file and table are published',
      error: 'ChangesNotWritten',
    },
  },
};

/** The successful ends of a run after RecordNight, each for the outcomes of a step. */
const SUCCESSES: [of: StepName, id: string, comment: string, ...outcomes: string[]][] = [
  ['PublishFile', 'ExportPublished', 'Manifest and pointers name the file', 'PUBLISHED', 'TABLE_DUE'],
  ['PublishFile', 'ExportStored', 'The manifest names the file; readers do not get it', 'UNPUBLISHED'],
  ['WriteTable', 'TableWritten', 'The file is published, and its table is written', 'WRITTEN', 'CHANGES_DUE'],
  ['WriteTable', 'TableSuperseded', 'Another run is published for the date: it writes the table', 'SUPERSEDED'],
  ['WriteChanges', 'ChangesWritten', 'File, table and feed are written', 'CHANGES_WRITTEN'],
  ['WriteChanges', 'ChangesUpToDate', 'The feeds already include everything that is published', 'UP_TO_DATE'],
];

interface ExportWorkflowProps {
  steps: ExportSteps;
  deployment: Deployment;
  key: EncryptionKey;
}

/** Time after the last deadline, for a large file that became ready just before it. */
const AFTER_DEADLINE_SECONDS = 12 * 3600;

/**
 * The machine ExportRun: one execution exports one entity. It creates the export, waits until the CRM has processed
 * it, downloads and publishes the file, then writes table and feed if the entity has them. RecordNight runs before
 * every end. docs/design/export-run.md has the picture, drawn from this definition.
 */
export class ExportWorkflow extends Construct {
  readonly machine: sfn.StateMachine;

  constructor(scope: Construct, id: string, props: ExportWorkflowProps) {
    super(scope, id);
    const longest = Math.max(...ENTITIES.map((entity) => props.deployment.entities[entity].polling.deadlineSeconds));
    this.machine = machineIn(this, props, {
      comment: 'Exports one entity: create, wait, check, download, publish. Start it with {"entity":"leads"}.',
      start: this.definition(props.steps),
      timeout: Duration.seconds(longest + AFTER_DEADLINE_SECONDS),
    });
  }

  private definition(steps: ExportSteps): sfn.IChainable {
    const record = this.recordNight(steps);
    const tasks = new Map<StepName, Task>();
    const states = new Map<string, sfn.IChainable>();
    for (const [name, { does, wait }] of Object.entries(ROWS) as [StepName, Row<StepName>][]) {
      const step = steps[name];
      if (!step) continue;
      const task = stepTask(this, name, does, step, wait);
      tasks.set(name, task);
      states.set(name, task.task).set(wait[0], task.wait);
    }
    const succeed = (id: string, comment: string) => states.set(id, new sfn.Succeed(this, id, { comment }));
    succeed('NotDue', 'Another start of the rule exports this date');
    succeed('AlreadyStarted', 'Another execution handles this start of the rule');
    const stateOf = (id: string) => states.get(id) ?? record;
    // The Choice after RecordNight accepts the outcomes of all steps. Without this state, a step that returns an outcome of
    // another step could end the run as a success.
    const otherwise = new sfn.Pass(this, 'OutcomeUnknown', {
      comment: 'The step returned an outcome that this step does not have',
      result: sfn.Result.fromString('UNKNOWN'),
      resultPath: '$.outcome',
    });
    const ends = { failed: record, crashed: record, otherwise: otherwise.next(record) };
    for (const [name, task] of tasks) {
      const { next, crash } = ROWS[name];
      const outcomes = Object.entries(next).map(([outcome, id]) => [outcome, stateOf(id)]);
      connectStep(this, name, task, Object.fromEntries(outcomes), ends, crash?.path);
    }
    const purpose = new sfn.Choice(this, 'AfterBeginRun', {
      comment: 'A new export, the release of a stored file, or a table of a published one?',
    });
    purpose.when(sfn.Condition.isPresent('$.input.release'), stateOf('PublishFile'));
    if (tasks.has('WriteTable')) purpose.when(sfn.Condition.isPresent('$.input.table'), stateOf('WriteTable'));
    return beginState(this, 'BeginRun', 'run', { checks: 0 }).next(purpose.otherwise(stateOf('CreateExport')));
  }

  /**
   * The last step of every run, and the end states after it. The step does not change the state of the run, whose
   * outcome selects the end state. A failure to record the night does not fail the run (docs/adr/0042).
   */
  private recordNight(steps: ExportSteps): LambdaInvoke {
    const record = new LambdaInvoke(this, RECORDER, {
      comment: 'Records what is published for the date, however the run ended',
      lambdaFunction: steps.RecordNight.alias,
      resultPath: sfn.JsonPath.DISCARD,
      retryOnServiceExceptions: false,
    });
    const end = new sfn.Choice(this, `After${RECORDER}`, { comment: 'How did the run end?' });
    for (const retry of retriesOf(RECORDER)) record.addRetry(retry);
    record.addCatch(end, { resultPath: sfn.JsonPath.DISCARD });
    record.next(end);
    const fails = failStates(this, { failed: 'RunFailed', crashed: 'StepCrashed', otherwise: 'UnknownOutcome' });
    // Crashes are checked first, because a run that crashes at once has no outcome.
    end.when(sfn.Condition.isPresent('$.crash'), fails.crashed);
    for (const [name, { crash }] of Object.entries(ROWS) as [StepName, Row<StepName>][]) {
      if (!crash || !steps[name]) continue;
      // The name of the error shows that the file is published.
      const cause = `${name} stopped with {} before it could answer. ${ERRORS[crash.error].advice}`;
      const causePath = sfn.JsonPath.format(cause, sfn.JsonPath.stringAt(`${crash.path}.Error`));
      const { id, comment, error } = crash;
      end.when(sfn.Condition.isPresent(crash.path), new sfn.Fail(this, id, { comment, error, causePath }));
    }
    for (const [of, id, comment, ...outcomes] of SUCCESSES) {
      if (!steps[of]) continue;
      const success = new sfn.Succeed(this, id, { comment });
      for (const outcome of outcomes) end.when(sfn.Condition.stringEquals('$.outcome', outcome), success);
    }
    end.when(sfn.Condition.stringEquals('$.outcome', 'FAILED'), fails.failed);
    end.otherwise(fails.otherwise);
    return record;
  }
}
