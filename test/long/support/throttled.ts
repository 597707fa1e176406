import { DeleteFunctionConcurrencyCommand, PutFunctionConcurrencyCommand } from '@aws-sdk/client-lambda';
import { DescribeStateMachineCommand, UpdateStateMachineCommand } from '@aws-sdk/client-sfn';
import type { Deployed } from '../../e2e/support/deployed.ts';

const STEPS_OF_A_RUN = ['CreateExport', 'CheckStatus', 'DownloadFile', 'PublishFile'];

/**
 * Does the work while one call of each function may run. MiniStack refuses as Lambda does, calls of the function though, not of
 * its alias, and for Step Functions has another name for it than AWS: the machine is changed meanwhile. Waits and pauses before retries
 * take a hundredth of their time, in other files too: without any, ten retries end sooner than the call that is in their way.
 */
export async function throttled<T>({ target, cloud, lambda }: Deployed, work: () => Promise<T>): Promise<T> {
  const { sfn, stack, StateMachineArn: stateMachineArn } = target;
  const scale = (waits: number) => {
    const body = JSON.stringify({ 'stepfunctions._SFN_WAIT_SCALE': waits });
    return fetch(`${cloud.endpoint}/_ministack/config`, { method: 'POST', body });
  };
  const names = STEPS_OF_A_RUN.map((step) => `${stack}-${step}`);
  const { definition = '' } = await sfn.send(new DescribeStateMachineCommand({ stateMachineArn }));
  const here = definition.replaceAll('Lambda.TooManyRequestsException', 'Lambda.Unknown').replaceAll(':live', '');
  try {
    for (const FunctionName of names)
      await lambda.send(new PutFunctionConcurrencyCommand({ FunctionName, ReservedConcurrentExecutions: 1 }));
    await sfn.send(new UpdateStateMachineCommand({ stateMachineArn, definition: here }));
    await scale(0.01);
    return await work();
  } finally {
    await scale(0);
    await sfn.send(new UpdateStateMachineCommand({ stateMachineArn, definition }));
    for (const FunctionName of names) await lambda.send(new DeleteFunctionConcurrencyCommand({ FunctionName }));
  }
}
