import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import * as z from 'zod/mini';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { eachOf } from '../../../core/each-of.ts';
import { countChanges } from '../../../core/export/drift-words.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { parseJson } from '../../../core/json.ts';
import { dateIn } from '../../../core/schedule/local-time.ts';
import type { PublishedRun } from '../../data/manifests.ts';
import { isUnjudged } from '../../data/remarks.ts';
import { awsErrorText } from '../../support/aws-error.ts';
import type { Target } from '../../support/target.ts';
import { lastSeen } from '../executions.ts';
import { executionsOf, type FoundRun } from '../find-run.ts';
import { parseState, secondsBetween } from '../run-report.ts';
import { type Waiting, waitingOf } from '../waiting.ts';
import type { WithoutJob } from '../without-job.ts';
import { publishedOrNone, type RunWithStanding, type Standing } from './published-runs.ts';

/** Step Functions deletes an execution so long after its end. */
export const FORGOTTEN_AFTER_DAYS = 90;

/** One run as `list --json` prints it. What is not known is null. */
export interface RunRow {
  run: string;
  entity: Entity | null;
  /** The logical date. */
  date: string | null;
  /** Of Step Functions; null where only the manifest is left. */
  status: string | null;
  error: string | null;
  cause: string | null;
  startedAt: string;
  /** From start to end, or until now. */
  seconds: number | null;
  rows: number | null;
  bytes: number | null;
  standing: Standing;
  warningCount: number | null;
  /** Columns that came, went or have another type since the export before. */
  changedColumns: number | null;
  waiting: Waiting | null;
  /** Of a start by a rule that requested nothing: why. */
  withoutJob: WithoutJob | null;
  /** What the run did with its file, as its manifest says; a quarantined one is released where it has a standing. */
  state: Manifest['state'] | null;
  kind: Manifest['kind'] | null;
  /** Nobody has looked into the file: its columns and rows are not known. */
  unjudged: boolean;
  /** Of a release: the run whose file it publishes. */
  releases: string | null;
  /** Of an execution that only writes a table: the run whose file it is made of. Rows and bytes are those of the table. */
  tableOf: string | null;
}

interface Wanted {
  /** Empty: all. */
  entities: Entity[];
  since: Date;
  failed: boolean;
  running?: boolean;
  /** Starts that ended without a job too. */
  all?: boolean;
  /** Only the newest. */
  limit?: number | undefined;
  /** The zone in which a run gets its date. */
  timeZone: string;
  /** Called for what cannot be read. */
  warn: (sentence: string) => void;
}

type Machine = Pick<Target, 'sfn' | 'StateMachineArn'>;
type Place = Machine & Pick<Target, 's3' | 'BucketName'>;

/** Runs from Step Functions joined with their manifests, newest first. */
export async function listRuns(target: Place, wanted: Wanted): Promise<RunRow[]> {
  const entities = wanted.entities.length > 0 ? wanted.entities : [...ENTITIES];
  const published = wanted.failed || wanted.running ? new Map() : await publishedOrNone(target, entities, wanted);
  const executions = await foundRuns(target, entities, wanted, published);
  const rows = await eachOf(executions.slice(0, wanted.limit), (run) => rowOf(target, run, published, wanted));
  if (wanted.failed || wanted.running) return rows;
  const known = new Set(executions.map(({ name }) => name));
  const forgotten = [...published.values()].filter(({ manifest }) => !known.has(manifest.execution));
  // A manifest that was written within the time may be of a run that began before it.
  const within = forgotten.filter(({ manifest }) => new Date(manifest.startedAt) >= wanted.since);
  const all = [...rows, ...within.map(forgottenRow)].sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  return all.slice(0, wanted.limit);
}

interface Unpublished {
  /** Runs that failed or are under way, and those that succeeded and whose file is missing though it is not expired. */
  runs: RunRow[];
  /** Names of published runs whose table was not written, then or later. */
  withoutTable: string[];
}

/** What became of the runs that `published` does not tell of, and of their tables. */
export async function unpublishedRuns(
  target: Machine,
  published: PublishedRun[],
  { since, now, timeZone }: Pick<Wanted, 'since' | 'timeZone'> & { now: Date },
): Promise<Unpublished> {
  const counting = new Map(published.map((run) => [run.manifest.execution, run]));
  const executions = await foundRuns(target, [...ENTITIES], { since, failed: false }, counting);
  // A published run that succeeded has all that it was to have: it is not looked up.
  const others = executions.filter(({ name, status }) => !counting.has(name) || status === 'FAILED');
  const ends = await eachOf(others, async (run) => [{ run, ended: await endOf(target, run, timeZone) }]);
  const runs = ends.flat().flatMap(({ run, ended }) => {
    // None was to leave a file of its own that counts.
    const none = ended.releases !== null || ended.tableOf !== null || ended.outcome === 'UNPUBLISHED';
    if (counting.has(run.name) || none) return [];
    const expired = ended.keptUntil !== undefined && ended.keptUntil <= now.toISOString().slice(0, 10);
    if (run.status === 'SUCCEEDED' && expired) return [];
    // Its file was published after the published ones were read.
    const justNow = run.stopDate !== undefined && run.stopDate > now;
    return [rowWith(justNow ? { ...run, status: 'RUNNING' } : run, undefined, ended)];
  });
  return { runs, withoutTable: lackingTables(ends.flat()).filter((run) => counting.has(run)) };
}

