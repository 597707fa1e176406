import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunColumns } from '../../core/columns/left-out.ts';
import type { EntityPlan } from '../../core/config/entity-settings.ts';
import { settingsDigest } from '../../core/config/settings-digest.ts';
import type { TableSettings } from '../../core/config/table-settings.ts';
import { RunError } from '../../core/errors.ts';
import { type Manifest, readManifest } from '../../core/export/manifest.ts';
import { datePointerKey, latestPointerKey, manifestKeyOf, readPointer } from '../../core/export/pointer.ts';
import { freeDisk } from '../../core/file/reading-limits.ts';
import { tableValue } from '../../core/readers/reader-access.ts';
import type { Answer } from '../../core/step/export-run.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import { objectSource } from '../../core/storage/read-object.ts';
import type { UploadBucket } from '../../core/storage/upload.ts';
import { inFolder } from '../../core/table/engine.ts';
import { afterTrouble, refuseLate } from '../../core/table/not-written.ts';
import { asMetadata, tableKey, tableOfRun } from '../../core/table/stored-table.ts';
import { hiddenColumns, hidesAny } from '../../core/table/table-columns.ts';
import { TableError } from '../../core/table/table-error.ts';
import { tableIdentity } from '../../core/table/table-identity.ts';
import { noTableReason, notConfiguredText, parseTableInput, tableRunOf } from '../../core/table/table-run.ts';
import { type WrittenTable, writeParquet } from '../../core/table/write-parquet.ts';

export interface WriteTableDeps extends Invocation {
  bucket: UploadBucket;
  hashKey: () => Promise<string>;
}

/** The part of the function's memory for DuckDB's buffers. A wide table reserves more than it uses. */
const SHARE_OF_BUFFERS = 0.75;

/** The source, settings and key of a table. */
interface Subject {
  manifest: Manifest;
  /** The plan of the entity as it is configured today. */
  plan: EntityPlan;
  settings: TableSettings;
  key: string;
}

/**
 * Writes the table of a published file with the settings of its entity. If the pointer of the date names another run,
 * before or after the write, that run writes the table.
 */
export async function writeTable(state: RunState, deps: WriteTableDeps): Promise<Answer<'WriteTable'>> {
  try {
    const subject = await subjectOf(state, deps);
    // A feed may be due even without a table of this run, because any run finishes an unfinished feed.
    const due = subject.plan.changes && ({ outcome: 'CHANGES_DUE' } as const);
    if (!(await isDue(subject.manifest, deps))) return { outcome: 'SUPERSEDED', ...due };
    return { ...(await replaceTable(subject, deps)), ...due };
  } catch (error) {
    return afterTrouble(error, state, deps, {
      name: 'TableNotWritten',
      what: `The table of the run ${tableRunOf(state)}`,
    });
  }
}

/** @throws RunError `InvalidInput` if a person asked for a table that cannot be made; TableError */
async function subjectOf(state: RunState, deps: WriteTableDeps): Promise<Subject> {
  const isAsked = state.manifestKey === null;
  const refused = (why: string) => (isAsked ? new RunError('InvalidInput', why) : new TableError(why));
  const key = state.manifestKey ?? manifestKeyOf(parseTableInput(state.input).entity, tableRunOf(state));
  const manifest = await readManifest(deps.bucket, key);
  const why = isAsked ? await whyNot(tableRunOf(state), manifest, deps) : undefined;
  if (!manifest || why !== undefined) throw refused(why ?? `The manifest of the file is missing: ${key}.`);
  const { entity, date } = manifest.run;
  const plan = deps.deployment.entities[entity];
  if (!plan.tables) throw refused(notConfiguredText(entity));
  return { manifest, plan, settings: plan.tables, key: tableKey(entity, date, plan.tables.version) };
}

/** Why the file of a run gets no table; `undefined` if it gets one. */
async function whyNot(run: string, manifest: Manifest | undefined, { bucket }: WriteTableDeps) {
  const named = manifest && (await readPointer(bucket, datePointerKey(manifest.run.entity, manifest.run.date)));
  return noTableReason(run, manifest, named?.run);
}

const isDue = async (manifest: Manifest, deps: WriteTableDeps) =>
  (await whyNot(manifest.execution, manifest, deps)) === undefined;

