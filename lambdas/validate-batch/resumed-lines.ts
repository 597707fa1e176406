import { keysOf } from '../../core/batch/batch-keys.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { changed } from '../../core/batch/read-chunk.ts';
import { RunError } from '../../core/errors.ts';
import { lineBlocks, linesIn, linesOf } from '../../core/updates/line-blocks.ts';
import { claimOf } from './claim-batch.ts';

/**
 * Passes on the bytes of a resumed batch while each line equals the line of that number in the batch that it resumes. That batch
 * was claimed, so all of its lines were found valid.
 * @param key of the resumed file
 * @throws RunError `InvalidInput` where that batch never began, `UpdateFileInvalid` for another line, `StorageConflict` where
 *   the file of that batch is not the one that was validated any more
 */
export async function* resumedLines(
  bytes: AsyncIterable<Uint8Array>,
  store: BatchStore,
  key: string,
  resumes: string,
): AsyncGenerator<Uint8Array> {
  const validated = linesOf(await openValidated(store, resumes));
  let line = 0;
  try {
    for await (const block of lineBlocks(bytes)) {
      for (const text of linesIn(block)) {
        line += 1;
        const { value } = await validated.next();
        if (text.trim() !== '' && text !== value) throw foreign(key, line, resumes);
      }
      if (block.tooLong) throw foreign(key, line + 1, resumes);
      yield block.bytes;
    }
  } finally {
    await validated.return(undefined);
  }
}

async function openValidated(store: BatchStore, batch: string): Promise<AsyncIterable<Uint8Array>> {
  const { started, input } = keysOf(batch);
  const claim = await claimOf(store, started);
  if (!claim) throw new RunError('InvalidInput', `The batch ${batch}, which "resumes" names, was never begun.`);
  const file = await store.stream(input);
  if (file?.etag === claim.etag) return file.chunks;
  // An unread stream would hold its connection.
  for await (const _ of file?.chunks ?? []) break;
  throw changed(input);
}

function foreign(key: string, line: number, batch: string): RunError {
  return new RunError(
    'UpdateFileInvalid',
    `Line ${line} of ${key} is not that line of the batch ${batch}, which it resumes.`,
  );
}
