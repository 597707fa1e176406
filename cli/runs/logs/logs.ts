import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import type { Command } from 'commander';
import { commandFor, quoted, withExamples } from '../../support/command-options.ts';
import { partialFailure } from '../../support/ended.ts';
import { printErr } from '../../support/print.ts';
import { connect, type Target, type TargetOptions } from '../../support/target.ts';
import { colorsFor } from '../../support/text.ts';
import { untilInterrupted } from '../../support/until-interrupted.ts';
import { findRun } from '../find-run.ts';
import type { FoundRun } from '../run/run.ts';
import { withRun } from '../run-names.ts';
import { HEADINGS, linesOfRun, type RunLine, textOf } from './logs-lines.ts';

interface LogsOptions extends TargetOptions {
  date?: string;
  follow?: boolean;
  json?: boolean;
}

/** CloudWatch shows lines some seconds after they were written. */
const LOOKS_AFTER_THE_END = 3;
/** How far back each look goes: older lines of another function may come later. */
const LATE_MS = 5 * 60_000;

/** Registers `logs`, which changes nothing. */
export function addLogs(command: Command): void {
  withRun(command)
    .option('--follow', 'go on until the run has ended; Ctrl-C stops following, never the run')
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(logs);
  withExamples(command, {
    'logs leads --deployment prod': 'of the newest run of leads',
    'logs leads-20261120T020000Z-1a2b3c --deployment prod --json': 'of a run by its name, as a document',
    'logs leads --deployment prod --follow': 'of a run that is under way, as they come',
  });
}

async function logs(run: string, options: LogsOptions): Promise<void> {
  const target = await connect(options);
  const found = await findRun(target, run, options.date);
  const write = writerFor(options);
  const lines: RunLine[] = [];
  const show = (line: RunLine) => {
    lines.push(line);
    write(line);
  };
  if (options.follow) {
    const again = commandFor(`logs ${quoted(found.name)} --follow`, options);
    const words = `Stopped following; the run goes on: ${again}`;
    await untilInterrupted(words, (signal) => followLines(target, found, { show, signal })).catch((error: unknown) => {
      throw options.json ? partialFailure(error, '', documentOf(found, lines)) : error;
    });
  } else for (const line of await linesOfRun(target, found)) show(line);
  if (options.json) {
    process.stdout.write(`${JSON.stringify(documentOf(found, lines))}\n`);
  } else if (lines.length === 0) {
    printErr(`${found.name} (${found.status}) has no log lines, or has none any more (logRetentionDays).`);
  }
}

function documentOf({ name }: FoundRun, lines: RunLine[]) {
  return { execution: name, lines: lines.map(({ fields }) => fields) };
}

function writerFor({ json }: LogsOptions): (line: RunLine) => void {
  if (json) return () => undefined;
  const colors = colorsFor(process.stdout);
  let before = false;
  return (line) => {
    if (!before) process.stdout.write(`${colors.dim(HEADINGS)}\n`);
    before = true;
    const paint = line.fields.level === 'ERROR' ? colors.red : line.fields.level === 'WARN' ? colors.yellow : String;
    process.stdout.write(`${paint(textOf(line))}\n`);
  };
}

/** Shows each line once, until the run has ended and its last lines had time to come. */
export async function followLines(
  target: Pick<Target, 'sfn' | 'logs' | 'stack'>,
  run: FoundRun,
  { show, signal, everyMs = 2_000 }: { show: (line: RunLine) => void; signal?: AbortSignal; everyMs?: number },
): Promise<void> {
  const shown = new Set<string>();
  let newest = 0;
  let looks = run.status === 'RUNNING' ? LOOKS_AFTER_THE_END : 1;
  const { executionArn } = run;
  for (;;) {
    const { status } = await target.sfn.send(new DescribeExecutionCommand({ executionArn }), { abortSignal: signal });
    for (const line of await linesOfRun(target, run, { since: newest - LATE_MS, signal })) {
      if (!shown.has(line.id)) show(line);
      shown.add(line.id);
      newest = Math.max(newest, line.storedAt);
    }
    if (status !== 'RUNNING') looks -= 1;
    if (looks === 0) return;
    await sleep(everyMs, undefined, { signal });
  }
}
