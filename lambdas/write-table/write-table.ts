import { entityPlan } from '../../core/config/entity-plan.ts';
import { exceptedOf } from '../../core/config/excepted-columns.ts';
import type { TableSettings } from '../../core/config/table-settings.ts';
import { RunError } from '../../core/errors.ts';
import { type Manifest, manifestSchema } from '../../core/export/manifest.ts';
import { datePointerKey, readPointer, runPrefix } from '../../core/export/pointer.ts';
import { parseJson } from '../../core/json.ts';
import type { Answer } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { missingFields } from '../../core/table/columns.ts';
import { TableError } from '../../core/table/table-error.ts';
import { parseTableInput } from '../../core/table/table-input.ts';
import { tableKey } from '../../core/table/table-key.ts';
import { notConfiguredText, whyNoTable } from '../../core/table/table-rules.ts';
import { fieldsOf, type WrittenTable, writeParquet } from '../../core/table/write-parquet.ts';
import { afterTrouble } from './after-trouble.ts';
import { publishedBytes } from './published-bytes.ts';
import type { StandingTable, TableStore } from './table-store.ts';
import { tableWarnings } from './table-warnings.ts';

export interface WriteTableDeps extends Invocation {
  bucket: Bucket;
  tables: TableStore;
  /** Of the hashed columns. */
  hashKey: () => Promise<string>;
  softwareVersion: string;
}

/** What a table is made of, and where it goes. */
interface Subject {
  manifest: Manifest;
  settings: TableSettings;
  key: string;
}

/**
 * Writes the table of a published file, by the settings of its entity. The pointer of the date decides: where it names another
 * run, before or after, that run writes the table.
 */
export async function writeTable(state: RunState, deps: WriteTableDeps): Promise<Answer<'WriteTable'>> {
  try {
    const subject = await subjectOf(state, deps);
    const { manifest, key } = subject;
    if (!(await isNamed(manifest, deps))) return { outcome: 'SUPERSEDED' };
    const standing = await deps.tables.standing(key);
    return await replaceTable(subject, standing, state, deps).catch((error: unknown) => {
      throw withStanding(error, manifest, standing);
    });
  } catch (error) {
    return afterTrouble(error, state, deps);
  }
}

/** @throws RunError `InvalidInput` where a person asked for a table that cannot be; TableError */
async function subjectOf({ manifestKey, input }: RunState, deps: WriteTableDeps): Promise<Subject> {
  const manifest = manifestKey === null ? await askedManifest(input, deps) : await readManifest(manifestKey, deps);
  if (!manifest) throw new TableError(`Its manifest is gone: ${manifestKey}.`);
  const { entity, date } = manifest;
  const settings = entityPlan(deps.deployment, entity).tables;
  if (settings) return { manifest, settings, key: tableKey(entity, date, settings.version) };
  if (manifestKey === null) throw new RunError('InvalidInput', notConfiguredText(entity));
  throw new TableError(notConfiguredText(entity));
}

/** @throws RunError `InvalidInput` */
async function askedManifest(input: unknown, deps: WriteTableDeps): Promise<Manifest | undefined> {
  const { entity, table } = parseTableInput(input);
  const manifest = await readManifest(`${runPrefix(entity, table.run)}_manifest.json`, deps);
  const named = manifest && (await readPointer(deps.bucket, datePointerKey(entity, manifest.date)));
  const why = whyNoTable(table.run, manifest, named?.pointer?.place);
  if (why !== undefined) throw new RunError('InvalidInput', why);
  return manifest;
}

async function readManifest(key: string, { bucket }: WriteTableDeps): Promise<Manifest | undefined> {
  const object = await bucket.read(key);
  if (!object) return undefined;
  const manifest = parseJson(manifestSchema, object.text);
  if (manifest) return manifest;
  throw new RunError('StorageConflict', `The object at ${key} is no manifest of this software.`);
}

/** Whether readers of the date have this run. */
async function isNamed({ entity, date, execution }: Manifest, { bucket }: WriteTableDeps): Promise<boolean> {
  const { pointer } = await readPointer(bucket, datePointerKey(entity, date));
  return pointer?.place.execution === execution;
}

/** The table gets into its place if the pointer still names the run, and if nobody has changed what stood there. */
async function replaceTable(
  subject: Subject,
  standing: StandingTable | undefined,
  state: RunState,
  deps: WriteTableDeps,
): Promise<Answer<'WriteTable'>> {
  const { manifest, settings, key } = subject;
  refuseMissing(manifest, settings, exceptedOf(entityPlan(deps.deployment, manifest.entity)));
  const hashKey = settings.hash ? await deps.hashKey() : null;
  const upload = deps.tables.begin(key, { run: manifest.execution, execution: state.execution });
  try {
    const input = { manifest, settings, hashKey, softwareVersion: deps.softwareVersion };
    const written = await writeParquet({ ...input, bytes: publishedBytes(manifest.file, deps) }, (chunk) =>
      upload.write(chunk),
    );
    const inPlace = (await isNamed(manifest, deps)) && (await upload.complete(standing?.etag));
    return inPlace ? finished(subject, written, deps) : await afterOther(subject, written, state, deps);
  } finally {
    // What cannot be removed now, the lifecycle rules remove.
    await upload.abort().catch(() => undefined);
  }
}

/**
 * A column that must not be readable may be in the file under another name.
 * @param unrequested what tables of older files leave out, and later requests too
 */
function refuseMissing(manifest: Manifest, settings: TableSettings, unrequested: string[]): void {
  const covered = [...(settings.except ?? []), ...(settings.hash ?? [])];
  const missing = missingFields(fieldsOf(manifest), covered).find((name) => !unrequested.includes(name));
  if (missing === undefined) return;
  const key = settings.except?.includes(missing) ? 'except' : 'hash';
  const what = `The file has no column "${missing}", which \`tables.${key}\` names: it may be there under another name.`;
  throw new TableError(what);
}

/** The pointer was moved, or another table was written, while this one was made. */
async function afterOther(
  subject: Subject,
  written: WrittenTable,
  { execution }: RunState,
  deps: WriteTableDeps,
): Promise<Answer<'WriteTable'>> {
  if (!(await isNamed(subject.manifest, deps))) return { outcome: 'SUPERSEDED' };
  // The answer to an earlier request was lost: the table is this one.
  if ((await deps.tables.standing(subject.key))?.execution === execution) return finished(subject, written, deps);
  throw new RunError('StorageUnavailable', `The table ${subject.key} was written by others at the same time.`);
}

function finished(
  { manifest: { entity, execution: run, date }, key }: Subject,
  written: WrittenTable,
  { log }: WriteTableDeps,
): Answer<'WriteTable'> {
  const { rows, bytes } = written;
  const warnings = tableWarnings(entity, written);
  log.info('table written', { key, rows, bytes, warnings: warnings.length });
  return { outcome: 'WRITTEN', table: { run, date, key, rows, bytes, warnings } };
}

/** Says what readers of the table have instead. */
function withStanding(error: unknown, { execution }: Manifest, standing: StandingTable | undefined): unknown {
  if (!(error instanceof TableError) || !standing || standing.run === execution) return error;
  return new TableError(`${error.message} The table of the date is still that of the run ${standing.run}.`);
}
