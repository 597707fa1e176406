import { open, rm } from 'node:fs/promises';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { failedLines } from '../../core/batch/failed-lines.ts';
import { formatOf } from '../../core/updates/file-format.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { inputOf, latestResultsOf } from './batch-lines.ts';
import type { BatchStatus } from './status.ts';

/**
 * Writes the lines of a batch that are not applied yet, by it or by one that resumed it, into a new file that only its owner may
 * read: JSON Lines, byte for byte as they are stored.
 * @param last of the batches that resume it, or the batch itself
 * @returns how many
 * @throws CommandError (exit code 2) when there is nothing to write, the file exists already, or its name is not that of JSON Lines
 */
export async function writeFailedLines(
  store: BatchStore,
  { batch, resultKey, counts, records }: BatchStatus,
  last: BatchStatus,
  path: string,
): Promise<number> {
  if (formatOf(path) !== 'jsonl') throw usage(`Failed lines are written as JSON Lines: ${path} must end in .jsonl.`);
  if (last.status === 'RUNNING') throw usage(`The batch ${last.batch} is still under way: wait for its end.`);
  if (resultKey !== null && counts.APPLIED === records) throw usage(`Every line of ${batch} was applied.`);
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw usage(exists ? `${path} exists already, and is not written over.` : `${path} cannot be written.`, error);
  });
  try {
    let lines = 0;
    for await (const bytes of failedLines(inputOf(store, batch), latestResultsOf(store, batch))) {
      await file.writeFile(bytes);
      for (const byte of bytes) if (byte === 0x0a) lines += 1;
    }
    if (lines === 0) throw usage(`Every line of ${batch} was applied, the last ones by ${last.batch}.`);
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
