import type { Command } from 'commander';
import { driftTexts } from '../../../core/export/drift-words.ts';
import { commandFor, withExamples } from '../../support/command-options.ts';
import { connect, type TargetOptions } from '../../support/target.ts';
import { bytesText, colorsFor, durationText, manyText, plainLine } from '../../support/text.ts';
import { withoutJobText } from '../without-job.ts';
import type { Phase } from './history.ts';
import { readersText } from './readers.ts';
import { type ShownRun, showRun } from './show-run.ts';

/** Registers `show`, which changes nothing. */
export function addShow(command: Command): void {
  const described = command
    .argument('<run>', 'name or ARN of an execution, or an entity: its newest run')
    .option('--json', 'one JSON document')
    .action(async (run: string, options: TargetOptions & { json?: boolean }) => {
      const found = await showRun(await connect(options), run, options.endpointUrl ?? process.env.AWS_ENDPOINT_URL);
      const shown = { ...found, makeUp: found.makeUp && commandFor(found.makeUp, options) };
      const text = options.json ? JSON.stringify(shown) : shownText(shown, process.stdout);
      process.stdout.write(`${text}\n`);
    });
  withExamples(described, {
    'show leads --deployment prod': 'the newest run of leads',
    'show leads-20261120T020000Z-1a2b3c --json --deployment prod': 'a run by its name, for a program',
  });
}

/** A run for a person. */
export function shownText(shown: ShownRun, stream: { isTTY?: boolean }): string {
  const colors = colorsFor(stream);
  const good = shown.status === 'SUCCEEDED' || shown.status === null;
  const paint = good ? colors.green : shown.status === 'RUNNING' ? colors.cyan : colors.red;
  const times = shown.timeline.map(({ seconds }) => (seconds === null ? '' : durationText(seconds)));
  const width = Math.max(...times.map(({ length }) => length));
  const moments = shown.timeline.map(
    ({ at, text }, index) => `  ${colors.dim(at.slice(11, 19))}  ${times[index]?.padEnd(width)}  ${plainLine(text)}`,
  );
  return [
    paint(`${plainLine(shown.run)}: ${headOf(shown)}`),
    '',
    `  ${colors.dim(`${shown.startedAt.slice(0, 10)}, times in UTC`)}`,
    ...moments,
    ...failureOf(shown),
    ...shown.warnings.map((warning) => `\n  ${colors.yellow('Warning:')} ${plainLine(warning)}`),
    ...columnsOf(shown),
    ...comparedWith(shown),
    ...releaseOf(shown),
    '',
    ...placesOf(shown),
  ].join('\n');
}

function headOf(shown: ShownRun): string {
  const { entity, date, standing, rows, bytes } = shown;
  const what = [entity ?? 'no entity', date].filter(Boolean).join(' of ');
  const outcome = successOf(shown);
  if (outcome === undefined) return `${what}, ${otherwise(shown)}`;
  const size = [rows === null ? '' : manyText(rows, 'row'), bytesText(bytes)].filter(Boolean).join(', ');
  const standings = {
    latest: 'the latest',
    current: 'what counts for its date',
    superseded: 'superseded by a later run',
  };
  return [`${what}, ${outcome}`, size, standing && standings[standing]].filter(Boolean).join(', ');
}

/** What became of file or table; `undefined` where it came to none that counts. */
function successOf(shown: ShownRun): string | undefined {
  const { status, withoutJob, state, standing, releases } = shown;
  if (status === 'RUNNING' || withoutJob) return undefined;
  const ofTable = tableSuccessOf(shown);
  if (ofTable !== undefined) return ofTable;
  if (releases !== null && status === 'SUCCEEDED') return `released from quarantine: ${plainLine(releases)}`;
  if (state === 'quarantined')
    return standing === 'latest' || standing === 'current' ? 'quarantined, then released' : undefined;
  if (status !== 'SUCCEEDED' && status !== null) return undefined;
  return state === 'unpublished' ? 'stored, not published' : 'published';
}

