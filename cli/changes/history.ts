import type { Command } from 'commander';
import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import { CRM_EXPORT } from '../../core/commands.ts';
import type { Entity } from '../../core/config/entities.ts';
import { type Bucket, createBucket } from '../../core/storage/bucket.ts';
import { failed } from '../data/find.ts';
import { entityArgument, withExamples } from '../support/command-options.ts';
import { printJson, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { keyText } from './change-text.ts';
import type { History } from './documents.ts';
import { lastFeeds } from './feeds.ts';
import { historyText } from './history-text.ts';
import { refuseOtherKey } from './key-values.ts';
import { type RowChange, rowChanges } from './row-changes.ts';
import { Versions } from './versions.ts';

interface Options extends TargetOptions {
  json?: boolean;
}

/** A key that more rows have identifies none, and its versions would fill the memory. */
const MOST_ROWS = 1000;
const NOTE = `
A version is valid from the date of the first table that has it, up to the date of the first one that has not. All feeds that stand are
read: they know no more than they keep. The rows are customers' data, and printed because you ask for them.`;

/** Registers `history`, which changes nothing and writes no file. */
export function addHistory(command: Command): void {
  command
    .argument('<entity>', 'an entity with `changes`', entityArgument)
    .argument('<key...>', 'its key; of several columns one value for each, in the order of `changes.key`')
    .option('--json', 'one JSON document')
    .action(history);
  withExamples(command, {
    'history leads 17 --deployment prod': 'each version of the record 17, and what has changed',
    'history leads 17 IL --deployment prod --json': 'where records are known by two columns',
  }).addHelpText('after', NOTE);
}

async function history(entity: Entity, key: string[], options: Options): Promise<void> {
  const target = await connect(options);
  const found = await historyOf(createBucket(target.s3, target.BucketName), entity, key);
  if (options.json) return printJson(found);
  printOut(historyText(found, process.stdout.columns ?? Number.POSITIVE_INFINITY).join('\n'));
}

/** @throws CommandError: 1 where no feed stands, or none has the key; 2 where the key has other columns */
async function historyOf(bucket: Bucket, entity: Entity, values: string[]): Promise<History> {
  const feeds = await lastFeeds(bucket, entity);
  const [first] = feeds;
  const last = feeds.at(-1);
  if (!first || !last)
    throw failed(
      `No feed of changes of ${entity} stands here, or the newest one has lost its rows: see changes ${entity}.`,
    );
  refuseOtherKey(last, values);
  const versions = new Versions();
  for (const feed of feeds) versions.add(feed, await changesOf(bucket, feed, values));
  const known = {
    firstFeed: first.sequence,
    lastFeed: last.sequence,
    knownFrom: (first.kind === 'changes' && first.from ? first.from : first.to).date,
    knownTo: last.to.date,
  };
  const key = Object.fromEntries(last.key.map((name, part) => [name, values[part] ?? '']));
  if (versions.all.length > 0) return { entity, key, ...known, versions: versions.all };
  const where = `from ${known.knownFrom} to ${known.knownTo}`;
  const whole = feeds.some(({ kind }) => kind === 'snapshot');
  const unseen = whole ? '' : ' None of them has all rows: it is not there, or has not changed since.';
  throw failed(`No feed of ${entity} ${where} has a row with ${keyText(Object.entries(key))}.${unseen}`);
}

/** @throws CommandError (exit code 1) where too many rows have the key */
async function changesOf(bucket: Bucket, feed: FeedRecord, values: string[]): Promise<RowChange[]> {
  const changes: RowChange[] = [];
  for await (const change of rowChanges(bucket, feed, values)) {
    changes.push(change);
    if (changes.length > MOST_ROWS)
      throw failed(
        `More than ${MOST_ROWS} rows of the feed ${feed.sequence} have this key, so it identifies none. They are printed by: ${CRM_EXPORT} changes ${feed.entity} --date ${feed.to.date} --key …`,
      );
  }
  return changes;
}
