import { type Command, InvalidArgumentError, Option } from 'commander';
import * as z from 'zod/mini';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import {
  type AllDeploymentsOptions,
  entitiesArgument,
  numberArgument,
  pathArgument,
  withAllDeployments,
  withExamples,
} from '../../support/command-options.ts';
import { printErr } from '../../support/print.ts';
import { fittedTable } from '../../support/table.ts';
import { connect, type TargetOptions } from '../../support/target.ts';
import { bytesText, colorsFor, durationText, manyText, plainLine } from '../../support/text.ts';
import { waitingText } from '../waiting.ts';
import { withoutJobText } from '../without-job.ts';
import { FORGOTTEN_AFTER_DAYS, listRuns, type RunRow } from './list-runs.ts';

export interface ListOptions extends TargetOptions, AllDeploymentsOptions {
  since?: Date;
  failed?: boolean;
  running?: boolean;
  all?: boolean;
  limit?: number;
  configuration?: string;
  json?: boolean;
}

const limitArgument = numberArgument('A whole number from 1 to 99999.', 1, 99_999);
const LINES = `
In a pipe: one line for each run, separated by tabs: start, entity, date, outcome, seconds, rows, bytes, standing, run, warnings, and why a run waits.
What is empty at the end of a line is left out.`;

/** Registers `list`, which changes nothing. */
export function addList(command: Command): void {
  const described = withAllDeployments(command)
    .argument('[entity...]', `only these: ${ENTITIES.join(', ')}`, entitiesArgument)
    .option('--since <time>', 'how far back: 12h, 7d, 2w or a date; default: 7d', (text) => sinceArgument(text))
    .addOption(new Option('--failed', 'only runs that ended in anything but success').conflicts('running'))
    .option('--running', 'only runs that are under way')
    .option('--all', 'also starts by a rule that requested nothing: not due, or already started')
    .option('--limit <number>', 'only so many, the newest', limitArgument)
    .option('--configuration <file>', 'says the time zone of the dates; default: what is deployed', pathArgument)
    .option('--json', 'one JSON document')
    .action(list);
  withExamples(described, {
    'list --deployment prod': 'the last seven days',
    'list leads customers --since 2026-11-01 --deployment prod': 'two entities since a date',
    'list --running --deployment prod': 'what goes on right now',
    'list --failed --since 30d --deployment prod': 'what went wrong within a month',
    'list --failed --since 1d --all-deployments': 'what went wrong last night, anywhere',
  }).addHelpText('after', LINES);
}

async function list(entities: Entity[] = [], options: ListOptions): Promise<void> {
  if (options.allDeployments) return (await import('./list-all.ts')).listAll(entities, options);
  // Loaded where it is asked for: what reads a configuration takes longer to load than all else here.
  const plan = async () => (await import('../../schedule/nightly-plan.ts')).nightlyPlan(options, printErr);
  const file = options.configuration === undefined ? undefined : await plan();
  const target = await connect(options);
  const timeZone = file?.timeZone ?? target.TimeZone ?? (await plan()).timeZone;
  const { since = sinceArgument('7d'), failed = false, running = false, all = false, limit } = options;
  const runs = await listRuns(target, { entities, since, failed, running, all, limit, timeZone, warn: printErr });
  const text = options.json ? JSON.stringify({ runs }) : runsText(runs, process.stdout, { since, failed, running });
  if (text !== '') process.stdout.write(`${text}\n`);
}

