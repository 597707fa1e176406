import type { Command } from 'commander';
import type { Outcome } from '../../core/batch/result-line.ts';
import { OUTCOMES } from '../../core/batch/result-line.ts';
import { withExamples } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { pathArgument } from '../support/paths.ts';
import { printOut } from '../support/print.ts';
import { table } from '../support/table.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { sendsUntil, timeText } from './drain.ts';
import { writeFailedLines } from './failed-file.ts';
import { updatesMachineOf } from './machine.ts';
import { countsText, failuresText, firstFailures, notApplied, storeOf } from './outcome.ts';
import { type BatchStatus, lastBatches, oneBatch } from './status.ts';
import { batchArgument } from './update.ts';

interface StatusOptions extends TargetOptions {
  failedTo?: string;
  json?: boolean;
}

const LISTED = 10;

/** Registers `update-status`, which changes nothing at the service. */
export function addUpdateStatus(command: Command): void {
  command
    .argument('[batch]', 'name of a batch', batchArgument)
    .option(
      '--failed-to <file>',
      'write the lines that were not applied into a new .jsonl file, to be corrected',
      pathArgument,
    )
    .option('--json', 'one JSON document')
    .action(show);
  withExamples(command, {
    'update-status --deployment prod': 'the last batches',
    'update-status update-20261120T094133Z-9bef26 --deployment prod --failed-to failed.jsonl': 'lines to correct',
  });
}

async function show(batch: string | undefined, options: StatusOptions): Promise<void> {
  if (batch === undefined && options.failedTo !== undefined) {
    throw new CommandError('Name the batch whose lines --failed-to is to write.', USAGE);
  }
  const target = await connect(options);
  const stateMachineArn = updatesMachineOf(target, options);
  if (batch === undefined) {
    const batches = await lastBatches(target, stateMachineArn, LISTED);
    return void printOut(options.json ? JSON.stringify({ batches }) : listText(batches));
  }
  const status = await oneBatch(target, stateMachineArn, batch);
  if (options.json) printOut(JSON.stringify(status));
  else for (const line of await detailsOf(target, status)) printOut(line);
  if (options.failedTo === undefined) return;
  const written = await writeFailedLines(storeOf(target), status, options.failedTo);
  process.stderr.write(`Wrote ${manyText(written, 'line')} to ${options.failedTo}, which holds customer data.\n`);
  const until =
    status.manifestKey === null && status.finishedAt ? sendsUntil(new Date(status.finishedAt), new Date()) : undefined;
  if (until) process.stderr.write(mayChangeText(status.batch, timeText(until)));
}

function mayChangeText(batch: string, until: string): string {
  return `Warning: functions of ${batch} may still be sending, until ${until} UTC at most: lines of this file may be applied all the same. Write it again after that, or use update --resume, which waits for them.\n`;
}

function listText(batches: BatchStatus[]): string {
  if (batches.length === 0) return 'There is no batch yet.';
  const outcomes = Object.keys(OUTCOMES) as Outcome[];
  const rows = batches.map(({ batch, startedAt, status, error, counts }) => [
    batch,
    startedAt?.slice(0, 19) ?? '',
    [status, error].filter(Boolean).join(' '),
    ...outcomes.map((outcome) => String(counts[outcome])),
  ]);
  return table(['batch', 'started (UTC)', 'status', ...outcomes], rows);
}

async function detailsOf(target: Parameters<typeof storeOf>[0], status: BatchStatus): Promise<string[]> {
  const { batch, startedAt, finishedAt, error, cause, counts, resultKey, manifestKey } = status;
  const records = status.records === null ? 'not summarized' : manyText(status.records, 'record');
  const head = [
    `${batch}: ${status.status ?? 'its execution is forgotten'}, ${records}`,
    `From ${startedAt ?? 'an unknown time'} to ${finishedAt ?? 'now'}.`,
    ...(error ? [`${error}: ${cause ?? 'no cause was given.'}`] : []),
    '',
    countsText(counts),
  ];
  if (!resultKey || notApplied(counts) === 0) return head;
  const failures = await firstFailures(storeOf(target), resultKey);
  return [...head, '', failuresText(failures, notApplied(counts)), '', `Result: ${resultKey}, ${manifestKey}`];
}
