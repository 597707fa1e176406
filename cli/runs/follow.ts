import { setTimeout as sleep } from 'node:timers/promises';
import { paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import { DescribeExecutionCommand, type DescribeExecutionOutput, type SFNClient } from '@aws-sdk/client-sfn';
import type { Command } from 'commander';
import * as z from 'zod/mini';
import type { Entity } from '../../core/config/entities.ts';
import { parseJson } from '../../core/json.ts';
import type { RunState } from '../../core/step/states.ts';
import { awsErrorText } from '../support/aws-error.ts';
import { commandFor, quoted, withExamples } from '../support/command-options.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { bytesText, manyText, movedText, plainLine } from '../support/text.ts';
import { together } from '../support/together.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { lastSeen } from './executions.ts';
import { findRun, withRun } from './find-run.ts';
import { completeRun, createPublished, type Published } from './published-runs.ts';
import { foundRun, type NamedRun, type Run, runOf, secondsBetween } from './run.ts';
import { failureText, headText, readersText } from './run-words.ts';
import { reasonText, timesText, type Waiting, waitingOf } from './waiting.ts';

type FollowedRun = Pick<NamedRun, 'run' | 'entity' | 'executionArn'>;

export interface FollowCommandOptions extends TargetOptions {
  json?: boolean;
}

/** Registers `follow`, which changes nothing. */
export function addFollow(command: Command): void {
  withRun(command).action(follow);
  withExamples(command, {
    'follow leads --deployment prod': 'the newest run of leads, under way or ended',
    'follow leads-20261120T020000Z-1a2b3c --deployment prod': 'a run by its name',
  });
}

async function follow(run: string, options: TargetOptions & { date?: string }): Promise<void> {
  const target = await connect(options);
  const found = await findRun(target, run, options.date);
  const { entity, name, executionArn } = found;
  if (entity) return followToTheEnd(target, [{ run: name, entity, executionArn }], options);
  throw new CommandError(`The input of ${name} names no entity, so there is nothing to follow.`, USAGE);
}

/**
 * Prints a line for each change of the runs until they have ended, then their results.
 * @throws CommandError: 1 if a run was not published, 130 after Ctrl-C, which stops following but never the run
 */
export async function followToTheEnd(
  target: Target,
  runs: FollowedRun[],
  options: FollowCommandOptions,
): Promise<void> {
  const again = runs.map(({ run }) => commandFor(`follow ${quoted(run)}`, options)).join('\n  ');
  const words = runs.length === 1 ? `the run goes on: ${again}` : `the runs go on:\n  ${again}`;
  const reports = await untilInterrupted(`Stopped following; ${words}`, async (signal) => {
    try {
      return await show(target, runs, options.json, signal);
    } catch (error) {
      const trouble = signal.aborted ? undefined : awsErrorText(error);
      if (!trouble) throw error;
      throw new CommandError(`${trouble}\nThis says nothing about the run. To follow again: ${again}`, ENVIRONMENT);
    }
  });
  print(reports, options);
}

async function show(target: Target, runs: FollowedRun[], json: boolean | undefined, signal: AbortSignal) {
  const print = json ? printErr : printOut;
  // The end of a run is shown even to users who may not read the bucket.
  const published = createPublished(target, () => undefined);
  const about = { published, timeZone: target.TimeZone };
  const look = ({ entity, executionArn }: FollowedRun, either: AbortSignal) => {
    // DownloadFile logs its progress every five seconds too.
    const fileProgress = watchFile(target, { everyMs: 5_000 });
    const onProgress = progressLines(print);
    return followRun(target.sfn, entity, executionArn, { signal: either, onProgress, fileProgress, ...about });
  };
  // If one run cannot be read, the command stops following the others too.
  return together(runs, look, { signal });
}

function print(runs: Run[], options: FollowCommandOptions): void {
  const { json = false } = options;
  const failures = runs.filter(({ status }) => status !== 'SUCCEEDED');
  if (json) printJson({ ok: failures.length === 0, runs });
  for (const run of runs) {
    if (!json && run.status === 'SUCCEEDED') printOut(endText(run, options));
  }
  if (failures.length === 0) return;
  throw new CommandError(failures.map(failedText).join('\n'), RUN_FAILED, { documented: json });
}

function endText(run: Run, options: TargetOptions): string {
  const { run: name, key, bytes, table, warningCount } = run;
  const ofFile = key === null ? [] : [`${key} (${bytes} bytes)`];
  const ofTable = table ? [`table ${table.key} (${[`${table.bytes} bytes`, ...table.warnings].join('; ')})`] : [];
  const facts = [headText(run), ...ofFile, ...ofTable].map(plainLine).join(', ');
  if (!warningCount) return facts;
  return `${facts}, ${manyText(warningCount, 'warning')}: ${commandFor(`show ${quoted(name)}`, options)}`;
}

function failedText(run: Run): string {
  const { entity, date, readers } = run;
  const have = readers && entity ? `\n  ${readersText(readers, entity, date)}` : '';
  return `${entity}: ${failureText(run)}${have}`;
}

/** The current state of a run. */
export interface Progress {
  entity: Entity;
  /** The state that the run entered last. */
  state: string;
  status: string;
  checks: number;
  /** Bytes stored so far; `null` if not known. */
  bytes: number | null;
  totalBytes: number | null;
  waiting: Waiting | null;
  seconds: number;
}

interface FollowOptions {
  everyMs?: number;
  signal?: AbortSignal | undefined;
  onProgress?: (progress: Progress) => void;
  /** Reads how many bytes are stored; without it, they are known only when the whole file is stored. */
  fileProgress?: FileProgress;
  /** Reads the published state of the run from the bucket; without it, that part is left out. */
  published?: Published;
  /** The time zone for the date of a run that ended before it had a date. */
  timeZone?: string | undefined;
}

/** The states in which a run moves a file. */
const MOVING = ['DownloadFile', 'WaitBeforeDownload'];

/**
 * Follows a run to its end. The `signal` stops following, never the run.
 * @throws the reason of the signal
 */
export async function followRun(
  sfn: SFNClient,
  entity: Entity,
  executionArn: string,
  options: FollowOptions = {},
): Promise<NamedRun> {
  const { everyMs = 1000, signal, onProgress, fileProgress } = options;
  const look = { abortSignal: signal };
  for (;;) {
    const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }), look);
    const { status = 'RUNNING', startDate, stopDate } = execution;
    const running = status === 'RUNNING';
    const seen = await lastSeen(sfn, executionArn, look);
    const { name, state } = seen;
    const moved = running && MOVING.includes(name) && state ? await fileProgress?.(state) : undefined;
    const stored = state?.file?.bytes;
    onProgress?.({
      entity,
      state: name,
      status,
      checks: state?.checks ?? 0,
      bytes: stored ?? moved?.bytes ?? null,
      totalBytes: stored ?? moved?.totalBytes ?? null,
      waiting: (running && waitingOf(seen)) || null,
      seconds: secondsBetween(startDate, stopDate ?? new Date()),
    });
    if (!running) return endOf(entity, { ...execution, executionArn }, state, options);
    await sleep(everyMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}

