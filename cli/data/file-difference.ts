import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Changes, changesBetween } from '../../core/columns/column-changes.ts';
import { settingsDigest } from '../../core/config/settings-digest.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { StoredRecord } from '../../core/file/file-records.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { suggestion } from '../../core/suggestion.ts';
import { engineTrouble, inFolder, rowsIn, stage, withEngine } from '../../core/table/engine.ts';
import { tableKey, tableOfRun } from '../../core/table/stored-table.ts';
import { hiddenColumns, hidesAny, tableColumnName } from '../../core/table/table-columns.ts';
import { createPublished } from '../runs/published-runs.ts';
import { type FileState, fileStateOf } from '../runs/run.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, RUN_FAILED, usageError } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import type { Target } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { type Both, compareRows, type RowChanges } from './compare-rows.ts';
import { bytesFrom, namesOf, recordsOf, refuseUnread, type StoredFile } from './stored-file.ts';
import { columnsOf, fileError } from './stored-manifests.ts';

const DEFAULT_KEY = 'id';

/** A table takes about a quarter of the bytes that its rows take as text. */
const TEXT_OF_TABLE = 4;

export interface Difference extends Both<Manifest> {
  states: Both<FileState>;
  columns: Changes;
  /**
   * The differences by key; `null` if the options name no key and a file has no column `id`. The files are not read in
   * this case.
   */
  rows: RowChanges | null;
}

interface Wanted {
  /** The key column as the newer file or its table names it; by default `id`, if both files have it. */
  key?: string | undefined;
  showKeys?: boolean | undefined;
}

/**
 * Compares two files: from their published tables if both have one with all columns and values, else from their records.
 * @throws CommandError: 1 if a file cannot be read, differs from its manifest or is too large; 2 if it lacks the key;
 *   130 after Ctrl-C
 */
export async function difference(
  target: Target,
  before: Manifest,
  after: Manifest,
  { key, showKeys = false }: Wanted = {},
): Promise<Difference> {
  const manifests = { before, after };
  const names = { before: namesIn(before), after: namesIn(after) };
  const columns = changesBetween(columnsOf(before).columns, columnsOf(after).columns);
  const published = createPublished(target, printErr);
  const states = await both(manifests, async (each) => fileStateOf(each, await published.standingOf(each)));
  const identifies = asInFile(key ?? DEFAULT_KEY, names.after);
  if (key === undefined && !(names.before.includes(identifies) && names.after.includes(identifies)))
    return { ...manifests, states, columns, rows: null };
  await both(manifests, async (each, side) => refuseMissing(each, names[side], identifies));
  const common = names.before.filter((name) => name !== '' && name !== identifies && names.after.includes(name));
  const compared = [identifies, ...new Set(common)];
  const tables = await tablesOf(target, manifests);
  const rows = await inFolder('diff-', (folder) =>
    untilInterrupted('Interrupted. The files were not compared.', async (signal) => {
      const sides = await both(manifests, async (manifest, name) => {
        const path = join(folder, `${name}.rows`);
        if (tables) {
          await pipeline(bytesFrom(target, tables[name], 0, signal), createWriteStream(path));
          const textBytes = tables[name].bytes * TEXT_OF_TABLE;
          return { textBytes, rows: rowsIn(path), columns: compared.map(tableColumnName) };
        }
        const width = names[name].length;
        const rows = rowsOf(recordsOf(target, manifest, { signal, bytesOfWidth: width }), width);
        const staged = await stage(rows, path, width, manifest.file.dialect?.separator ?? ',');
        return {
          ...{ textBytes: (await stat(path)).size, rows: staged },
          columns: compared.map((each) => `c${names[name].indexOf(each)}`),
        };
      });
      const limits = { bufferMB: BUFFER_MB, folder, onProgress: () => signal.throwIfAborted() };
      return withEngine(limits, (query) => compareRows(query, sides, compared, { folder, showKeys }));
    }).catch(refuseTooLarge),
  );
  return { ...manifests, states, columns, rows };
}

/** @throws CommandError (exit code 1) if the columns are not known */
function namesIn(manifest: Manifest): string[] {
  refuseUnread(manifest);
  const { entity, date } = manifest.run;
  const names = namesOf(manifest);
  if (names !== null) return names;
  throw fileError(`The header of the file of ${entity} of ${date} is unknown, so its columns cannot be compared.`);
}

/** The column name in the file, for a name from its table: `idnumber` for `idNumber`. */
function asInFile(column: string, names: string[]): string {
  if (names.includes(column)) return column;
  const [name = column, ...others] = names.filter((each) => tableColumnName(each) === column);
  return others.length === 0 ? name : column;
}

/** @throws CommandError (exit code 2) if there is no such column */
function refuseMissing({ run: { entity, date } }: Manifest, names: readonly string[], key: string): void {
  if (names.includes(key)) return;
  throw usageError(
    `The file of ${entity} of ${date} has no column "${key}"${suggestion(key, names)}: name another column with --key. peek --columns lists the columns.`,
  );
}

/** Yields the records after the header, each cut to the width of the header. */
async function* rowsOf(batches: AsyncIterable<StoredRecord[]>, width: number): AsyncGenerator<StoredRecord[]> {
  let isHeader = true;
  for await (const batch of batches) {
    const rows = isHeader ? batch.slice(1) : batch;
    isHeader &&= batch.length === 0;
    yield rows.map((row) => (Array.isArray(row) ? row.slice(0, width) : row));
  }
}

async function both<T, U>(
  { before, after }: Both<T>,
  make: (one: T, name: keyof Both<T>) => Promise<U>,
): Promise<Both<U>> {
  return { before: await make(before, 'before'), after: await make(after, 'after') };
}

/**
 * The tables of both files, if they can be compared instead of the files. Both tables must be made in the same way
 * under the current column settings, which hide no column of the files. Both must have every value of their files.
 */
async function tablesOf(target: Target, manifests: Both<Manifest>): Promise<Both<StoredFile> | undefined> {
  try {
    const { entities } = await deployedConfiguration(target, () => undefined);
    const bucket = createBucket(target.s3, target.BucketName);
    const { before, after } = await both(manifests, async ({ file, run, execution }) => {
      const { entity, date } = run;
      const plan = entities[entity];
      if (!plan.tables || hidesAny(hiddenColumns({ file, run }, plan, manifests.after.run))) return undefined;
      const key = tableKey(entity, date, plan.tables.version);
      return tableOfRun(bucket, key, { run: execution, settings: settingsDigest(plan), misfits: '0' });
    });
    return before && after && before.metadata.identity === after.metadata.identity ? { before, after } : undefined;
  } catch {
    // The files hold the same data, and a user without access to the tables can still read them.
    return undefined;
  }
}

/** Memory of DuckDB's buffers: the whole process takes at most 700 MB. DuckDB moves larger data to the disk. */
const BUFFER_MB = 320;

function refuseTooLarge(error: unknown): never {
  const kind = engineTrouble(error);
  if (kind === undefined) throw error;
  const why = { disk: `there is no more space in ${tmpdir()}`, memory: 'they do not fit in memory' }[kind];
  throw new CommandError(`The files cannot be compared: ${why ?? `DuckDB ended with "${kind}"`}.`, RUN_FAILED);
}
