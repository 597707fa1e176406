import {
  type BatchManifest,
  batchManifestSchema,
  type Counts,
  type LineOutcome,
  OUTCOMES,
  parseResults,
  type ResultLine,
} from '../../core/batch/batch-results.ts';
import { type BatchStore, keysOf } from '../../core/batch/batch-store.ts';
import { parseJson } from '../../core/json.ts';
import { lineBlocks } from '../../core/updates/line-blocks.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import { plainLine } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';

/**
 * @returns `undefined` while the batch is not summarized
 * @throws CommandError (exit code 1) for an object that is no manifest
 */
export async function readBatchManifest(store: BatchStore, batch: string): Promise<BatchManifest | undefined> {
  const key = keysOf(batch).manifest;
  const object = await store.read(key);
  const manifest = object && parseJson(batchManifestSchema, object.text);
  if (object && !manifest) throw new CommandError(`The object ${key} does not hold what it should.`, RUN_FAILED);
  return manifest;
}

export function countsText(counts: Counts): string {
  const outcomes = Object.keys(OUTCOMES) as LineOutcome[];
  const rows = outcomes.map((outcome) => [outcome, counts[outcome].toLocaleString('en'), OUTCOMES[outcome]]);
  return textTable(['outcome', 'lines', 'meaning'], rows);
}

interface Summarized {
  counts: Counts;
  resultKey: string | null;
  manifestKey: string | null;
}

/** The first lines that were not applied: numbers of lines, names of errors and of fields; no id and no value. */
export async function failuresText(
  store: BatchStore,
  { counts, resultKey, manifestKey }: Summarized,
): Promise<string[]> {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0) - counts.APPLIED;
  if (resultKey === null || all === 0) return [];
  const failures = await firstFailures(store, resultKey);
  const rows = failures.map(({ line, outcome, error, status, attempts, fields }) => [
    ...[String(line), outcome, error ?? '', statusText(status), String(attempts)],
    (fields ?? []).join(', '),
  ]);
  const more = all > failures.length ? `\n  … and ${(all - failures.length).toLocaleString('en')} more` : '';
  const headings = ['line', 'outcome', 'error', 'status', 'attempts', 'fields'];
  return ['', `${textTable(headings, rows)}${more}`, '', plainLine(`Result: ${resultKey}, ${manifestKey}`)];
}

function statusText(status: number | null): string {
  return status === 404 ? '404: no such customer' : String(status ?? '');
}

const SHOWN = 20;

async function firstFailures(store: BatchStore, resultKey: string): Promise<ResultLine[]> {
  const object = await store.stream(resultKey);
  if (!object) throw new CommandError(`There is no object ${resultKey}.`, RUN_FAILED);
  const failures: ResultLine[] = [];
  for await (const { bytes } of lineBlocks(object.chunks)) {
    failures.push(...parseResults(bytes.toString('utf8')).filter(({ outcome }) => outcome !== 'APPLIED'));
    if (failures.length >= SHOWN) break;
  }
  return failures.slice(0, SHOWN);
}
