import { type Command, Option } from 'commander';
import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import type { Entity } from '../../core/config/entities.ts';
import { type Bucket, createBucket } from '../../core/storage/bucket.ts';
import { dateArgument, entityArgument, numberArgument, withExamples } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { feedsDocument } from './documents.ts';
import { feedRecords } from './feeds.ts';
import { feedsText, rowsOfKeyText } from './feeds-text.ts';
import { refuseOtherKeys } from './key-values.ts';
import { printStream } from './print-stream.ts';
import { release } from './release.ts';
import { gapText, noFeedText, stopText } from './standing-text.ts';

interface ChangesOptions extends TargetOptions {
  date?: string;
  since?: number;
  key?: string[];
  release?: boolean;
  reason?: string;
  json?: boolean;
}

const NOTE = `
+ inserted, - deleted, ~ updated: what differs, ignored columns aside. On a terminal the first rows; a pipe has all of them.
The rows are customers' data: they are printed because you ask for them, and stay in the scrollback and in whatever the
output is written to.`;

/** Registers `changes`. */
export function addChanges(command: Command): void {
  command
    .argument('<entity>', 'an entity with `changes`', entityArgument)
    .option('--date <YYYY-MM-DD>', 'the feeds that end at this date; without it the newest', dateArgument)
    .addOption(
      new Option('--since <sequence>', 'all feeds behind this place in the chain')
        .argParser(numberArgument('A whole number from 0 on.', 0, Number.MAX_SAFE_INTEGER))
        .conflicts('date'),
    )
    .option(
      '--key <value>',
      'only rows with this key; of a key of several columns once for each, in the order of `changes.key`',
      (value, before: string[] = []) => [...before, value],
    )
    .addOption(
      new Option('--release', 'let the next feed through, whatever is gone; with --reason').conflicts([
        'date',
        'since',
        'key',
        'json',
      ]),
    )
    .option('--reason <text>', 'why so much may be gone; stays beside the feed in the bucket')
    .option('--json', 'one JSON document, with all rows')
    .action(changes);
  withExamples(command, {
    'changes leads --deployment prod': 'the newest feed, and whether a mass deletion was stopped',
    'changes leads --since 41 --deployment prod --json': 'what came behind the feed 41',
    'changes leads --since 0 --key 17 --deployment prod': 'what feeds say of the record 17',
    'changes leads --key 17 --key IL --deployment prod': 'where records are known by two columns',
    'changes leads --release --reason "Archived" --deployment prod': 'so many records are gone for good',
  }).addHelpText('after', NOTE);
}

async function changes(entity: Entity, options: ChangesOptions): Promise<void> {
  if (options.release !== (options.reason !== undefined) && (options.release || options.reason !== undefined))
    throw new CommandError('--release and --reason go together.', USAGE);
  const target = await connect(options);
  const bucket = createBucket(target.s3, target.BucketName);
  if (options.reason !== undefined) return release(bucket, entity, options.reason);
  const { head, feeds } = await feedRecords(bucket, entity, options);
  const { key, json } = options;
  if (key) refuseOtherKeys(feeds, key, options);
  const gap = gapText(feeds, head, options);
  if (gap !== undefined) printErr(gap);
  if (json) return printStream(feedsDocument(bucket, { entity, feeds, key }, head), 'document');
  try {
    if (feeds.length === 0) printOut(noFeedText(entity, head, options));
    else await printFeeds(bucket, feeds, key);
  } finally {
    for (const line of stopText(entity, head, options)) printErr(line);
  }
}

async function printFeeds(bucket: Bucket, feeds: FeedRecord[], key?: string[]): Promise<void> {
  const width = process.stdout.columns ?? Number.POSITIVE_INFINITY;
  await printStream(key ? rowsOfKeyText(bucket, feeds, key, width) : feedsText(bucket, feeds, width), 'lines');
}
