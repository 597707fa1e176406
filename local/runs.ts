import { FilterLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { type Verified, verifyPublished } from '../cli/data/stored-file.ts';
import { startRun } from '../cli/runs/executions.ts';
import { followRun, progressLines, watchFile } from '../cli/runs/follow.ts';
import type { NamedRun } from '../cli/runs/run.ts';
import type { Target } from '../cli/support/target.ts';
import type { Entity } from '../core/config/entities.ts';
import { dateAfter, dateIn } from '../core/schedule/local-time.ts';
import { STEPS } from '../core/step/steps.ts';
import type { Screen } from './screen.ts';

/** Requests to the local cloud are free, so the waits are short. */
const LOOK_AT_FILE_EVERY_MS = 1_000;
const LOOK_AT_RUN_EVERY_MS = 250;
const LOG_LINES = 6;

/** A run and, after its files were read back, its published export. */
export interface FinishedRun {
  report: NamedRun;
  published?: Verified;
}

/** A date in the time zone of the deployment: today, or the given number of days ago. */
export function nightBefore({ TimeZone = 'UTC' }: Target, days: number): string {
  return dateAfter(dateIn(TimeZone, new Date()), -days);
}

/** Starts one run per entity at once, follows the runs to their ends, and reads the published files back. */
export async function runAll(
  target: Target,
  entities: Entity[],
  screen: Screen,
  signal: AbortSignal,
  date: string,
): Promise<FinishedRun[]> {
  // All runs have one date. `scheduledFor` would claim the start of a rule.
  const input = { date };
  const runs = entities.map(async (entity) => {
    const executionArn = await startRun(target, entity, input);
    const fileProgress = watchFile(target, { everyMs: LOOK_AT_FILE_EVERY_MS });
    return followRun(target.sfn, entity, executionArn, {
      everyMs: LOOK_AT_RUN_EVERY_MS,
      signal,
      onProgress: progressLines(screen.line),
      fileProgress,
    });
  });
  const reports = await Promise.all(runs);
  return Promise.all(reports.map((report) => readBack(target, report)));
}

async function readBack(target: Target, report: NamedRun): Promise<FinishedRun> {
  if (report.status !== 'SUCCEEDED') return { report };
  try {
    return { report, published: await verifyPublished(target, report) };
  } catch (error) {
    // The run reports that it published, but its files could not be read.
    const cause = error instanceof Error ? error.message : String(error);
    return { report: { ...report, outcome: 'failed', needsPerson: true, error: 'NotVerified', cause } };
  }
}

/** The last log lines of the functions about a run, oldest first, and any crash: crash lines do not name their run. */
export async function runLog({ logs, stack }: Pick<Target, 'logs' | 'stack'>, execution: string): Promise<string[]> {
  const groups = Object.keys(STEPS).map((step) => `/aws/lambda/${stack}-${step}`);
  const found = await Promise.all(
    groups.map(async (logGroupName) => {
      const answer = logs.send(new FilterLogEventsCommand({ logGroupName }));
      // The log group of a function that was never invoked may not exist.
      const { events = [] } = await answer.catch(() => ({ events: [] }));
      return events;
    }),
  );
  return (
    found
      .flat()
      .filter(({ message = '' }) => message.includes(`"${execution}"`) || message.includes('"crashed"'))
      // Lines with metrics repeat the content of other lines.
      .filter(({ message = '' }) => !message.includes('"_aws"'))
      .toSorted((a, b) => (a.timestamp ?? 0) - (b.timestamp ?? 0))
      .map(({ message = '' }) => message.trim())
      .slice(-LOG_LINES)
  );
}