async function endOf(
  entity: Entity,
  execution: DescribeExecutionOutput & { executionArn: string },
  state: RunState | undefined,
  { published, timeZone }: FollowOptions,
): Promise<NamedRun> {
  const { executionArn } = execution;
  const found = { ...foundRun(execution, entity, 'export'), execution };
  const known = { state, timeZone };
  const run = published ? (await completeRun(published, found, known)).run : runOf(found, known);
  return { ...run, entity, executionArn, seconds: run.seconds ?? 0 };
}

/** Interval between two lines about a moving file. */
const MOVED_EVERY_SECONDS = 10;

/**
 * Prints one line for each change of state of a run and, while its file moves, one line every ten seconds. The lines are
 * the same in a terminal, a pipe and CI.
 */
export function progressLines(print: (line: string) => void): (progress: Progress) => void {
  let shown = { state: '', bytes: 0, seconds: 0 };
  return (progress) => {
    const { entity, state: name, bytes, seconds } = progress;
    if (name === '') return;
    const state = stateText(progress);
    // A run keeps its byte count after the last byte is stored.
    const isMoving = bytes !== null && MOVING.includes(name);
    const moved = isMoving && seconds - shown.seconds >= MOVED_EVERY_SECONDS;
    const text = state !== shown.state ? state : moved ? fileText(progress, shown) : '';
    if (text === '') return;
    print(`  ${entity}: ${text} (${seconds.toFixed(1)} s)`);
    shown = { state, bytes: bytes ?? 0, seconds };
  };
}

