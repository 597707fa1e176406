import { DeleteFunctionConcurrencyCommand, PutFunctionConcurrencyCommand } from '@aws-sdk/client-lambda';
import { DescribeStateMachineCommand, UpdateStateMachineCommand } from '@aws-sdk/client-sfn';
import type { Deployed } from '../../e2e/support/deployed.ts';

const STEPS_OF_A_RUN = ['CreateExport', 'CheckStatus', 'DownloadFile', 'PublishFile'];

/**
 * Runs work while each function allows one concurrent call. MiniStack throttles a function but not its alias, and names
 * the error differently for Step Functions, so the machine is changed meanwhile. All waits and retry pauses take a
 * hundredth of their time: without them, ten retries would end before the blocking call.
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
