import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import { commandFor } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import type { TargetOptions } from '../support/target.ts';
import { plainLine } from '../support/text.ts';

/** Refuses a key that is none of a feed's: its values are as many as its columns, in their order. @throws CommandError (exit code 2) */
export function refuseOtherKey({ entity, sequence, key }: FeedRecord, values: string[]): void {
  if (values.length === key.length) return;
  const columns = plainLine(key.join(', '));
  const wanted = key.length === 1 ? 'one value' : `${key.length} values in this order`;
  throw new CommandError(
    `A row of ${entity} is known by ${columns} in the feed ${sequence}: give ${wanted}, not ${values.length}.`,
    USAGE,
  );
}

/** The same of several feeds, whose key may have changed. @throws CommandError (exit code 2) */
export function refuseOtherKeys(feeds: FeedRecord[], values: string[], place: TargetOptions): void {
  const newest = feeds.at(-1);
  if (!newest) return;
  refuseOtherKey(newest, values);
  const other = feeds.findLast(({ key }) => key.length !== values.length);
  if (!other) return;
  const { entity, sequence } = other;
  const those = commandFor(`changes ${entity} --since ${sequence} --key …`, place);
  throw new CommandError(
    `The key of ${entity} has changed behind the feed ${sequence}. Those with this one: ${those}`,
    USAGE,
  );
}
