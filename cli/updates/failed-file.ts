import { open, rm } from 'node:fs/promises';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { failedLines } from '../../core/batch/failed-lines.ts';
import { formatOf } from '../../core/updates/file-format.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { inputOf, resultsOf } from './resume.ts';
import type { BatchStatus } from './status.ts';

const LF = 0x0a;

/**
 * Writes the lines of a batch that were not applied, byte for byte, into a new file that only its owner may read.
 * @returns how many
 * @throws CommandError (exit code 2) when there is nothing to write or the file is there already
 */
export async function writeFailedLines(
  store: Pick<BatchStore, 'stream' | 'list'>,
  { batch, status, resultKey, counts, records }: BatchStatus,
  path: string,
): Promise<number> {
  if (formatOf(path) !== 'jsonl')
    throw usage(`${path} must have a name that ends in .jsonl: lines are written as JSON.`);
  if (status === 'RUNNING') throw usage(`The batch ${batch} is still under way: wait for its end.`);
  if (resultKey !== null && counts.APPLIED === records) throw usage(`Every line of ${batch} was applied.`);
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw usage(exists ? `${path} exists already, and is not written over.` : `${path} cannot be written.`, error);
  });
  try {
    let lines = 0;
    for await (const bytes of failedLines(inputOf(store, batch), resultsOf(store, batch))) {
      await file.writeFile(bytes);
      for (const byte of bytes) if (byte === LF) lines += 1;
    }
    await file.close();
    return lines;
  } catch (error) {
    await file.close();
    // An incomplete file would look complete.
    await rm(path, { force: true });
    throw error;
  }
}

function usage(sentence: string, cause?: unknown): CommandError {
  return new CommandError(sentence, USAGE, { cause });
}
