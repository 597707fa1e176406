import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import type { Command } from 'commander';
import * as z from 'zod/mini';
import { entitySchema } from '../../core/config/entities.ts';
import { parseJson } from '../../core/json.ts';
import { commandFor, quoted, withExamples } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { connect, type Target } from '../support/target.ts';
import { plainLine } from '../support/text.ts';
import { adoptableRun } from './adoption.ts';
import { lastSeen } from './executions.ts';
import { dateOf, refuseDate } from './export-date.ts';
import { type FoundRun, findRun } from './find-run.ts';
import type { FollowCommandOptions } from './follow.ts';
import { afterStart, startNamed } from './start.ts';
import { withoutJobSentence } from './without-job.ts';

interface RetryOptions extends FollowCommandOptions {
  force?: boolean;
  fresh?: boolean;
  wait?: boolean;
}

/** Registers `retry`. */
export function addRetry(command: Command): void {
  command
    .argument('<run>', 'name or ARN of an execution, or an entity: its newest run')
    .option('--force', 'even while the earlier one is under way')
    .option('--fresh', 'request a new export, even where the CRM still has that of the earlier run')
    .option('--wait', 'follow the new run to its end; Ctrl-C stops following, never the run')
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(retry);
  withExamples(command, {
    'retry leads-20261120T020000Z-1a2b3c --deployment prod --wait': 'a run that failed',
    'retry leads --deployment prod': 'the newest run of leads',
  });
}

async function retry(run: string, options: RetryOptions): Promise<void> {
  const target = await connect(options);
  const found = await findRun(target, run);
  if (found.status === 'RUNNING' && !options.force) {
    const stop = commandFor(`stop ${quoted(found.name)}`, options);
    throw new CommandError(`${found.name} is under way: stop it first (${stop}), or add --force.`, USAGE);
  }
  if (found.withoutJob) {
    const start = commandFor(`start ${found.entity} --date YYYY-MM-DD`, options);
    const why = plainLine(withoutJobSentence(found.withoutJob));
    throw new CommandError(
      `There is nothing to repeat in ${found.name}, which requested nothing (${why}): ${start}.`,
      USAGE,
    );
  }
  const { entity, ...input } = await inputAgain(target, found, options.fresh);
  const other = commandFor(`start ${entity} --date YYYY-MM-DD`, options);
  refuseDate(target, input, `\nTo run it for another: ${other}`);
  const started = await startNamed(target, entity, input, options);
  const adopting =
    input.adopt === undefined ? '' : ` It adopts the export of ${plainLine(input.adopt)}, if the CRM still has it.`;
  printErr(`${started.name} repeats ${found.name}, ${subjectOf(input)}.${adopting}`);
  await afterStart(target, [started], options);
}

function subjectOf({
  release,
  table,
  date,
  scheduledFor,
}: Pick<RunInput, 'release' | 'table' | 'date' | 'scheduledFor'>): string {
  if (table !== undefined) return `the table of ${plainLine(table.run)} alone`;
  if (release !== undefined) return `the release of ${plainLine(release)}`;
  return `for ${date ?? `the date of ${scheduledFor?.slice(0, 16).replace('T', ', ')} UTC`}`;
}

const inputSchema = z.looseObject({
  entity: entitySchema,
  date: z.optional(z.string()),
  scheduledFor: z.optional(z.string()),
  adopt: z.optional(z.string()),
  release: z.optional(z.string()),
  table: z.optional(z.object({ run: z.string() })),
});
type RunInput = z.infer<typeof inputSchema>;

/**
 * The input of the old run with its logical date: without one the new run would take today's. It adopts the old run's
 * export, unless a new one is needed, or `fresh`. Where only the table is missing, it is all that the new run writes.
 * @throws CommandError (exit code 2) where that input names no entity
 */
export async function inputAgain(
  { sfn, TimeZone }: Pick<Target, 'sfn' | 'TimeZone'>,
  { executionArn, name, startDate }: FoundRun,
  fresh = false,
): Promise<RunInput> {
  const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  const parsed = parseJson(inputSchema, execution.input);
  if (!parsed) {
    throw new CommandError(`The input of ${name} names no entity: begin with npm run cli -- start.`, USAGE);
  }
  // It has the date of the run that it releases.
  const { entity, release, table } = parsed;
  // The file is published: the table is all that is missing.
  if (execution.error === 'TableNotWritten' && !fresh) return { entity, table: table ?? { run: release ?? name } };
  if (release !== undefined || table !== undefined) return parsed;
  const { scheduledFor = startDate.toISOString(), adopt: earlier, ...input } = parsed;
  const last = await lastSeen(sfn, executionArn);
  const ended = { name, status: execution.status ?? 'RUNNING', error: execution.error ?? null };
  const adopt = fresh ? undefined : adoptableRun(ended, last, earlier);
  const { run, date: early } = last.state ?? {};
  const date = input.date ?? run?.date ?? early ?? (TimeZone && dateOf(TimeZone, scheduledFor));
  // With `scheduledFor` too, the new run would be one of the nightly rule, and find that the old one has its start. The
  // functions of a stack that does not name its zone do not look.
  return { ...input, ...(date === undefined ? { scheduledFor } : { date }), ...(adopt !== undefined && { adopt }) };
}
