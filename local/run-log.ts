import { FilterLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import type { Target } from '../cli/support/target.ts';
import { STEPS } from '../core/step/steps.ts';

const LINES = 6;

/** The last lines that the functions logged about a run, oldest first, and any crash: a crash does not know its run. */
export async function runLog({ logs, stack }: Pick<Target, 'logs' | 'stack'>, execution: string): Promise<string[]> {
  const groups = Object.keys(STEPS).map((step) => `/aws/lambda/${stack}-${step}`);
  const found = await Promise.all(
    groups.map(async (logGroupName) => {
      const answer = logs.send(new FilterLogEventsCommand({ logGroupName }));
      // A function that was never invoked may have no group.
      const { events = [] } = await answer.catch(() => ({ events: [] }));
      return events;
    }),
  );
  return (
    found
      .flat()
      .filter(({ message = '' }) => message.includes(`"${execution}"`) || message.includes('"crashed"'))
      // Lines that carry metrics repeat what others say.
      .filter(({ message = '' }) => !message.includes('"_aws"'))
      .toSorted((a, b) => (a.timestamp ?? 0) - (b.timestamp ?? 0))
      .map(({ message = '' }) => message.trim())
      .slice(-LINES)
  );
}
