import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { manyText, plainLine } from '../support/text.ts';

/** Refuses a key that is none of a feed's: its values are as many as its columns, in their order. @throws CommandError (exit code 2) */
export function refuseOtherKey({ entity, sequence, key }: FeedRecord, values: string[]): void {
  if (values.length === key.length) return;
  const columns = plainLine(key.join(', '));
  throw new CommandError(
    `In the feed ${sequence} a row of ${entity} is known by ${columns}: give ${manyText(key.length, 'value')}, in this order, not ${values.length}.`,
    USAGE,
  );
}
