import { readHead, writeHead } from '../../core/changes/chain/head.ts';
import type { Entity } from '../../core/config/entities.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { manyText } from '../support/text.ts';

/**
 * Lets the next feed of a stopped chain through, whatever is gone.
 * @throws CommandError: 2 where nothing is stopped, 1 where a run was quicker
 */
export async function release(bucket: Bucket, entity: Entity, reason: string): Promise<void> {
  if (reason.trim() === '' || reason.length > 500)
    throw new CommandError('--reason takes a sentence of at most 500 characters.', USAGE);
  const standing = await readHead(bucket, entity);
  const { head } = standing;
  if (!head.stopped) throw new CommandError(`No feed of ${entity} is stopped: there is nothing to release.`, USAGE);
  if (!(await writeHead(bucket, entity, standing, { ...head, release: reason })))
    throw new CommandError(`A run moved the feeds of ${entity} at the same moment: look again.`, RUN_FAILED);
  const { gone, of, date } = head.stopped;
  printErr(
    `The next feed of ${entity} is let through, ${manyText(gone, of === 'keys' ? 'key' : 'row')} gone on ${date} and whatever is gone then.`,
  );
}
