import type { DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import * as z from 'zod/mini';
import { countChanges } from '../../core/columns/column-changes.ts';
import { entitySchema } from '../../core/config/entity-schema.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { manifestKeyOf } from '../../core/export/pointer.ts';
import { jsonOrUndefined, parseJson } from '../../core/json.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { failedOnPurpose, isOfVerify } from '../../core/step/run-input.ts';
import { kindSchema, type RunState, runStateSchema, tableSchema } from '../../core/step/states.ts';
import { isUnjudged } from '../data/stored-manifests.ts';

/** The colour of an outcome. The output always shows the word of the outcome too. */
export type Tone = 'good' | 'warned' | 'bad' | 'open' | 'idle' | 'unknown';

const good = (word: string) => ({ word, tone: 'good' }) as const;
const idle = (word: string) => ({ word, tone: 'idle' }) as const;
const bad = (word: string) => ({ word, tone: 'bad' }) as const;

/**
 * The possible outcomes of a run, with the word for the column of a table; `run-words.ts` has the sentences. `bad`: a
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
    /** The whole input. */
    json,
  };
}

const standingSchema = z.nullable(z.enum(['latest', 'current', 'superseded']));
export type Standing = z.infer<typeof standingSchema>;

const publishedDateSchema = z.object({ date: z.iso.date(), run: z.string() });
const readersSchema = z.object({
  ofDate: z.nullable(publishedDateSchema).check(z.describe('What is published for the date of the run.')),
  latest: z.nullable(publishedDateSchema),
});
/** The published runs, shown for a failed run. */
export type Readers = z.infer<typeof readersSchema>;

/** Why a run waits, and until when. */
const waitingSchema = z.object({
  state: z.string(),
  checks: z.int().check(z.describe('Status checks that the CRM answered.')),
  trouble: z
    .nullable(z.object({ error: z.string(), status: z.nullable(z.int()), count: z.int() }))
    .check(z.describe('Consecutive errors so far; null if the CRM only needs more time.')),
  nextTryAt: z.iso.datetime(),
  deadline: z.nullable(z.iso.datetime()).check(z.describe('When the run gives up; null if its state does not say so.')),
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
  byVerify: z.boolean().check(z.describe('Whether `verify` started it to test the deployment.')),
  of: z
    .nullable(z.string())
    .check(z.describe('The run whose file is released, or gets its table; of an update, the batch.')),
  entity: z.nullable(entitySchema),
  date: z.nullable(z.iso.date()).check(z.describe('The logical date.')),
  outcome: z.enum(OUTCOME_NAMES).check(z.describe('How it ended, or its progress.')),
  needsPerson: z.boolean().check(z.describe('Whether a person has to act.')),
  status: z
    .nullable(z.string())
    .check(z.describe('The status of the execution; null if Step Functions has deleted it.')),
  error: z.nullable(z.string()),
  cause: z.nullable(z.string()),
  startedAt: z.iso.datetime(),
  endedAt: z.nullable(z.iso.datetime()),
  seconds: z.number().check(z.describe('From start to end, or until now.')),
  waiting: z.nullable(waitingSchema).check(z.describe('Why it waits, and until when.')),
  startedBy: z
    .nullable(z.string())
    .check(z.describe('The execution that already handles the same start of the rule; null for any other run.')),
  standing: standingSchema.check(
    z.describe(
      'Whether the pointer of the newest date names it, or only that of its own date, or a later run replaced it; null if no pointer has named it.',
    ),
  ),
  readers: z.nullable(readersSchema).check(z.describe('What readers have, if the run failed.')),
  kind: z.nullable(kindSchema).check(z.describe('As in the manifest.')),
  differs: z.array(z.string()).check(z.describe('Keys by which its plan differs from the configured one.')),
  exportId: z.nullable(z.string()),
  checks: z.nullable(z.int()).check(z.describe('How often the run read the status of the export.')),
  rows: z.nullable(z.int()).check(z.describe('Of the file; of the table, if only a table was written.')),
  bytes: z.nullable(z.int()).check(z.describe('The same.')),
  key: z.nullable(z.string()).check(z.describe('Of the file in the bucket.')),
  manifestKey: z.nullable(z.string()),
  keptUntil: z.nullable(z.iso.date()).check(z.describe('The lifecycle rules may remove its objects from this day on.')),
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
 * @returns with the text of the output, if the execution has ended well
 */
export function executionOf(described: Partial<DescribeExecutionOutput>) {
  const { executionArn = '', status = 'RUNNING', startDate = new Date(0), stopDate, output } = described;
  const { name = executionArn.split(':').at(-1) ?? '', input, error = null, cause = null } = described;
  return { executionArn, name, status, startDate, stopDate, input: readInput(input), output, error, cause };
}

/** Facts about a run besides its execution. */
export interface RunContext {
  /** The last state data, for an execution without output. */
  state?: RunState | undefined;
  /** The manifest of its file. */
  published?: Manifest | undefined;
  /** By the pointers, where `published` is known. */
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

/** As in the manifest; `released`: a check stopped the file, and a pointer names it. */
export type FileState = Manifest['state'] | 'released';

export function fileStateOf({ state }: Pick<Manifest, 'state'>, standing: Standing): FileState {
  return state === 'quarantined' && (standing === 'latest' || standing === 'current') ? 'released' : state;
}

/** Whether a person has to act: not if another run is published for the date. */
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
