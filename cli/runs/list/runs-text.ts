import { bytesText, durationText, manyText, plainLine } from '../../support/text.ts';
import { fittedTable } from '../../support/text-table.ts';
import type { Tone } from '../run/outcomes.ts';
import { FORGOTTEN_AFTER_DAYS, type Run } from '../run/run.ts';
import { waitingText } from '../run/waiting.ts';
import { outcomeWord, painterOf, toneOf } from '../run/words.ts';

/** The runs for a person on a terminal, or a line for each elsewhere. */
export function runsText(
  runs: Run[],
  stream: { isTTY?: boolean; columns?: number },
  { since, failed, running = false }: { since: Date; failed: boolean; running?: boolean },
): string {
  if (!stream.isTTY) return runs.map(lineOf).join('\n');
  const from = `since ${since.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  if (runs.length === 0 && running) return 'No run is under way.';
  if (runs.length === 0) return failed ? `No run failed ${from}.` : `There is no run ${from}.`;
  const { lines, leftOut } = fittedTable(COLUMNS, runs.map(cellsOf), stream.columns ?? Number.POSITIVE_INFINITY);
  const painter = painterOf(stream);
  const rows = lines.map((line, index) => painter(toneAt(runs[index - 1]))(line));
  const forgotten = `* Step Functions forgets runs after ${FORGOTTEN_AFTER_DAYS} days: of these the manifest tells alone, and those that failed are not known.`;
  const notes = [
    ...(runs.some(({ status }) => status === null) ? [forgotten] : []),
    ...(leftOut.includes('standing') ? [] : legendOf(runs)),
    ...(leftOut.length > 0 ? [`No room for: ${leftOut.join(', ')}; --json has all.`] : []),
  ];
  return [...rows, ...notesOf(runs), ...(notes.length > 0 ? ['', ...notes] : [])].join('\n');
}

/** The heading of the table is painted as idle. */
function toneAt(run: Run | undefined): Tone {
  return run ? toneOf(run) : 'idle';
}

/** What the table has no room for. */
function notesOf(runs: Run[]): string[] {
  const notes = runs.flatMap(({ run, what, of, warningCount, changedColumns, waiting }) => [
    ...(what === 'release' ? [`${run}: releases ${of ?? ''}`] : []),
    ...(what === 'table' ? [`${run}: table of ${of ?? ''}`] : []),
    ...(waiting ? [`${run}: ${waitingText(waiting)}`] : []),
    ...(warningCount ? [`${run}: ${manyText(warningCount, 'warning')}, which show prints`] : []),
    ...(changedColumns ? [`${run}: ${manyText(changedColumns, 'column')} changed, which show names`] : []),
  ]);
  return notes.length === 0 ? [] : ['', ...notes.map((note) => `  ${plainLine(note)}`)];
}

const COLUMNS = [
  { name: 'started (UTC)' },
  { name: 'entity' },
  { name: 'date', optional: 3 },
  { name: 'outcome' },
  { name: 'took', optional: 5 },
  { name: 'rows', optional: 1 },
  { name: 'bytes', optional: 2 },
  { name: 'standing', heading: '', optional: 4 },
  { name: 'run' },
];

function cellsOf(run: Run): string[] {
  const { startedAt, entity, date, seconds, rows, bytes, standing } = run;
  return [
    startedAt.slice(0, 19).replace('T', ' '),
    entity ?? '?',
    date ?? '',
    markedOutcome(run),
    seconds === null ? '' : durationText(seconds),
    rows?.toLocaleString('en-US') ?? '',
    bytesText(bytes),
    standing === 'current' ? '' : (standing ?? ''),
    run.run,
  ];
}

function lineOf(run: Run): string {
  const { startedAt, entity, date, seconds, rows, bytes, standing } = run;
  const measures = [seconds, rows, bytes, standing, run.run, run.warningCount || null];
  const cells = [startedAt, entity, date, cellOf(run), ...measures, run.waiting && waitingText(run.waiting)];
  return cells
    .map((cell) => plainLine(String(cell ?? '')))
    .join('\t')
    .trimEnd();
}

/** The outcome, with a mark where only the manifest tells of the run. */
function cellOf(run: Run): string {
  return `${outcomeWord(run)}${run.status === null ? '*' : ''}`;
}

function markedOutcome(run: Run): string {
  return `${cellOf(run)}${run.warningCount ? ' (!)' : ''}`;
}

/** What the words of the column without a heading mean: a line for each that stands there. */
function legendOf(runs: Run[]): string[] {
  const words = {
    latest: 'latest: of the newest date, where readers begin.',
    superseded: 'superseded: a later run counts for its date.',
  };
  return Object.entries(words).flatMap(([word, text]) =>
    runs.some(({ standing }) => standing === word) ? [text] : [],
  );
}
