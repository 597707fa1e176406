import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { exceptedOf } from '../../core/config/chosen-columns.ts';
import type { EntityPlan } from '../../core/config/entity-settings.ts';
import { settingsDigest } from '../../core/config/settings-digest.ts';
import type { TableSettings } from '../../core/config/table-settings.ts';
import { RunError } from '../../core/errors.ts';
import { type Manifest, readManifest } from '../../core/export/manifest.ts';
import { datePointerKey, latestPointerKey, manifestKeyOf, readPointer } from '../../core/export/pointer.ts';
import type { ByteSource } from '../../core/file/byte-source.ts';
import { freeDisk } from '../../core/file/reading-limits.ts';
import { tableValue } from '../../core/readers/reader-access.ts';
import type { Answer } from '../../core/step/export-run.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import { readObject } from '../../core/storage/read-object.ts';
import type { UploadBucket } from '../../core/storage/upload.ts';
import { coveredColumns } from '../../core/table/covered-columns.ts';
import { inFolder } from '../../core/table/engine.ts';
import { fileColumns } from '../../core/table/file-columns.ts';
import { afterTrouble, refuseLate } from '../../core/table/not-written.ts';
import { tableMetadata, tableOfRun } from '../../core/table/standing-table.ts';
import { type Covered, NOTHING } from '../../core/table/table-columns.ts';
import { TableError } from '../../core/table/table-error.ts';
import { tableIdentity } from '../../core/table/table-identity.ts';
import { tableKey } from '../../core/table/table-key.ts';
import { notConfiguredText, parseTableInput, tableRunOf, whyNoTable } from '../../core/table/table-run.ts';
import { type WrittenTable, writeParquet } from '../../core/table/write-parquet.ts';

export interface WriteTableDeps extends Invocation {
  bucket: UploadBucket;
  /** Reads the key of the hashed columns. */
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
    // A feed may be due even without a table of this run: any run finishes an unfinished feed.
    const due = subject.plan.changes && ({ outcome: 'CHANGES_DUE' } as const);
    if (!(await isDue(subject.manifest, deps))) return { outcome: 'SUPERSEDED', ...due };
    const standing = await deps.bucket.head(subject.key);
    return { ...(await replaceTable(subject, standing?.etag, deps)), ...due };
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
  if (!manifest || why !== undefined) throw refused(why ?? `Its manifest is gone: ${key}.`);
  const { entity, date } = manifest.run;
  const plan = deps.deployment.entities[entity];
  if (!plan.tables) throw refused(notConfiguredText(entity));
  return { manifest, plan, settings: plan.tables, key: tableKey(entity, date, plan.tables.version) };
}

/** Why the file of a run gets no table; `undefined` if it gets one. */
async function whyNot(run: string, manifest: Manifest | undefined, { bucket }: WriteTableDeps) {
  const named = manifest && (await readPointer(bucket, datePointerKey(manifest.run.entity, manifest.run.date)));
  return whyNoTable(run, manifest, named?.run);
}

const isDue = async (manifest: Manifest, deps: WriteTableDeps) =>
  (await whyNot(manifest.execution, manifest, deps)) === undefined;

/** Replaces the table if the pointer still names the run, and if the table was not changed meanwhile. */
async function replaceTable(
  subject: Subject,
  standing: string | undefined,
  deps: WriteTableDeps,
): Promise<Answer<'WriteTable'>> {
  const { manifest, plan, settings, key } = subject;
  const digest = settingsDigest(plan);
  const covered = await coveredOf(manifest, plan, deps);
  const hashKey = settings.hash ? await deps.hashKey() : null;
  const onProgress = () => refuseLate(deps, `for its ${manifest.file.bytes} bytes`);
  return inFolder('table-', async (folder) => {
    const path = join(folder, 'table.parquet');
    const diskBytes = await freeDisk();
    // The content was limited before publication.
    const reading = { contentBytes: Number.POSITIVE_INFINITY, diskBytes, secondsLeft: deps.secondsLeft };
    const identity = tableIdentity(plan, { plan: manifest.run.plan, hashKey });
    const source = publishedBytes(manifest.file, deps, onProgress);
    const input = { manifest, settings, covered, source, reading, hashKey, identity };
    const bufferMB = deps.deployment.tableMemoryMB * SHARE_OF_BUFFERS;
    const limits = { bufferMB, folder, diskBytes, onProgress };
    const written = await writeParquet(input, path, limits);
    const about = {
      metadata: tableMetadata(manifest.execution, digest),
      tag: tableValue(manifest.run.entity, digest),
    };
    if (!(await isDue(manifest, deps))) return { outcome: 'SUPERSEDED' };
    const isOurs = async () => {
      const now = await tableOfRun(deps.bucket, key, { run: manifest.execution, settings: digest });
      return now !== undefined && now.etag !== standing;
    };
    // The answer to a write may be lost. A new table of this run and of these settings has the same bytes.
    const isStored = await deps.bucket.putParquet(key, path, about, standing).catch(async (error: unknown) => {
      if (await isOurs()) return true;
      throw error;
    });
    if (isStored || (await isOurs()))
      return finished(manifest, { ...written, key, bytes: (await stat(path)).size }, deps);
    if (!(await isDue(manifest, deps))) return { outcome: 'SUPERSEDED' };
    throw new RunError('StorageUnavailable', `The table ${key} was written by another run at the same time.`);
  });
}

/**
 * The columns that today's settings leave out or hash. If the settings name a column that the file's manifest does not
 * have, the newest published manifest is used to find it.
 * @throws TableError if the columns cannot be determined
 */
async function coveredOf(manifest: Manifest, plan: EntityPlan, deps: WriteTableDeps): Promise<Covered> {
  const { names, isNamed } = fileColumns(manifest);
  const { except = [], hash = [] } = plan.tables ?? {};
  if (exceptedOf(plan).length + except.length + hash.length === 0) return NOTHING;
  const unknown = 'The file does not name its columns itself, so none of them can be left out or hashed';
  if (!isNamed) throw new TableError(`${unknown}: it becomes a table only without \`except\` and \`hash\`.`);
  const { execution } = manifest;
  const { entity } = manifest.run;
  const { run } = await readPointer(deps.bucket, latestPointerKey(entity));
  const last = run?.execution ?? execution;
  const newest = last === execution ? undefined : await readManifest(deps.bucket, manifestKeyOf(entity, last));
  return coveredColumns(names, newest ? [manifest.run, newest.run] : [manifest.run], plan);
}

function finished(
  manifest: Manifest,
  written: WrittenTable & { key: string; bytes: number },
  { log }: WriteTableDeps,
): Answer<'WriteTable'> {
  const { key, rows, bytes } = written;
  const warnings = tableWarnings(manifest, written);
  log.info('table written', { key, rows, bytes, warnings: warnings.length });
  return {
    outcome: 'WRITTEN',
    table: { run: manifest.execution, date: manifest.run.date, key, rows, bytes, warnings },
  };
}

/**
 * The bytes of a published file. All reads are of one version of the object.
 * @throws (its `read`) TableError when the time is over; RunError `StorageConflict`, `StorageUnavailable`
 */
function publishedBytes(
  { key, bytes: size }: Manifest['file'],
  { bucket }: WriteTableDeps,
  onProgress: () => void,
): ByteSource {
  const object = { etag: null };
  const read = async function* (from: number, to: number): AsyncGenerator<Uint8Array> {
    // S3 has no empty ranges.
    if (to <= from) return;
    for await (const chunk of readObject(bucket, key, { from, to, size, object })) {
      onProgress();
      yield chunk;
    }
  };
  return { size, read };
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
    ...(shortRows
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
