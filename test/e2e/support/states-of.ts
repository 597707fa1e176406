import { paginateGetExecutionHistory } from '@aws-sdk/client-sfn';
import { parseState } from '../../../cli/runs/run.ts';
import type { Target } from '../../../cli/support/target.ts';
import type { RunState } from '../../../core/step/states.ts';

/** The states that an execution entered, in order, each with its input. */
export async function statesOf(
  { sfn }: Target,
  executionArn: string,
): Promise<{ name: string; state: RunState | undefined }[]> {
  const entered = [];
  for await (const { events = [] } of paginateGetExecutionHistory({ client: sfn }, { executionArn })) {
    for (const { stateEnteredEventDetails: details } of events) {
      if (details) entered.push({ name: details.name ?? '', state: parseState(details.input) });
    }
  }
  return entered;
}
