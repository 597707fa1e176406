import type { DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import * as z from 'zod/mini';
import { countChanges } from '../../core/columns/column-changes.ts';
import type { Entity } from '../../core/config/entities.ts';
import { entitySchema } from '../../core/config/entity-schema.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { manifestKeyOf } from '../../core/export/pointer.ts';
import { jsonOrUndefined, parseJson } from '../../core/json.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { failedOnPurpose, isOfVerify } from '../../core/step/run-input.ts';
import { kindSchema, type RunState, runStateSchema, tableSchema } from '../../core/step/states.ts';
import { isUnjudged } from '../data/stored-manifests.ts';
import { bytesText, countText, printableLine, type Tone } from '../support/text.ts';

const good = (word: string) => ({ word, tone: 'good' }) as const;
const idle = (word: string) => ({ word, tone: 'idle' }) as const;
const bad = (word: string) => ({ word, tone: 'bad' }) as const;

/**
 * The possible outcomes of a run, with the word for the column of a table. `bad`: a
 * person has to act, unless a later run was published.
 */
export const OUTCOMES = {
  running: { word: 'under way', tone: 'open' },
  published: good('published'),
  /** The file is stored but not published, because its plan is not the configured one. */
  stored: good('stored'),
  /** A check stopped the file, and a person released it. */
  released: good('released'),
  /** This execution released the file of another run. */
  release: good('release'),
  table: good('table'),
  applied: good('applied'),
  /** `verify` started the run with an input that every run refuses. */
  onPurpose: idle('failed on purpose'),
  /** Another run is published for the date, so the table is not written. */
  replaced: idle('table, superseded'),
  /** A rule started the execution, but it requested no export. It does not count as a run. */
  notDue: idle('not due'),
  alreadyStarted: idle('already started'),
  /** The file is published, but its table is not written. */
  withoutTable: bad('no table'),
  quarantined: bad('FileQuarantined'),
  /** The error of the run, or the status of its execution, replaces this word. */
  failed: bad('failed'),
} satisfies Record<string, { word: string; tone: Tone }>;

export type Outcome = keyof typeof OUTCOMES;
export const OUTCOME_NAMES = Object.keys(OUTCOMES) as [Outcome, ...Outcome[]];

/** An invalid value counts as missing, so that a run with any input can be shown. */
const valid = <T extends z.core.SomeType>(schema: T) => z.catch(z.optional(schema), undefined);

const inputSchema = z.object({
  entity: valid(entitySchema),
  date: valid(z.string()),
  scheduledFor: valid(z.string()),
  /** The failed run whose export this run adopts. */
  adopt: valid(z.string()),
  release: valid(z.string()),
  table: valid(z.object({ run: z.string() })),
  file: valid(z.string()),
});
const jsonSchema = z.catch(z.record(z.string(), z.unknown()), {});

/** The input of an execution as commands read it. The functions use their own strict schemas. */
export type RunInput = ReturnType<typeof readInput>;

/** @param input an object, or its JSON text from Step Functions */
export function readInput(input: unknown) {
  const json = jsonSchema.parse(typeof input === 'string' ? jsonOrUndefined(input) : input);
  const { release, table, file, ...common } = inputSchema.parse(json);
  const batch = /^updates\/([^/]+)\/input\.jsonl$/.exec(file ?? '')?.[1];
  const other = batch === undefined ? 'export' : 'update';
  const what: Run['what'] = 'table' in json ? 'table' : 'release' in json ? 'release' : other;
  return {
    ...common,
    what,
    /** The run whose file is released or converted into a table; or the batch. */
    of: table?.run ?? release ?? batch,
    json,
  };
}

const standingSchema = z.nullable(z.enum(['latest', 'current', 'superseded']));
export type Standing = z.infer<typeof standingSchema>;

const publishedDateSchema = z.object({ date: z.iso.date(), run: z.string() });
const readersSchema = z.object({
  ofDate: z.nullable(publishedDateSchema).check(z.describe('The published file for the date of the run.')),
  latest: z.nullable(publishedDateSchema),
});
export type Readers = z.infer<typeof readersSchema>;

const waitingSchema = z.object({
  state: z.string(),
  checks: z.int().check(z.describe('Status checks that the CRM answered.')),
  trouble: z
    .nullable(z.object({ error: z.string(), status: z.nullable(z.int()), count: z.int() }))
    .check(z.describe('Consecutive errors so far; null if the CRM only needs more time.')),
  nextTryAt: z.iso.datetime(),
  deadline: z.nullable(z.iso.datetime()).check(z.describe('When the run gives up; null if the state has no time.')),
});
export type Waiting = z.infer<typeof waitingSchema>;

/** A run as every command uses it and as `--json` prints it. Unknown values are null. */
export const runSchema = z.object({
  run: z.string().check(z.describe('Name of the execution.')),
  executionArn: z
    .nullable(z.string())
    .check(z.describe('null for a batch whose execution Step Functions has deleted.')),
  what: z
    .enum(['export', 'release', 'table', 'update'])
    .check(z.describe('export, release: publish a file. table: writes a table. update: sends a batch of updates.')),
  byVerify: z.boolean().check(z.describe('Whether `verify` started the run to test the deployment.')),
  of: z
    .nullable(z.string())
    .check(z.describe('The run whose file is released or gets a table. For an update: the batch.')),
  entity: z.nullable(entitySchema),
  date: z.nullable(z.iso.date()).check(z.describe('The date of the run.')),
  outcome: z.enum(OUTCOME_NAMES).check(z.describe('How the run ended, or the progress of the run.')),
  needsPerson: z.boolean().check(z.describe('Whether a person has to act.')),
  status: z
    .nullable(z.string())
    .check(z.describe('The status of the execution; null if Step Functions has deleted it.')),
  error: z.nullable(z.string()),
  cause: z.nullable(z.string()),
  startedAt: z.iso.datetime(),
  endedAt: z.nullable(z.iso.datetime()),
  seconds: z.number().check(z.describe('From start to end, or until now.')),
  waiting: z.nullable(waitingSchema).check(z.describe('Why the run waits, and until when.')),
  startedBy: z
    .nullable(z.string())
    .check(z.describe('The execution that already handles the same start of the rule; null for any other run.')),
  standing: standingSchema.check(
    z.describe(
      'latest: the pointer of the newest date names the run. current: only the pointer of its own date does. superseded: a later run replaced it. null: no pointer has named it.',
    ),
  ),
  readers: z.nullable(readersSchema).check(z.describe('If the run failed: the files that readers have instead.')),
  kind: z.nullable(kindSchema).check(z.describe('full, window or partial, as in the manifest.')),
  differs: z.array(z.string()).check(z.describe('Keys by which the plan of the run differs from the configured plan.')),
  exportId: z.nullable(z.string()),
  checks: z.nullable(z.int()).check(z.describe('How often the run read the status of the export.')),
  rows: z.nullable(z.int()).check(z.describe('Rows of the file, or of the table if only a table was written.')),
  bytes: z.nullable(z.int()).check(z.describe('Bytes of the file, or of the table if only a table was written.')),
  key: z.nullable(z.string()).check(z.describe('Key of the file in the bucket.')),
  manifestKey: z.nullable(z.string()),
  keptUntil: z.nullable(z.iso.date()).check(z.describe('From this day on, lifecycle rules may remove the objects.')),
  warningCount: z.nullable(z.int()).check(z.describe('Warnings in the manifest.')),
  changedColumns: z
    .nullable(z.int())
    .check(z.describe('Columns that were added, were removed or have another type since the previous export.')),
  unjudged: z
    .boolean()
    .check(z.describe('The file was published without being checked: its columns and rows are unknown.')),
  table: z.nullable(tableSchema).check(z.describe('The table that was written.')),
});
export type Run = z.infer<typeof runSchema>;

/** An execution of a state machine, as Step Functions describes it. */
export type Execution = ReturnType<typeof executionOf>;

/**
 * @param described the answer of DescribeExecution, or as much of it as is known
 * @returns the execution, with the text of its output if it has succeeded
 */
export function executionOf(described: Partial<DescribeExecutionOutput>) {
  const { executionArn = '', status = 'RUNNING', startDate = new Date(0), stopDate, output } = described;
  const { name = executionArn.split(':').at(-1) ?? '', input, error = null, cause = null } = described;
  return { executionArn, name, status, startDate, stopDate, input: readInput(input), output, error, cause };
}

export interface RunContext {
  /** The last state data, for an execution without output. */
  state?: RunState | undefined;
  published?: Manifest | undefined;
  /** Which pointers name the manifest in `published`. */
  standing?: Standing | undefined;
  readers?: Readers | undefined;
  waiting?: Waiting | null;
  /** The time zone for the date of a run, if its state has no date. */
  timeZone?: string | undefined;
}

/** The state data in an event of the history, or `undefined` before the first step has written it. */
export function parseState(text: string | undefined): RunState | undefined {
  return parseJson(runStateSchema, text);
}

/** A run from its execution and the other known facts. */
export function runOf(execution: Execution, context: RunContext = {}): Run {
  const { name, executionArn, status, startDate, stopDate, input, error, cause } = execution;
  const { published, standing = null, readers = null, waiting = null } = context;
  const state = parseState(execution.output) ?? context.state;
  const outcome = failedOnPurpose(input.json, error) ? 'onPurpose' : outcomeOf(execution, state, context);
  return {
    run: name,
    executionArn,
    what: input.what,
    byVerify: isOfVerify(name, input.json),
    of: input.of ?? null,
    entity: input.entity ?? null,
    date: dateOf(state, published) ?? reckonedDate(input, startDate, context.timeZone) ?? null,
    outcome,
    needsPerson: needsPerson(outcome, readers, [name, input.of]),
    status,
    error,
    cause,
    startedAt: startDate.toISOString(),
    endedAt: stopDate?.toISOString() ?? null,
    seconds: secondsBetween(startDate, stopDate ?? new Date()),
    waiting,
    startedBy: state?.startedBy ?? null,
    standing: standing ?? (outcome === 'release' ? (state?.released?.latest ? 'latest' : 'current') : null),
    readers,
    ...fileOf(input.what, state, published),
  };
}

/** Whether a nightly rule started the execution without requesting an export. Commands never do this. */
export function hasNoExport({ outcome }: Run): boolean {
  return outcome === 'notDue' || outcome === 'alreadyStarted';
}

function outcomeOf(execution: Execution, state: RunState | undefined, context: RunContext): Outcome {
  const { status, error, input } = execution;
  if (status === 'RUNNING') return 'running';
  if (error === 'TableNotWritten' && input.what !== 'table') return 'withoutTable';
  if (input.what === 'export') return exportOutcome(execution, state, context);
  if (status !== 'SUCCEEDED') return 'failed';
  if (input.what === 'table') return state?.table ? 'table' : 'replaced';
  return input.what === 'update' ? 'applied' : 'release';
}

function exportOutcome(
  { status, error }: Execution,
  state: RunState | undefined,
  { published, standing = null }: RunContext,
): Outcome {
  const file = published && fileStateOf(published, standing);
  if (file === 'released') return file;
  if (file === 'quarantined' || error === 'FileQuarantined') return 'quarantined';
  if (status !== 'SUCCEEDED') return 'failed';
  if (state?.outcome === 'NOT_DUE') return 'notDue';
  if (state?.outcome === 'ALREADY_STARTED') return 'alreadyStarted';
  return file === 'unpublished' || state?.outcome === 'UNPUBLISHED' ? 'stored' : 'published';
}

/** The state in the manifest; `released` if a pointer names a file that a check stopped. */
export type FileState = Manifest['state'] | 'released';

export function fileStateOf({ state }: Pick<Manifest, 'state'>, standing: Standing): FileState {
  return state === 'quarantined' && (standing === 'latest' || standing === 'current') ? 'released' : state;
}

/** Whether a person has to act. If another run is published for the date, no action is needed. */
function needsPerson(outcome: Outcome, readers: Readers | null, own: (string | undefined)[]): boolean {
  const ofDate = readers?.ofDate?.run;
  return OUTCOMES[outcome].tone === 'bad' && (ofDate === undefined || own.includes(ofDate));
}

function dateOf(state: RunState | undefined, published: Manifest | undefined): string | undefined {
  const { run, released, table, date } = state ?? {};
  return published?.run.date ?? (run ?? released ?? table)?.date ?? date ?? undefined;
}

/**
 * The date that CreateExport would give to this run; `undefined` for a run that does not export, which has the date of
 * its file.
 */
function reckonedDate(input: RunInput, startDate: Date, timeZone: string | undefined): string | undefined {
  if (input.what !== 'export' || timeZone === undefined) return undefined;
  if (z.iso.date().safeParse(input.date).success) return input.date;
  const due = z.iso.datetime({ offset: true }).safeParse(input.scheduledFor).data;
  return dateIn(timeZone, due === undefined ? startDate : new Date(due));
}

function fileOf(what: Run['what'], state: RunState | undefined, manifest: Manifest | undefined) {
  const { file, table = null } = state ?? {};
  const { kind = null, differs = [], exportId = null, keptUntil = null } = manifest?.run ?? state?.run ?? {};
  const { rows, bytes } = (what === 'table' ? table : manifest?.file) ?? {};
  return {
    kind,
    differs,
    exportId,
    checks: (manifest ?? state)?.checks ?? null,
    rows: state?.rows ?? rows ?? null,
    bytes: file?.bytes ?? bytes ?? null,
    key: manifest?.file.key ?? file?.key ?? null,
    manifestKey: manifest ? manifestKeyOf(manifest.run.entity, manifest.execution) : (state?.manifestKey ?? null),
    keptUntil,
    warningCount: manifest?.warnings.length ?? state?.warningCount ?? null,
    changedColumns: manifest?.run.drift ? countChanges(manifest.run.drift) : null,
    unjudged: isUnjudged(manifest?.file),
    table,
  };
}

export function secondsBetween(start: Date | undefined, end: Date): number {
  return start ? Math.max(0, Math.round((end.getTime() - start.getTime()) / 100) / 10) : 0;
}

/**
 * The outcome of a run for the column of a table: `published`, `published, partial`, `published, by verify`,
 * `ExportFailed`.
 */
export function outcomeWord(run: Run): string {
  return run.byVerify ? `${wordOf(run)}, by verify` : wordOf(run);
}

function wordOf({ what, outcome, error, status, kind, unjudged }: Run): string {
  const { word } = OUTCOMES[outcome];
  if (outcome === 'failed') return printableLine(error ?? status ?? word);
  const file = what === 'release' ? OUTCOMES.release.word : OUTCOMES.published.word;
  const whole = [file, kind === 'partial' && 'partial', unjudged && 'unjudged'].filter(Boolean).join(', ');
  if (outcome === 'withoutTable') return `${whole}, ${word}`;
  return outcome === 'published' ? whole : word;
}

/** The outcome for a line: its word, and the run or the reason that belongs to it. */
export function outcomeText(run: Run): string {
  const { outcome, what, of, startedBy } = run;
  const word = outcomeWord(run);
  if (outcome === 'notDue') return `${word}: another start of the rule exports this date`;
  if (outcome === 'alreadyStarted')
    return `${word}: ${printableLine(startedBy ?? 'another execution')} handles this start of the rule`;
  if (of === null) return word;
  const about = `${what} of ${printableLine(of)}`;
  return word.startsWith(what) ? word.replace(what, () => about) : `${word}, ${about}`;
}

const STANDINGS = {
  latest: 'the latest',
  current: 'the published file of its date',
  superseded: 'superseded by a later run',
};

/** Outcomes with the size of a file or table. */
const MEASURED = new Set<Run['outcome']>(['published', 'stored', 'released', 'release', 'table', 'withoutTable']);

/** A line: `leads of 2026-11-20, published, 1,240 rows, 80.1 kB, the latest`. */
export function headText(run: Run): string {
  const { entity, date, standing, rows, bytes, outcome } = run;
  const what = [entity ?? 'no entity', date].filter(Boolean).join(' of ');
  if (!MEASURED.has(outcome)) return `${what}, ${outcomeText(run)}`;
  const size = [rows === null ? 'rows not counted' : countText(rows, 'row'), bytesText(bytes)];
  return [what, outcomeText(run), ...size, standing && STANDINGS[standing]].filter(Boolean).join(', ');
}

/** `ExportFailed: The CRM reported it as failed.` */
export function failureText({ error, status, cause }: Pick<Run, 'error' | 'status' | 'cause'>): string {
  return `${printableLine(error ?? status ?? '')}: ${printableLine(cause ?? 'no cause is recorded.')}`;
}

export function readersText({ ofDate, latest }: Readers, entity: Entity, date: string | null): string {
  if (ofDate) return `Readers have ${entity} of ${ofDate.date}, from the run ${printableLine(ofDate.run)}.`;
  if (!latest) return `Readers have no file of ${entity}.`;
  const still = `still have ${entity} of ${latest.date}, from the run ${printableLine(latest.run)}.`;
  return date === null ? `Readers ${still}` : `Readers have no ${entity} of ${date}. They ${still}`;
}

/** The tone of a run: the tone of its outcome, unless a later run replaced the run or the run has warnings. */
export function toneOf({ outcome, standing, warningCount }: Pick<Run, 'outcome' | 'standing' | 'warningCount'>): Tone {
  const { tone } = OUTCOMES[outcome];
  if (standing === 'superseded') return 'idle';
  return tone === 'good' && warningCount ? 'warned' : tone;
}
