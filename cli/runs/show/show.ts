import type { Command } from 'commander';
import { driftTexts } from '../../../core/columns/changes.ts';
import { failedChecks } from '../../../core/gate/report.ts';
import { commandFor, withExamples } from '../../support/command-options.ts';
import { completed } from '../../support/completed.ts';
import { printJson, printOut } from '../../support/print.ts';
import { connect, type TargetOptions } from '../../support/target.ts';
import { colorsFor, durationText, manyText, plainLine } from '../../support/text.ts';
import { failureText, headText, painterOf, readersText, toneOf } from '../run/words.ts';
import { withRun } from '../run-names.ts';
import type { Phase } from './history.ts';
import { type ShownRun, showRun } from './show-run.ts';

/** Registers `show`, which changes nothing. */
export function addShow(command: Command): void {
  const described = withRun(command)
    .option('--json', 'one JSON document')
    .action(async (run: string, options: TargetOptions & { date?: string; json?: boolean }) => {
      const endpoint = options.endpointUrl ?? process.env.AWS_ENDPOINT_URL;
      const found = await showRun(await connect(options), run, endpoint, options.date);
      const shown = { ...found, makeUp: found.makeUp && commandFor(found.makeUp, options) };
      if (options.json) printJson(shown);
      else printOut(shownText({ ...shown, cause: found.cause && completed(found.cause, options) }, process.stdout));
    });
  withExamples(described, {
    'show leads --deployment prod': 'the newest run of leads',
    'show leads --date 2026-11-20 --deployment prod': 'its newest run for a date',
    'show 1a2b3c --deployment prod': 'the run whose name ends so',
    'show leads-20261120T020000Z-1a2b3c --json --deployment prod': 'a run by its name, for a program',
  });
}

/** A run for a person. */
export function shownText(shown: ShownRun, stream: { isTTY?: boolean }): string {
  const colors = colorsFor(stream);
  const paint = painterOf(stream)(toneOf(shown));
  const times = shown.timeline.map(({ seconds }) => (seconds === null ? '' : durationText(seconds)));
  const width = Math.max(...times.map(({ length }) => length));
  const moments = shown.timeline.map(
    ({ at, text }, index) => `  ${colors.dim(at.slice(11, 19))}  ${times[index]?.padEnd(width)}  ${plainLine(text)}`,
  );
  return [
    paint(plainLine(`${shown.run}: ${headText(shown)}`)),
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

/** Who released the file, and why. */
function releaseOf({ release, standing }: ShownRun): string[] {
  if (!release) return [];
  const { by, requestedAt, execution, reason, newNormal } = release;
  const who = by === null ? '' : ` by ${by}`;
  const when = requestedAt.slice(0, 16).replace('T', ' ');
  const mark = newNormal ? ' Guards compare with this file and later ones from then on.' : '';
  const done = standing === 'latest' || standing === 'current' ? 'Released' : 'Release requested';
  return [`\n  ${plainLine(`${done}${who}, ${when} UTC (${execution}): "${reason}".${mark}`)}`];
}

const NOTHING_TO_COMPARE_WITH = 'There is no earlier published export with the same plan to compare this file with.';

/** What the file was compared with, where a check stopped it; of a file of a new plan, that there was nothing. */
function comparedWith({ guards }: ShownRun): string[] {
  if (guards?.comparedWith.length === 0) return [`\n  ${NOTHING_TO_COMPARE_WITH}`];
  if (!guards || failedChecks(guards).length === 0) return [];
  const nights = guards.comparedWith.map(
    ({ date, rows }) => `${date} (${rows === null ? 'not counted' : manyText(rows, 'row')})`,
  );
  return [`  ${plainLine(`Compared with ${nights.join(', ')}.`)}`];
}

function failureOf(shown: ShownRun): string[] {
  const { runbook, readers, entity, date, makeUp } = shown;
  if (runbook === null) return [];
  const have = readers && entity ? [readersText(readers, entity, date)] : [];
  const command = makeUp ? [`To make it up: ${makeUp}`] : [];
  return [
    '',
    ...[failureText(shown), `Runbook: ${runbook}`, ...have, ...command].map((line) => `  ${plainLine(line)}`),
  ];
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
  changes: 'WriteChanges',
};

/** The log of the step in which a run ended, or is. `--json` has all. */
function logOf({ status, timeline, links }: ShownRun): string[] {
  const step = STEPS[timeline.findLast(({ phase }) => phase in STEPS)?.phase ?? 'create'] ?? '';
  const url = links.logGroups[step];
  return status === 'SUCCEEDED' || status === null || !url ? [] : [`Log of ${step}: ${url}`];
}

function placesOf(shown: ShownRun): string[] {
  const { bucket, key, manifestKey, keptUntil, links, executionArn, table } = shown;
  const kept = keptUntil === null ? '' : ` (kept until ${keptUntil})`;
  const places = [
    ...(key === null ? [] : [`File: s3://${bucket}/${key}${kept}`]),
    ...(manifestKey === null ? [] : [`Manifest: s3://${bucket}/${manifestKey}`]),
    ...(table === null ? [] : [`Table: s3://${bucket}/${table.key}`]),
    ...(executionArn === null ? [] : [`Execution: ${links.execution ?? executionArn}`]),
    ...logOf(shown),
    ...(links.endpoint === null ? [] : [`Local cloud: ${links.endpoint}`]),
  ];
  return places.map((place) => `  ${plainLine(place)}`);
}