/** Of an execution that is about a table alone, or that lacks its own. */
function tableSuccessOf({ status, error, table, tableOf }: ShownRun): string | undefined {
  if (error === 'TableNotWritten' && tableOf === null) return 'published, without its table';
  if (tableOf === null || status !== 'SUCCEEDED') return undefined;
  return table ? `the table of ${plainLine(tableOf)}` : 'no table: another run is published for the date';
}

function otherwise({ status, error, withoutJob, state }: ShownRun): string {
  if (status === 'RUNNING') return 'under way';
  if (withoutJob) return withoutJobText(withoutJob);
  return error ?? (state === 'quarantined' ? 'quarantined' : `${status}`);
}

/** Who released the file, and why. */
function releaseOf({ release, standing }: ShownRun): string[] {
  if (!release) return [];
  const { by, requestedAt, execution, reason, newNormal } = release;
  const who = by === null ? '' : ` by ${plainLine(by)}`;
  const when = requestedAt.slice(0, 16).replace('T', ' ');
  const mark = newNormal ? ' Guards compare with this file and later ones from then on.' : '';
  const done = standing === 'latest' || standing === 'current' ? 'Released' : 'Release requested';
  return [`\n  ${done}${who}, ${when} UTC (${plainLine(execution)}): "${plainLine(reason)}".${mark}`];
}

/** What the file was compared with, where a guard stopped it. */
function comparedWith({ state, guards }: ShownRun): string[] {
  if (state !== 'quarantined' || !guards || guards.comparedWith.length === 0) return [];
  const nights = guards.comparedWith.map(
    ({ date, rows }) => `${date} (${rows === null ? 'not counted' : manyText(rows, 'row')})`,
  );
  return [`  Compared with ${nights.join(', ')}.`];
}

function failureOf(shown: ShownRun): string[] {
  const { error, status, cause, runbook, readers, entity, date, makeUp } = shown;
  if (runbook === null) return [];
  const failure = `  ${plainLine(error ?? status ?? '')}: ${plainLine(cause ?? 'no cause was given.')}`;
  const have = readers && entity ? [`  ${plainLine(readersText(readers, entity, date))}`] : [];
  return ['', failure, `  Runbook: ${runbook}`, ...have, ...(makeUp ? [`  To make it up: ${makeUp}`] : [])];
}

/** Changes that no warning names: the configuration accepts them, or they are of labels. */
function columnsOf({ drift, warnings }: ShownRun): string[] {
  const texts = drift ? driftTexts(drift).filter((text) => !warnings.includes(text)) : [];
  return texts.map((text) => `\n  ${plainLine(text)}`);
}

const STEPS: Partial<Record<Phase, string>> = {
  create: 'CreateExport',
  check: 'CheckStatus',
  download: 'DownloadFile',
  publish: 'PublishFile',
  table: 'WriteTable',
};

/** The log of the step in which a run ended, or is. `--json` has all. */
function logOf({ status, timeline, links }: ShownRun): string[] {
  const step = STEPS[timeline.findLast(({ phase }) => phase in STEPS)?.phase ?? 'create'] ?? '';
  const url = links.logGroups[step];
  return status === 'SUCCEEDED' || status === null || !url ? [] : [`  Log of ${step}: ${url}`];
}

function placesOf(shown: ShownRun): string[] {
  const { files, links, executionArn, table } = shown;
  const { bucket, key, manifestKey, keptUntil } = files;
  const kept = keptUntil === null ? '' : ` (kept until ${keptUntil})`;
  return [
    ...(key === null ? [] : [`  File: s3://${bucket}/${plainLine(key)}${kept}`]),
    ...(manifestKey === null ? [] : [`  Manifest: s3://${bucket}/${plainLine(manifestKey)}`]),
    ...(table === null ? [] : [`  Table: s3://${bucket}/${plainLine(table.key)}`]),
    ...(executionArn === null ? [] : [`  Execution: ${links.execution ?? executionArn}`]),
    ...logOf(shown),
    ...(links.endpoint === null ? [] : [`  Local cloud: ${links.endpoint}`]),
  ];
}