/** The runs for a person on a terminal, or a line for each elsewhere. */
export function runsText(
  runs: RunRow[],
  stream: { isTTY?: boolean; columns?: number },
  { since, failed, running = false }: { since: Date; failed: boolean; running?: boolean },
): string {
  if (!stream.isTTY) return runs.map(lineOf).join('\n');
  const from = `since ${since.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  if (runs.length === 0 && running) return 'No run is under way.';
  if (runs.length === 0) return failed ? `No run failed ${from}.` : `There is no run ${from}.`;
  const colors = colorsFor(stream);
  const { lines, leftOut } = fittedTable(COLUMNS, runs.map(cellsOf), stream.columns ?? Number.POSITIVE_INFINITY);
  const paint = (run: RunRow | undefined) => {
    if (!run || run.standing === 'superseded' || run.withoutJob) return colors.dim;
    if (run.status === 'RUNNING') return colors.cyan;
    if (run.warningCount) return colors.yellow;
    return GOOD.has(outcomeText(run)) ? colors.green : colors.red;
  };
  const rows = lines.map((line, index) => paint(runs[index - 1])(line));
  const forgotten = `* Step Functions forgets runs after ${FORGOTTEN_AFTER_DAYS} days: of these the manifest tells alone, and those that failed are not known.`;
  const notes = [
    ...(runs.some(({ status }) => status === null) ? [forgotten] : []),
    ...(leftOut.length > 0 ? [`No room for: ${leftOut.join(', ')}; --json has all.`] : []),
  ];
  return [...rows, ...notesOf(runs), ...(notes.length > 0 ? ['', ...notes] : [])].join('\n');
}

/** Outcomes that leave readers or the person with what was wanted. */
const UNJUDGED = 'published, unjudged';
const GOOD = new Set([
  ...['published', 'published, partial', 'published*', UNJUDGED, `${UNJUDGED}*`],
  ...['stored', 'released', 'release', 'table'],
]);

/** What the table has no room for. */
function notesOf(runs: RunRow[]): string[] {
  const notes = runs.flatMap(({ run, warningCount, changedColumns, waiting, releases, tableOf }) => [
    ...(releases === null ? [] : [`${plainLine(run)}: releases ${plainLine(releases)}`]),
    ...(tableOf === null ? [] : [`${plainLine(run)}: table of ${plainLine(tableOf)}`]),
    ...(waiting ? [`${plainLine(run)}: ${waitingText(waiting)}`] : []),
    ...(warningCount ? [`${plainLine(run)}: ${manyText(warningCount, 'warning')}, which show prints`] : []),
    ...(changedColumns ? [`${plainLine(run)}: ${manyText(changedColumns, 'column')} changed, which show names`] : []),
  ]);
  return notes.length === 0 ? [] : ['', ...notes.map((note) => `  ${note}`)];
}

const COLUMNS = [
  { name: 'started (UTC)' },
  { name: 'entity' },
  { name: 'date', optional: 1 },
  { name: 'outcome' },
  { name: 'took', optional: 3 },
  { name: 'rows', optional: 4 },
  { name: 'bytes', optional: 5 },
  { name: 'standing', heading: '', optional: 2 },
  { name: 'run' },
];

function cellsOf(run: RunRow): string[] {
  const { startedAt, entity, date, seconds, rows, bytes, standing } = run;
  return [
    startedAt.slice(0, 19).replace('T', ' '),
    entity ?? '?',
    date ?? '',
    `${outcomeText(run)}${run.warningCount ? ' (!)' : ''}`,
    seconds === null ? '' : durationText(seconds),
    rows?.toLocaleString('en-US') ?? '',
    bytesText(bytes),
    standing === 'current' ? '' : (standing ?? ''),
    plainLine(run.run),
  ];
}

function lineOf(run: RunRow): string {
  const { startedAt, entity, date, seconds, rows, bytes, standing } = run;
  const measures = [seconds, rows, bytes, standing, plainLine(run.run), run.warningCount || null];
  const cells = [startedAt, entity, date, outcomeText(run), ...measures, run.waiting && waitingText(run.waiting)];
  return cells
    .map((cell) => cell ?? '')
    .join('\t')
    .trimEnd();
}

function outcomeText(run: RunRow): string {
  const { status, error, withoutJob, releases, tableOf } = run;
  if (withoutJob) return withoutJobText(withoutJob);
  if (status === 'RUNNING') return 'running';
  if (status === 'SUCCEEDED' && tableOf !== null) return run.rows === null ? 'table, superseded' : 'table';
  if (lacksTable(run)) return `${releases === null ? fileText(run) : 'release'}, no table`;
  if (status === 'SUCCEEDED' && releases !== null) return 'release';
  if (status === null) return `${fileText(run)}*`;
  return status === 'SUCCEEDED' || isReleased(run) ? fileText(run) : plainLine(error ?? status);
}

/** Its file is published all the same. */
function lacksTable({ error, tableOf }: RunRow): boolean {
  return error === 'TableNotWritten' && tableOf === null;
}

/** What became of the file. */
function fileText(run: RunRow): string {
  if (run.state === 'quarantined') return isReleased(run) ? 'released' : 'FileQuarantined';
  if (run.state === 'unpublished') return 'stored';
  if (run.kind === 'partial') return 'published, partial';
  return run.unjudged ? UNJUDGED : 'published';
}

function isReleased({ state, standing, releases }: RunRow): boolean {
  return state === 'quarantined' && releases === null && (standing === 'latest' || standing === 'current');
}

const UNITS = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** `12h`, `7d`, `2w`, or a date, which means its beginning in UTC. @throws InvalidArgumentError for anything else */
export function sinceArgument(text: string, now: Date = new Date()): Date {
  const [, count, unit] = /^(\d{1,5})([hdw])$/.exec(text) ?? [];
  if (unit) return new Date(now.getTime() - Number(count) * UNITS[unit as keyof typeof UNITS]);
  if (!z.iso.date().safeParse(text).success) {
    throw new InvalidArgumentError(
      'A length of time such as 12h, 7d or 2w, or a date that exists, such as 2026-11-20.',
    );
  }
  const time = new Date(`${text}T00:00:00Z`);
  if (time <= now) return time;
  throw new InvalidArgumentError(`That date is still to come: now it is ${now.toISOString().slice(0, 16)} UTC.`);
}
