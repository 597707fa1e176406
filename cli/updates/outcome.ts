import { keysOf } from '../../core/batch/batch-keys.ts';
import { type BatchManifest, batchManifestSchema, type Counts } from '../../core/batch/batch-manifest.ts';
import { type BatchStore, createBatchStore } from '../../core/batch/batch-store.ts';
import { OUTCOMES, type Outcome, parseResults, type ResultLine } from '../../core/batch/result-line.ts';
import { jsonOrUndefined } from '../../core/json.ts';
import { lineBlocks } from '../../core/updates/line-blocks.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import { table } from '../support/table.ts';
import type { Target } from '../support/target.ts';

/** A batch as `--json` prints it. What it did not come to is null. */
export interface BatchReport {
  ok: boolean;
  batch: string;
  counts: Counts;
  resultKey: string | null;
  manifestKey: string | null;
}

export function storeOf({ s3, BucketName }: Pick<Target, 's3' | 'BucketName'>): BatchStore {
  return createBatchStore(s3, BucketName);
}

/**
 * @returns `undefined` while the batch is not summarized
 * @throws CommandError (exit code 1) for an object that is no manifest
 */
export async function readBatchManifest(
  store: Pick<BatchStore, 'read'>,
  batch: string,
): Promise<BatchManifest | undefined> {
  const key = keysOf(batch).manifest;
  const object = await store.read(key);
  if (!object) return undefined;
  const parsed = batchManifestSchema.safeParse(jsonOrUndefined(object.text));
  if (parsed.success) return parsed.data;
  throw new CommandError(`The object ${key} does not hold what it should.`, RUN_FAILED);
}

export function reportOfManifest({ batch, counts, input, result }: BatchManifest): BatchReport {
  const ok = counts.APPLIED === input.records;
  return { ok, batch, counts, resultKey: result.key, manifestKey: keysOf(batch).manifest };
}

const SHOWN = 20;

/** The first lines that were not applied. They name an id each, which is not shown. */
export async function firstFailures(store: Pick<BatchStore, 'stream'>, resultKey: string): Promise<ResultLine[]> {
  const object = await store.stream(resultKey);
  if (!object) throw new CommandError(`There is no object ${resultKey}.`, RUN_FAILED);
  const failures: ResultLine[] = [];
  for await (const { bytes } of lineBlocks(object.chunks)) {
    failures.push(...parseResults(bytes.toString('utf8')).filter(({ outcome }) => outcome !== 'APPLIED'));
    if (failures.length >= SHOWN) break;
  }
  return failures.slice(0, SHOWN);
}

export function countsText(counts: Counts): string {
  const rows = (Object.keys(OUTCOMES) as Outcome[]).map((outcome) => [
    outcome,
    counts[outcome].toLocaleString('en'),
    OUTCOMES[outcome],
  ]);
  return table(['outcome', 'lines', 'meaning'], rows);
}

/** Numbers of lines, names of errors and of fields; no id and no value. */
export function failuresText(failures: ResultLine[], all: number): string {
  const rows = failures.map(({ line, outcome, error, status, attempts, fields }) => [
    String(line),
    outcome,
    error ?? '',
    status === null ? '' : String(status),
    String(attempts),
    (fields ?? []).join(', '),
  ]);
  const more = all > failures.length ? `\n  … and ${(all - failures.length).toLocaleString('en')} more` : '';
  return `${table(['line', 'outcome', 'error', 'status', 'attempts', 'fields'], rows)}${more}`;
}

export function notApplied(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0) - counts.APPLIED;
}