/** `CheckStatus, 1 check`; for a run that has ended, its status and the bytes of its file. */
function stateText({ state, status, checks, bytes, waiting }: Progress): string {
  const running = status === 'RUNNING';
  const facts = [
    running ? state : `${state} (${status})`,
    manyText(checks, 'check'),
    running ? '' : bytesText(bytes),
    ...(waiting ? [reasonText(waiting), timesText(waiting)] : []),
  ];
  return facts.filter(Boolean).map(plainLine).join(', ');
}

/** `41.9 MB of 96.0 MB, 4.1 MB/s, 43 %` */
function fileText({ bytes, totalBytes, seconds }: Progress, before: { bytes: number; seconds: number }): string {
  const rate = Math.max(0, (bytes ?? 0) - before.bytes) / (seconds - before.seconds);
  const share = totalBytes ? `${Math.floor(((bytes ?? 0) / totalBytes) * 100)} %` : '';
  return [movedText({ bytes, totalBytes }), `${bytesText(Math.round(rate))}/s`, share].filter(Boolean).join(', ');
}

/** Reads the progress of the file. It never throws, and returns `undefined` if it cannot read it. */
export type FileProgress = (state: RunState) => Promise<Moved | undefined>;
interface Moved {
  bytes: number;
  /** `null` while the size is not known. */
  totalBytes: number | null;
}

/** Lines come every five seconds while a file moves; older lines belong to a stalled transfer, or to another file. */
const LINES_OF_SECONDS = 120;
const movedSchema = z.object({
  message: z.literal('moved'),
  execution: z.string(),
  bytes: z.number(),
  totalBytes: z.nullish(z.number()),
});

/**
 * Watches the file of one run through the log lines `moved`. Without the right to the logs, the progress is not known.
 * @param everyMs time for which a result is reused
 */
export function watchFile(
  target: Pick<Target, 'logs' | 'downloadLogGroup'>,
  { everyMs }: { everyMs: number },
): FileProgress {
  let known: { until: number; moved: Moved | undefined } = { until: 0, moved: undefined };
  return async (state) => {
    if (performance.now() < known.until) return known.moved;
    const isDenied = (error: unknown) =>
      error instanceof Error && /AccessDenied|UnauthorizedOperation|Forbidden/.test(error.name);
    try {
      const line = await lastLine(target, state.execution);
      const totalBytes = line?.totalBytes ?? state.moving?.upload?.size ?? null;
      known = { until: performance.now() + everyMs, moved: line && { bytes: line.bytes, totalBytes } };
    } catch (error) {
      // After a denied call, no other is made.
      known = { until: isDenied(error) ? Number.POSITIVE_INFINITY : 0, moved: undefined };
    }
    return known.moved;
  };
}

async function lastLine({ logs, downloadLogGroup }: Pick<Target, 'logs' | 'downloadLogGroup'>, execution: string) {
  const wanted = {
    logGroupName: downloadLogGroup,
    filterPattern: `"moved" "${execution}"`,
    startTime: Date.now() - LINES_OF_SECONDS * 1000,
  };
  let last: z.infer<typeof movedSchema> | undefined;
  for await (const { events = [] } of paginateFilterLogEvents({ client: logs }, wanted)) {
    const lines = events.flatMap(({ message = '' }) => parseJson(movedSchema, message) ?? []);
    last = lines.findLast((line) => line.execution === execution) ?? last;
  }
  return last;
}
