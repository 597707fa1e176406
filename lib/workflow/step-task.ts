import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import type { Construct } from 'constructs';
import type { Deployment } from '../../core/config/deployment.ts';
import { ERRORS } from '../../core/errors.ts';
import { type Answered, type AnyStepName, type InvokedName, MACHINE_VERSION } from '../../core/step/steps.ts';
import type { EncryptionKey } from '../resources/encryption-key.ts';
import type { StepFunction } from './step-function.ts';

/** Errors before the function ran, so retries are safe. The last four: Lambda could not create a network interface. */
const NOT_INVOKED = [
  'Lambda.TooManyRequestsException',
  'Lambda.ResourceConflictException',
  'Lambda.ResourceNotReadyException',
  'Lambda.EC2ThrottledException',
  'Lambda.EC2UnexpectedException',
  'Lambda.ENILimitReachedException',
  'Lambda.SubnetIPAddressLimitReachedException',
];

/** The service lost the call or its answer: the function may have run. */
const SERVICE_ERRORS = [
  'Lambda.ClientExecutionTimeoutException',
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
];

/** The runtime died: killed at its time limit, out of memory, or exited without a message. */
const DEAD_RUNTIME = ['Lambda.Unknown', 'Sandbox.Timedout', 'Runtime.ExitError', 'Runtime.OutOfMemory'];

/** Throttling lasts for minutes: 15 + 30 + 60 + 120 + 240 + 5 × 300 = 1965 seconds. Jitter could shorten the sum. */
const UNTIL_FREE = {
  interval: Duration.seconds(15),
  backoffRate: 2,
  maxAttempts: 10,
  maxDelay: Duration.seconds(300),
  jitterStrategy: sfn.JitterType.NONE,
};

/** At most 2 + 4 + 8 + 16 + 32 + 60 = 122 seconds of waiting, half of that on average. */
const PATIENT = {
  interval: Duration.seconds(2),
  backoffRate: 2,
  maxAttempts: 6,
  maxDelay: Duration.seconds(60),
  jitterStrategy: sfn.JitterType.FULL,
};

/** At most 5 + 10 = 15 seconds of waiting. */
const BRIEF = { ...PATIENT, interval: Duration.seconds(5), maxAttempts: 2 };

/** A child may be invoked 2,000 times: waits of two minutes bound its history (`history-budget.slow.test.ts`). */
const OF_A_CHUNK = { ...UNTIL_FREE, interval: Duration.seconds(120) };

/** Retries for errors of the platform. Errors of our code are outcomes with their own branches. */
export function retriesOf(id: InvokedName): sfn.RetryProps[] {
  if (id === 'ApplyChunk') {
    return [
      // Two hours: if the batch uses the account's whole concurrency, a call waits until another chunk ends. That may
      // take half an hour (1,000 lines, 20 per second for 40 chunks), and other calls may come first.
      { ...OF_A_CHUNK, errors: NOT_INVOKED, maxAttempts: 25 },
      { ...OF_A_CHUNK, errors: SERVICE_ERRORS, maxAttempts: 5 },
      { ...OF_A_CHUNK, errors: DEAD_RUNTIME, maxAttempts: 2 },
    ];
  }
  const throttled = { ...UNTIL_FREE, errors: NOT_INVOKED };
  // CreateExport must not run twice for one state, because each run creates an export in the CRM.
  if (id === 'CreateExport') return [throttled];
  return [throttled, { ...PATIENT, errors: SERVICE_ERRORS }, { ...BRIEF, errors: DEAD_RUNTIME }];
}

/** The next states after an error, a crash, or an outcome without a branch. */
export type Ends = Record<'failed' | 'crashed' | 'otherwise', sfn.IChainable>;

/** The task of a step, and the state in which it waits as long as it requested, before its next invocation. */
export type Task = ReturnType<typeof stepTask>;

