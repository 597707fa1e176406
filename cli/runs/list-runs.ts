import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { orUnknown } from '../support/aws-error.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { bytesText, countText, durationText, painterOf, printableLine, textTable } from '../support/text.ts';
import { lastEnteredState, waitingOf, waitingText } from './executions.ts';
import { executionsOf, type RunFilter } from './find-run.ts';
import { createPublished } from './published-runs.ts';
import { type Execution, outcomeText, outcomeWord, type Run, toneOf } from './run.ts';

/** Runs the command `list`, which changes nothing. */
export async function list(entities: Entity[] = [], options: Chosen & { json?: boolean }): Promise<void> {
  const target = await connect(options);
  const runs = await listRuns(target, { ...options, entities, warn: printErr });
  if (options.json) return printJson({ runs });
  const text = runsText(runs, process.stdout, options);
  if (text !== '') printOut(text);
}

type Chosen = TargetOptions & Pick<Wanted, 'since' | 'failed' | 'running'>;

/** The runs as a table on a terminal, or as one line each elsewhere. */
export function runsText(runs: Run[], stream: { isTTY?: boolean }, chosen: Chosen): string {
  const { since, failed, running, ...place } = chosen;
  if (!stream.isTTY) return runs.map(lineOf).join('\n');
  const from = `since ${since.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  if (runs.length === 0 && running) return 'No run is under way.';
  if (runs.length === 0) return failed ? `No run failed ${from}.` : `There is no run ${from}.`;
  const lines = textTable(COLUMNS, runs.map(cellsOf)).split('\n');
  const painter = painterOf(stream);
  const rows = lines.flatMap((line, index) => {
    const run = runs[index - 1];
    return [painter(run ? toneOf(run) : 'idle')(line), ...(run ? detailsOf(run, place) : [])];
  });
  return rows.join('\n');
}

/** The lines below the row of a run: with its name, a row is wider than most terminals. */
function detailsOf(run: Run, place: TargetOptions): string[] {
  const { waiting, warningCount, changedColumns, standing } = run;
  const facts = [durationText(run.seconds), bytesText(run.bytes), standing === 'current' ? '' : standing];
  const notes = [
    ...(warningCount ? [countText(warningCount, 'warning')] : []),
    ...(changedColumns ? [`${countText(changedColumns, 'column')} added, removed or of another type`] : []),
  ];
  const details = [
    `${run.run} (${facts.filter(Boolean).join(', ')})`,
    ...(run.of === null ? [] : [outcomeText(run)]),
    ...(waiting ? [waitingText(waiting)] : []),
    ...(notes.length > 0 ? [`${notes.join('; ')}: ${commandFor(`show ${quoted(run.run)}`, place)}`] : []),
  ];
  return details.map((detail) => `    ${printableLine(detail)}`);
}

const COLUMNS = ['started (UTC)', 'entity', 'date', 'outcome', 'rows'];

function cellsOf(run: Run): string[] {
  const { startedAt, entity, date, rows } = run;
  return [
    startedAt.slice(0, 16).replace('T', ' '),
    entity ?? '?',
    date ?? '',
    `${outcomeWord(run)}${run.warningCount ? ' (!)' : ''}`,
    rows?.toLocaleString('en-US') ?? '',
  ];
}

function lineOf(run: Run): string {
  const { startedAt, entity, date, seconds, rows, bytes, standing } = run;
  const measures = [seconds, rows, bytes, standing, run.run, run.warningCount || null];
  const cells = [startedAt, entity, date, outcomeWord(run), ...measures, run.waiting && waitingText(run.waiting)];
  return cells
    .map((cell) => printableLine(String(cell ?? '')))
    .join('\t')
    .trimEnd();
}

interface Wanted extends Pick<RunFilter, 'failed' | 'running'> {
  /** The entities whose runs are requested; an empty list means all. */
  entities: Entity[];
  since: Date;
  /** Called with a sentence for each part that cannot be read. */
  warn: (sentence: string) => void;
}

/** Runs from Step Functions combined with their manifests, newest first. */
export async function listRuns(target: Target, wanted: Wanted): Promise<Run[]> {
  const { since, failed, running, warn } = wanted;
  const entities = wanted.entities.length > 0 ? wanted.entities : [...ENTITIES];
  const published = createPublished(target, warn);
  const names = failed || running ? undefined : await published.since(entities, since);
  const executions: Execution[] = [];
  for await (const execution of executionsOf(target, { since, failed, running, published: names })) {
    const { entity } = execution.input;
    // A run whose input has no entity is left out only if entities were named.
    if (entity ? entities.includes(entity) : entities.length === ENTITIES.length) executions.push(execution);
  }
  return eachOf(executions, async (execution) => {
    const { status, name, executionArn } = execution;
    const reading = () => lastEnteredState(target.sfn, executionArn).then(waitingOf);
    const why = `The reason why ${name} waits is unknown`;
    const waiting = status === 'RUNNING' ? await orUnknown(reading(), warn, why) : null;
    return (await published.complete(execution, { waiting })).run;
  });
}
