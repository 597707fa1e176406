import { type Command, Option } from 'commander';
import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import { type FeedHead, readHead, writeHead } from '../../core/changes/chain/head.ts';
import type { Entity } from '../../core/config/entities.ts';
import { type Bucket, createBucket } from '../../core/storage/bucket.ts';
import {
  commandFor,
  dateArgument,
  entityArgument,
  numberArgument,
  quoted,
  withExamples,
} from '../support/command-options.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { type ChangesDocument, feedRecords, feedText, type WantedFeeds } from './feeds.ts';

/**
 * `changes` shows the feeds of an entity from their records: sequence, counts, gaps, and why the chain is stopped.
 * It can release a stopped feed. It reads no rows: docs/recipes has queries for rows.
 */

interface ChangesOptions extends TargetOptions {
  date?: string;
  since?: number;
  release?: boolean;
  reason?: string;
  json?: boolean;
}

const NOTE = `
The command prints counts, no rows. The rows of a feed are in changes/entity=ENTITY/date=DATE/run=RUN/changes.parquet in the bucket;
docs/recipes has queries for DuckDB and Athena, with the history of a record.`;

export function addChanges(command: Command): void {
  command
    .argument('<entity>', 'an entity with `changes`', entityArgument)
    .option('--date <YYYY-MM-DD>', 'the feeds that end at this date; without it the newest', dateArgument)
    .addOption(
      new Option('--since <sequence>', 'all feeds after this place in the chain')
        .argParser(numberArgument('A whole number from 0 on.', 0, Number.MAX_SAFE_INTEGER))
        .conflicts('date'),
    )
    .addOption(
      new Option('--release', 'let the next feed through, whatever is gone; with --reason').conflicts([
        'date',
        'since',
        'json',
      ]),
    )
    .option('--reason <text>', 'why so much may be gone; stays beside the feed in the bucket')
    .option('--json', 'one JSON document: the records of the feeds, and what is stopped')
    .action(changes);
  withExamples(command, {
    'changes leads --deployment prod': 'counts of the newest feed, and whether a mass deletion was stopped',
    'changes leads --since 41 --deployment prod --json': 'the feeds after feed 41',
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
  const gap = gapText(feeds, head, options);
  if (gap !== undefined) printErr(gap);
  if (options.json) {
    const { stopped, release } = head;
    return printJson({ entity, feeds, stopped, release } satisfies ChangesDocument);
  }
  printOut(feeds.length > 0 ? feeds.map(feedText).join('\n') : noFeedText(entity, head, options));
  for (const line of stopText(entity, head, options)) printErr(line);
}

/**
 * Releases the next feed of a stopped chain, however many keys are gone.
 * @throws CommandError: 2 if the chain is not stopped, 1 if a run wrote the head at the same moment
 */
async function release(bucket: Bucket, entity: Entity, reason: string): Promise<void> {
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

/** Why no feed matches the request. */
function noFeedText(entity: Entity, { sequence }: Pick<FeedHead, 'sequence'>, wanted: WantedFeeds): string {
  const { date, since = 0 } = wanted;
  if (date !== undefined) return `No feed of changes of ${entity} ends at ${date}.`;
  if (sequence === 0)
    return `No feed of changes of ${entity} yet: the first one comes behind a table, where the configuration has \`changes\` of ${entity}.`;
  if (since === sequence) return `No feed of changes of ${entity} is behind ${since}, the last one.`;
  if (since > sequence)
    return `No feed of changes of ${entity} is behind ${since}: the last one is ${sequence}. If the chain has begun anew, begin with it: --since 0.`;
  return `No feed of changes of ${entity} is left: the last one, ${sequence}, is not kept any more, or its record cannot be read.`;
}

/** Which feeds after the requested sequence are no longer kept; `undefined` if all are kept. */
function gapText(
  feeds: FeedRecord[],
  { sequence }: Pick<FeedHead, 'sequence'>,
  { since }: WantedFeeds,
): string | undefined {
  if (since === undefined) return undefined;
  const first = feeds[0]?.sequence ?? sequence + 1;
  if (first <= since + 1) return undefined;
  const whole = feeds.find(({ kind }) => kind === 'snapshot');
  const then = whole ? ` The feed ${whole.sequence} has all rows: begin with it.` : '';
  const gone = first === since + 2 ? `The feed ${since + 1} is` : `The feeds ${since + 1} to ${first - 1} are`;
  return `${gone} not kept any more.${then}`;
}

/** The lines about a stopped mass deletion: which keys are gone, and how to release the next feed. */
function stopText(
  entity: Entity,
  { stopped, release, end }: Pick<FeedHead, 'stopped' | 'release' | 'end'>,
  place: TargetOptions,
): string[] {
  if (!stopped) return [];
  const { gone, keys, of, date } = stopped;
  const what = [`Stopped: ${gone} of ${keys} ${of} were gone from the table of ${date}.`];
  // A later file of that date may have replaced the file that caused the stop.
  if (end && end.date !== date) {
    const [name] = end.key.length === 1 ? end.key : [];
    const key = name === undefined || name === 'id' ? '' : ` --key ${quoted(name)}`;
    const dates = `--from ${end.date} --to ${date}`;
    what.push(`Which: ${commandFor(`diff ${entity} ${dates}${key} --show-keys`, place)}`);
  }
  if (release !== null) return [...what, 'A person lets the next feed through.'];
  return [...what, `To let the next feed through: ${commandFor(`changes ${entity} --release --reason "…"`, place)}`];
}
