import * as z from 'zod/mini';
import { driftTexts } from '../../core/columns/column-changes.ts';
import { ERRORS } from '../../core/errors.ts';
import { isReleasable, stoppedText } from '../../core/gate/gate.ts';
import { failedChecks, type GateReport } from '../../core/gate/report.ts';
import type { Drift } from '../../core/step/states.ts';
import { createManifests, ifReadable, publicationWarnings } from '../data/stored-manifests.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import { adviceLines, withPlace } from '../support/command-text.ts';
import { printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { countText, durationText, painterOf, printableLine } from '../support/text.ts';
import { historyOf, waitingOf } from './executions.ts';
import { findRun } from './find-run.ts';
import { createPublished } from './published-runs.ts';
import { adoptableRun, type LastState } from './retry-run.ts';
import { type Execution, failureText, headText, parseState, type Run, readersText, toneOf } from './run.ts';
import { timelineOf } from './timeline.ts';

interface ShowOptions extends TargetOptions {
  date?: string;
  json?: boolean;
}

/** Runs the command `show`, which changes nothing. */
export async function show(run: string, options: ShowOptions): Promise<void> {
  const endpoint = options.endpointUrl ?? process.env.AWS_ENDPOINT_URL;
  const found = await showRun(await connect(options), run, endpoint, options.date);
  const shown = { ...found, makeUp: found.makeUp && commandFor(found.makeUp, options) };
  if (options.json) printJson(shown);
  else printOut(shownText({ ...shown, cause: found.cause && withPlace(found.cause, options) }, process.stdout));
}

export function shownText(shown: ShownRun, stream: { isTTY?: boolean }): string {
  const paint = painterOf(stream);
  const times = shown.timeline.map(({ seconds }) => (seconds === null ? '' : durationText(seconds)));
  const width = Math.max(...times.map(({ length }) => length));
  const moments = shown.timeline.map(
    ({ at, text }, index) =>
      `  ${paint('idle')(at.slice(11, 19))}  ${times[index]?.padEnd(width)}  ${printableLine(text)}`,
  );
  return [
    paint(toneOf(shown))(printableLine(`${shown.run}: ${headText(shown)}`)),
    '',
    `  ${paint('idle')(`${shown.startedAt.slice(0, 10)}, times in UTC`)}`,
    ...moments,
    ...failureOf(shown),
    ...shown.warnings.map((warning) => `\n  ${paint('warned')('Warning:')} ${printableLine(warning)}`),
    ...columnTexts(shown.drift, shown.warnings).map((text) => `\n  ${printableLine(text)}`),
    ...comparedWith(shown),
    ...releaseOf(shown),
    '',
    ...placesOf(shown),
  ].join('\n');
}

function releaseOf({ release, standing }: ShownRun): string[] {
  if (!release) return [];
  const { by, requestedAt, execution, reason, newNormal } = release;
  const who = by === null ? '' : ` by ${by}`;
  const when = requestedAt.slice(0, 16).replace('T', ' ');
  const mark = newNormal ? ' From then on, checks compare only with this file and later ones.' : '';
  const done = standing === 'latest' || standing === 'current' ? 'Released' : 'Release requested';
  return [`\n  ${printableLine(`${done}${who}, ${when} UTC (${execution}): "${reason}".${mark}`)}`];
}

/**
 * The exports that the file was compared with, if a check stopped it. For a new plan, a sentence that there is no such
 * export.
 */
function comparedWith({ guards }: ShownRun): string[] {
  if (guards?.comparedWith.length === 0)
    return ['\n  There is no published export of another date with the same plan to compare this file with.'];
  if (!guards || failedChecks(guards).length === 0) return [];
  const nights = guards.comparedWith.map(
    ({ date, rows }) => `${date} (${rows === null ? 'not counted' : countText(rows, 'row')})`,
  );
  return [`\n  ${printableLine(`Compared with ${nights.join(', ')}.`)}`];
}

function failureOf(shown: ShownRun): string[] {
  const { runbook, readers, entity, date, makeUp, outcome, cause } = shown;
  // A released file is published, so the message that advises a release no longer applies.
  if (runbook === null || outcome === 'released') return [];
  const have = readers && entity ? [readersText(readers, entity, date)] : [];
  const command = makeUp && !cause?.includes(makeUp) ? [`Next: ${makeUp}`] : [];
  return [
    '',
    ...adviceLines(failureText(shown)).map((line) => `  ${line}`),
    ...[`Runbook: ${runbook}`, ...have, ...command].map((line) => `  ${printableLine(line)}`),
  ];
}

/** Column changes without a warning: the configuration accepts them, or they concern labels only. */
export function columnTexts(drift: Drift | null, warnings: string[]): string[] {
  return drift ? driftTexts(drift).filter((text) => !warnings.includes(text)) : [];
}

function placesOf(shown: ShownRun): string[] {
  const { bucket, key, manifestKey, keptUntil, executionArn, table } = shown;
  const kept = keptUntil === null ? '' : ` (kept until ${keptUntil})`;
  return [
    ...(key === null ? [] : [`File: s3://${bucket}/${key}${kept}`]),
    ...(manifestKey === null ? [] : [`Manifest: s3://${bucket}/${manifestKey}`]),
    ...(table === null ? [] : [`Table: s3://${bucket}/${table.key}`]),
    `Execution: ${shown.consoleUrl ?? executionArn}`,
  ].map((place) => `  ${printableLine(place)}`);
}

type ShownRun = Awaited<ReturnType<typeof showRun>>;

/**
 * A run as `show --json` prints it, found as by `findRun`. Unknown values are null.
 * @param endpoint of a local cloud
 * @throws CommandError (exit code 2) if there is no such run
 */
export async function showRun(target: Target, named: string, endpoint: string | undefined, date?: string) {
  const manifests = createManifests(target);
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(sentence);
  const published = createPublished(target, warn);
  const execution = await findRun(target, named, date);
  const { executionArn, status, output } = execution;
  const history = await historyOf(target.sfn, executionArn);
  const last = history.at(-1) ?? { name: '', at: undefined, state: undefined };
  const state = parseState(output) ?? history.findLast((entered) => entered.state)?.state;
  const waiting = status === 'RUNNING' ? waitingOf(last) : null;
  const { run, own: manifest } = await published.complete(execution, { state, waiting });
  const release =
    manifest?.state === 'quarantined'
      ? await ifReadable(manifests.releaseOf(manifest.run.entity, manifest.execution), warn)
      : undefined;
  const ofFile = manifest ? [...publicationWarnings(manifest), ...manifest.warnings] : [];
  // The cause of the failure already says why the gate stopped the file.
  const stopped = manifest?.guards && run.outcome === 'quarantined' ? stoppedText(manifest.guards, manifest.file) : '';
  const isInCause = (text: string) => stopped !== '' && run.cause?.includes(stopped) && text.includes(stopped);
  return {
    ...run,
    timeline: timelineOf(history, run, output),
    makeUp: makeUpOf(run, execution, { name: last.name, state }, manifest?.guards ?? null),
    runbook: runbookEntry(run.error, status),
    bucket: target.BucketName,
    warnings: [...warnings, ...ofFile, ...(run.table?.warnings ?? [])].filter((text) => !isInCause(text)),
    /** Differences between the columns of the CRM and those of the previous export. */
    drift: manifest?.run.drift ?? null,
    guards: manifest?.guards ?? null,
    release: release ?? null,
    consoleUrl: consoleUrl(run.executionArn, endpoint),
  };
}

/**
 * Errors after which `show` advises no new run. A new run would end in the same error, because its input is refused or
 * too large; or file and table are published, and the next feed includes the missing changes.
 */
const NOT_MADE_UP = new Set(['InvalidInput', 'States.DataLimitExceeded', 'ChangesStopped', 'ChangesNotWritten']);

/** The inputs that the command `start` can give to a run. The command `retry` repeats any input. */
const simpleInputSchema = z.strictObject({
  entity: z.string(),
  date: z.optional(z.string()),
  scheduledFor: z.optional(z.string()),
});

/** The command that replaces a failed run; null if another run is published, or if the same input would fail again. */
function makeUpOf(run: Run, execution: Execution, last: LastState, guards: GateReport | null): string | null {
  const { run: name, of, entity, date, status, error, outcome, readers } = run;
  if (error === 'TableNotWritten') return `table ${quoted(of ?? name)}`;
  if (!entity || status === 'RUNNING' || status === 'SUCCEEDED') return null;
  if (readers?.ofDate || NOT_MADE_UP.has(error ?? '')) return null;
  if (outcome === 'quarantined' && (!guards || isReleasable(guards))) return `release ${quoted(name)} --reason WHY`;
  const isAdopted = adoptableRun(execution, last) !== undefined;
  const isSimple = !isAdopted && date !== null && simpleInputSchema.safeParse(execution.input.json).success;
  // The kind is missing if the run ended before CreateExport decided what the plan selects for the date.
  if (!isSimple || run.kind === null) return `retry ${quoted(name)}`;
  return run.kind === 'window' ? `start ${entity} --date ${date}` : `start ${entity}`;
}

/** The page of an execution in the AWS console; `null` in a local cloud, which has none. @param endpoint of that cloud */
export function consoleUrl(executionArn: string | null, endpoint: string | undefined): string | null {
  const [, partition = '', , region = ''] = executionArn?.split(':') ?? [];
  const host = HOSTS[partition];
  if (endpoint || host === undefined) return null;
  return `https://${region}.${host}/states/home?region=${region}#/v2/executions/details/${executionArn}`;
}

const HOSTS: Record<string, string> = {
  aws: 'console.aws.amazon.com',
  'aws-cn': 'console.amazonaws.cn',
  'aws-us-gov': 'console.amazonaws-us-gov.com',
};

/** Entries of the runbook for executions that ended without an error of this software. */
const BY_STATUS: Record<string, string> = {
  FAILED: 'AnotherError',
  TIMED_OUT: 'TimedOut',
  ABORTED: 'ExecutionsAborted',
};

/** The runbook entry for the end of a run; `null` unless the run failed. */
export function runbookEntry(error: string | null, status: string): string | null {
  const name = error !== null && Object.hasOwn(ERRORS, error) ? error : BY_STATUS[status];
  return name === undefined ? null : `docs/runbook.md#${name.toLowerCase()}`;
}