/** Names of the runs whose table was not written, then or later. */
function lackingTables(ends: { run: FoundRun; ended: End }[]): string[] {
  const lacking = ends.filter(({ ended }) => ended.error === 'TableNotWritten');
  const written = new Set(
    ends.flatMap(({ ended: { table, tableOf } }) => (table && tableOf !== null ? [tableOf] : [])),
  );
  const names = lacking.map(({ run, ended: { tableOf, releases } }) => tableOf ?? releases ?? run.name);
  return [...new Set(names)].filter((name) => !written.has(name));
}

async function foundRuns(
  target: Machine,
  entities: Entity[],
  { since, failed, running, all, limit }: Pick<Wanted, 'since' | 'failed' | 'running' | 'all' | 'limit'>,
  published: Map<string, PublishedRun>,
): Promise<FoundRun[]> {
  const runs: FoundRun[] = [];
  const [entity] = entities.length === 1 ? entities : [];
  const known = new Map([...published].map(([name, { manifest }]) => [name, manifest.entity]));
  for await (const run of executionsOf(target, { since, failed, running, entity, known, withoutJob: all })) {
    // A run whose input has no entity is left out only if entities were named.
    if (run.entity ? entities.includes(run.entity) : entities.length === ENTITIES.length) runs.push(run);
    // All others are joined with manifests: a run that is not found would count as one that Step Functions has deleted.
    if ((failed || running) && runs.length === limit) return runs;
  }
  return runs;
}

/** Step Functions allows few such calls a second: only what is in no manifest is read there. */
async function rowOf(
  target: Machine,
  run: FoundRun,
  published: Map<string, RunWithStanding>,
  { timeZone, warn }: Wanted,
) {
  const found = published.get(run.name);
  const isKnown = run.status === 'SUCCEEDED' && !run.ofAnother;
  const ended = isKnown ? undefined : await endOf(target, run, timeZone);
  const row = rowWith(run, found ?? published.get(ended?.released?.run ?? ''), ended);
  return run.status === 'RUNNING' ? { ...row, waiting: await waitOf(target, run, warn) } : row;
}

async function waitOf({ sfn }: Machine, run: FoundRun, warn: Wanted['warn']): Promise<Waiting | null> {
  try {
    return waitingOf(await lastSeen(sfn, run.executionArn)) ?? null;
  } catch (error) {
    const trouble = awsErrorText(error);
    if (!trouble) throw error;
    warn(`Why ${run.name} waits is not shown: ${trouble}`);
    return null;
  }
}

function rowWith(run: FoundRun, found: RunWithStanding | undefined, ended: End | undefined): RunRow {
  const { file, date, warnings, state, kind } = found?.manifest ?? {};
  const { rows = null, bytes = null } = file ?? ended?.table ?? {};
  return {
    run: run.name,
    entity: run.entity ?? null,
    date: date ?? ended?.date ?? null,
    status: run.status,
    error: ended?.error ?? null,
    cause: ended?.cause ?? null,
    startedAt: run.startDate.toISOString(),
    seconds: secondsBetween(run.startDate, run.stopDate ?? new Date()),
    ...{ rows, bytes },
    standing: found?.standing ?? null,
    warningCount: warnings?.length ?? null,
    changedColumns: found?.manifest.drift ? countChanges(found.manifest.drift) : null,
    waiting: null,
    withoutJob: run.withoutJob ?? null,
    unjudged: isUnjudged(file),
    ...{ state: state ?? null, kind: kind ?? null, releases: ended?.releases ?? null },
    tableOf: ended?.tableOf ?? null,
  };
}

function forgottenRow({ manifest, standing }: RunWithStanding): RunRow {
  const { execution, entity, date, startedAt, file, warnings, drift, state, kind } = manifest;
  const known = { run: execution, entity, date, startedAt, rows: file.rows, bytes: file.bytes, standing };
  const unknown = { status: null, error: null, cause: null, seconds: null, waiting: null, withoutJob: null };
  const changedColumns = drift && countChanges(drift);
  return {
    ...known,
    ...unknown,
    warningCount: warnings.length,
    changedColumns,
    ...{ state, kind, unjudged: isUnjudged(file), releases: null, tableOf: null },
  };
}

const inputSchema = z.object({
  release: z.optional(z.string()),
  table: z.optional(z.object({ run: z.string() })),
  date: z.optional(z.iso.date()),
  scheduledFor: z.optional(z.iso.datetime({ offset: true })),
});

/** The date that CreateExport gives to a run. */
export function reckonedDate(input: string | undefined, startDate: Date, timeZone: string): string {
  const { date, scheduledFor } = parseJson(inputSchema, input) ?? {};
  return date ?? dateIn(timeZone, scheduledFor ? new Date(scheduledFor) : startDate);
}

type End = Awaited<ReturnType<typeof endOf>>;

/** What is known of a run without a manifest. */
async function endOf({ sfn }: Machine, run: FoundRun, timeZone: string) {
  const { executionArn } = run;
  const { input, output, error, cause } = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  const { run: made, released = null, table = null, outcome } = parseState(output) ?? {};
  const { release: releases = null, table: asked } = parseJson(inputSchema, input) ?? {};
  const reckoned = asked ? null : reckonedDate(input, run.startDate, timeZone);
  const date = made?.date ?? released?.date ?? table?.date ?? reckoned;
  const tableOf = asked?.run ?? null;
  const { keptUntil } = made ?? {};
  return {
    error,
    cause,
    date,
    keptUntil,
    outcome,
    released,
    releases,
    tableOf,
    table: tableOf === null ? null : table,
  };
}
