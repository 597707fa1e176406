import { open, rm } from 'node:fs/promises';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { failedLines } from '../../core/batch/failed-lines.ts';
import { formatOf } from '../../core/updates/file-format.ts';
import { jsonlToCsv } from '../../core/updates/jsonl-to-csv.ts';
import { linesOf } from '../../core/updates/line-blocks.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { inputOf, latestResultsOf, sentFormat } from './batch-lines.ts';
import type { BatchStatus } from './status.ts';

/**
 * Writes the lines of a batch that are not applied yet, by it or by one that resumed it, into a new file that only its owner may
 * read: byte for byte, or as CSV where CSV was sent.
 * @param last of the batches that resume it, or the batch itself
 * @returns how many
 * @throws CommandError (exit code 2) when there is nothing to write, the file is there already, or its name says another format than was sent
 */
export async function writeFailedLines(
  store: BatchStore,
  { batch, resultKey, counts, records }: BatchStatus,
  last: BatchStatus,
  path: string,
): Promise<number> {
  const format = formatOf(path);
  if (typeof format !== 'string') throw usage(`${path} ${format.sentence}.`);
  const sent = await sentFormat(store, batch);
  if (sent && sent !== format) throw usage(`${batch} was sent as ${sent}: ${path} has to end in .${sent}.`);
  if (last.status === 'RUNNING') throw usage(`The batch ${last.batch} is still under way: wait for its end.`);
  if (resultKey !== null && counts.APPLIED === records) throw usage(`Every line of ${batch} was applied.`);
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw usage(exists ? `${path} exists already, and is not written over.` : `${path} cannot be written.`, error);
  });
  const left = () => failedLines(inputOf(store, batch), latestResultsOf(store, batch));
  try {
    let lines = 0;
    for await (const _ of linesOf(left())) lines += 1;
    if (lines === 0) throw usage(`Every line of ${batch} was applied, the last ones by ${last.batch}.`);
    for await (const bytes of format === 'csv' ? jsonlToCsv(left) : left()) await file.writeFile(bytes);
    await file.close();
    return lines;
  } catch (error) {
    await file.close();
    // An incomplete file would look complete.
    await rm(path, { force: true });
    throw error;
  }
}

export function usage(sentence: string, cause?: unknown): CommandError {
  return new CommandError(sentence, USAGE, { cause });
}