/** Replaces the table if the pointer still names the run, and if the table was not changed in the meantime. */
async function replaceTable(
  { manifest, plan, settings: configured, key }: Subject,
  deps: WriteTableDeps,
): Promise<Answer<'WriteTable'>> {
  const standing = await deps.bucket.head(key);
  const digest = settingsDigest(plan);
  const settings = { ...configured, ...hiddenColumns(manifest, plan, await newestRun(manifest, plan, deps)) };
  const hashKey = configured.hash ? await deps.hashKey() : null;
  const onProgress = () => refuseLate(deps, `for its ${manifest.file.bytes} bytes`);
  return inFolder('table-', async (folder) => {
    const path = join(folder, 'table.parquet');
    // PublishFile has already limited the size of the content.
    const contentBytes = Number.POSITIVE_INFINITY;
    const reading = { contentBytes, diskBytes: await freeDisk(), secondsLeft: deps.secondsLeft };
    const identity = tableIdentity(plan, { plan: manifest.run.plan, hashKey });
    const source = objectSource(deps.bucket, manifest.file.key, manifest.file.bytes, { onProgress });
    const input = { manifest, settings, source, reading, hashKey, identity };
    const bufferMB = deps.deployment.tableMemoryMB * SHARE_OF_BUFFERS;
    const written = await writeParquet(input, path, { bufferMB, folder, onProgress });
    const misfits = String(written.misfits.reduce((sum, { count }) => sum + count, 0));
    const ours = { run: manifest.execution, settings: digest, identity, misfits };
    const marks = { metadata: asMetadata(ours), tag: tableValue(manifest.run.entity, digest) };
    if (!(await isDue(manifest, deps))) return { outcome: 'SUPERSEDED' };
    const isOurs = async () => {
      const now = await tableOfRun(deps.bucket, key, ours);
      return now !== undefined && now.etag !== standing?.etag;
    };
    // The answer to a write may be lost. A new table of this run and of these settings has the same bytes.
    const isStored = await deps.bucket.putParquet(key, path, marks, standing?.etag).catch(async (error: unknown) => {
      if (await isOurs()) return true;
      throw error;
    });
    if (isStored || (await isOurs())) {
      const about = { key, rows: written.rows, bytes: (await stat(path)).size };
      const warnings = tableWarnings(manifest, written);
      deps.log.info('table written', { ...about, warnings: warnings.length });
      return { outcome: 'WRITTEN', table: { run: manifest.execution, date: manifest.run.date, ...about, warnings } };
    }
    if (!(await isDue(manifest, deps))) return { outcome: 'SUPERSEDED' };
    throw new RunError('StorageUnavailable', `The table ${key} was written by another run at the same time.`);
  });
}

/** The columns of the newest published run, if it is a later one and the settings leave out or hash columns. */
async function newestRun(
  { execution, run: { entity } }: Manifest,
  plan: EntityPlan,
  { bucket }: WriteTableDeps,
): Promise<RunColumns | undefined> {
  if (plan.columns.except.length === 0 && !hidesAny(plan.tables ?? {})) return undefined;
  const { run } = await readPointer(bucket, latestPointerKey(entity));
  if (!run || run.execution === execution) return undefined;
  return (await readManifest(bucket, manifestKeyOf(entity, run.execution)))?.run;
}

/** The most warnings, because the size of the state is limited. */
const MOST = 20;

/** Warnings for readers of the table, in sentences: columns, counts and row numbers, no values. */
function tableWarnings({ run, file }: Manifest, { misfits, shortRows, missing }: WrittenTable): string[] {
  const unnamed = file.content?.unnamed ?? 0;
  const warnings = [
    ...misfits.map(({ column, type, count, row }) =>
      type === 'text'
        ? `Values of the column "${column}" with broken characters, which are U+FFFD in the table: ${count}, the first in row ${row}.`
        : `Values of the column "${column}" that do not fit its type, ${type}, are null in the table: ${count}, the first in row ${row}.`,
    ),
    ...(shortRows.count > 0
      ? [
          `Rows with fewer fields than the header: ${shortRows.count}, the first is row ${shortRows.row}. The missing values are null.`,
        ]
      : []),
    ...(unnamed > 0 ? [`Columns with values and without a name, which the table does not have: ${unnamed}.`] : []),
    ...missing.map((name) => `The file has no column "${name}", which entities.${run.entity}.tables.columns names.`),
  ];
  const more = warnings.length - MOST;
  return more > 0 ? [...warnings.slice(0, MOST), `${more} more of this kind.`] : warnings;
}
