import type { Command } from 'commander';
import { type LineOutcome, OUTCOMES } from '../../core/batch/result-line.ts';
import { failureText, outcomeWord } from '../runs/run/words.ts';
import { commandFor, pathArgument, withExamples } from '../support/command-options.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import type { TargetOptions } from '../support/target.ts';
import { manyText, plainLine } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';
import { sendsUntil } from './drain.ts';
import { usage, writeFailedLines } from './failed-file.ts';
import { countsText, failuresText } from './outcome.ts';
import { type BatchStatus, lastBatches, oneBatch } from './status.ts';
import { batchArgument } from './update.ts';
import { connectForUpdates, type UpdatesTarget } from './updates-target.ts';

interface StatusOptions extends TargetOptions {
  failedTo?: string;
  json?: boolean;
}

const LISTED = 10;

/** Registers `update-status`, which changes nothing at the CRM. */
export function addUpdateStatus(command: Command): void {
  command
    .argument('[batch]', 'name of a batch', batchArgument)
    .option(
      '--failed-to <file>',
      'write the lines that are not applied yet to a new JSON Lines file (.jsonl), to be corrected and sent',
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
    throw usage('Name the batch whose lines --failed-to is to write.');
  }
  const target = await connectForUpdates(options);
  if (batch === undefined) {
    const batches = await lastBatches(target, LISTED);
    return options.json ? printJson({ batches }) : printOut(listText(batches));
  }
  const status = await oneBatch(target, batch);
  if (options.json) printJson(status);
  else printOut([...detailsOf(status, options), ...(await failuresText(target.store, status))].join('\n'));
  if (options.failedTo === undefined) return;
  const last = await lastResuming(target, status);
  const written = await writeFailedLines(target.store, status, last, options.failedTo);
  printErr(`Wrote ${manyText(written, 'line')} to ${options.failedTo}, which holds customer data.`);
  const { endedAt, manifestKey } = last;
  const until = manifestKey === null && endedAt ? sendsUntil(endedAt) : undefined;
  if (until === undefined) return;
  printErr(
    `Warning: functions of ${last.batch} may still be sending, until ${until} UTC at most: lines of this file may be applied all the same. Write it again after that, or use update --resume, which waits for them.`,
  );
}

/** The last of the batches that resume one another, which may be still under way. */
async function lastResuming(target: UpdatesTarget, status: BatchStatus): Promise<BatchStatus> {
  return status.resumedAs === null ? status : lastResuming(target, await oneBatch(target, status.resumedAs));
}

function listText(batches: BatchStatus[]): string {
  if (batches.length === 0) return 'There is no batch yet.';
  const outcomes = Object.keys(OUTCOMES) as LineOutcome[];
  const rows = batches.map((run) => [
    run.batch,
    run.startedAt.slice(0, 19),
    outcomeWord(run),
    ...outcomes.map((outcome) => String(run.counts[outcome])),
  ]);
  return textTable(['batch', 'started (UTC)', 'outcome', ...outcomes], rows);
}

function detailsOf(status: BatchStatus, options: StatusOptions): string[] {
  const { batch, startedAt, endedAt, error, counts, resumedAs } = status;
  const records = status.records === null ? 'not summarized' : manyText(status.records, 'record');
  return [
    plainLine(`${batch}: ${status.status === null ? 'its execution is forgotten' : outcomeWord(status)}, ${records}`),
    plainLine(`From ${startedAt} to ${endedAt ?? 'now'}.`),
    ...(error ? [failureText(status)] : []),
    ...(resumedAs ? [`Resumed as ${resumedAs}: ${commandFor(`update-status ${resumedAs}`, options)}`] : []),
    '',
    countsText(counts),
  ];
}