/** A task that gets and returns the whole state. */
export function stepTask(
  scope: Construct,
  id: AnyStepName,
  comment: string,
  { alias }: StepFunction,
  [waitId, why]: [id: string, comment: string],
) {
  const options = { outputPath: '$.Payload', retryOnServiceExceptions: false };
  const task = new LambdaInvoke(scope, id, { comment, lambdaFunction: alias, ...options });
  const wait = new sfn.Wait(scope, waitId, { comment: why, time: sfn.WaitTime.secondsPath('$.waitSeconds') });
  wait.next(task);
  return { task, wait };
}

/**
 * Adds the transitions after a task: a Choice with every outcome, retries for the platform, a catch for crashes.
 * @param outcomes the next state for each outcome; a missing one does not compile.
 * @param crashPath path in the state for the error of a crash
 */
export function connectStep<S extends AnyStepName>(
  scope: Construct,
  id: S,
  { task }: Task,
  outcomes: Record<Answered<S>, sfn.IChainable>,
  ends: Ends,
  crashPath = '$.crash',
): void {
  const choice = new sfn.Choice(scope, `After${id}`, { comment: `What did ${id} answer?` });
  for (const [outcome, next] of Object.entries<sfn.IChainable>({ ...outcomes, FAILED: ends.failed })) {
    choice.when(sfn.Condition.stringEquals('$.outcome', outcome), next);
  }
  for (const retry of retriesOf(id)) task.addRetry(retry);
  task.addCatch(ends.crashed, { resultPath: crashPath });
  task.next(choice.otherwise(ends.otherwise));
}

/** The states in which a machine fails, with the given names. */
export function failStates(scope: Construct, ids: Record<keyof Ends, string>): Ends {
  // The advice quotes only the name of the original error: its message may hold data.
  const crash = `A step stopped with {} before it could answer. ${ERRORS.StepCrashed.advice}`;
  return {
    failed: new sfn.Fail(scope, ids.failed, {
      comment: 'A step ended the run with its own error and cause',
      errorPath: '$.failure.error',
      causePath: '$.failure.cause',
    }),
    crashed: new sfn.Fail(scope, ids.crashed, {
      comment: 'The function of a step crashed',
      error: 'StepCrashed',
      causePath: sfn.JsonPath.format(crash, sfn.JsonPath.stringAt('$.crash.Error')),
    }),
    otherwise: new sfn.Fail(scope, ids.otherwise, {
      comment: 'A step returned an outcome that the state machine does not have',
      error: 'UnknownOutcome',
      cause: `A step returned an outcome that the state machine does not have. ${ERRORS.UnknownOutcome.advice}`,
    }),
  };
}

/**
 * The first state of a machine. Times in files come from the execution, not from the clock of a function, so that retries
 * write equal bytes.
 */
export function beginState(scope: Construct, id: string, of: string, further: Record<string, unknown> = {}): sfn.Pass {
  return new sfn.Pass(scope, id, {
    comment: `Wraps the input, whatever it is, into the state of the ${of}`,
    parameters: {
      'input.$': '$$.Execution.Input',
      'execution.$': '$$.Execution.Name',
      'startedAt.$': '$$.Execution.StartTime',
      ...further,
      machineVersion: MACHINE_VERSION,
    },
  });
}

/**
 * A state machine, named after the stack and its construct, with tracing and a log group. The log has errors and
 * causes, but no state data. With another prefix of the log group, a resource policy would become too long
 * (https://docs.aws.amazon.com/step-functions/latest/dg/bp-cwl.html).
 */
export function machineIn(
  scope: Construct,
  { deployment, key }: { deployment: Deployment; key: EncryptionKey },
  props: { comment: string; start: sfn.IChainable; timeout: Duration },
): sfn.StateMachine {
  const stateMachineName = `${Stack.of(scope).stackName}-${scope.node.id}`;
  const { start, ...described } = props;
  const destination = new LogGroup(scope, 'LogGroup', {
    logGroupName: `/aws/vendedlogs/states/${stateMachineName}`,
    retention: deployment.logRetentionDays as RetentionDays,
    encryptionKey: key.key,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  return new sfn.StateMachine(scope, 'Machine', {
    stateMachineName,
    ...described,
    definitionBody: sfn.DefinitionBody.fromChainable(start),
    logs: { destination, level: sfn.LogLevel.ALL, includeExecutionData: false },
    tracingEnabled: true,
  });
}
