import * as z from 'zod/mini';
import { type FeedRecord, feedRecordSchema } from '../../core/changes/chain/feed-record.ts';
import { type FeedHead, readHead, stoppedSchema, writeHead } from '../../core/changes/chain/head.ts';
import { feedObjectOfKey, feedsOf } from '../../core/changes/feed-keys.ts';
import type { Entity } from '../../core/config/entities.ts';
import { entitySchema } from '../../core/config/entity-schema.ts';
import { eachOf } from '../../core/each-of.ts';
import { parseJson } from '../../core/json.ts';
import { type Bucket, createBucket } from '../../core/storage/bucket.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import { CommandError, RUN_FAILED, usageError } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { countText } from '../support/text.ts';

/**
 * `changes` shows the feeds of an entity from their records: sequence, counts, gaps, and why the chain is stopped.
 * It can release a stopped feed. It reads no rows: docs/recipes has queries for rows.
 */

export const changesSchema = z.object({
  entity: entitySchema,
  feeds: z.array(feedRecordSchema).check(z.describe('Records of the feeds, in the order of the chain.')),
  stopped: z.nullable(stoppedSchema).check(z.describe('A mass deletion that was stopped.')),
  release: z.nullable(z.string()).check(z.describe('The reason of the person who released the next feed.')),
});

interface ChangesOptions extends TargetOptions {
  since?: number;
  release?: boolean;
  reason?: string;
  json?: boolean;
}

/**
 * `changes`: prints the feeds of an entity and why the chain is stopped, or releases the next feed.
 * @throws CommandError (exit code 2) for `--release` without `--reason`, and the errors of `release`
 */
export async function changes(entity: Entity, options: ChangesOptions): Promise<void> {
  if ((options.release ?? false) !== (options.reason !== undefined))
    throw usageError('--release and --reason go together.');
  const target = await connect(options);
  const bucket = createBucket(target.s3, target.BucketName);
  if (options.reason !== undefined) return release(bucket, entity, options.reason);
  const { since } = options;
  const { head, feeds, kept } = await feedRecords(bucket, entity, since);
  const gap = kept ? undefined : gapText(feeds, head, since);
  if (gap !== undefined) printErr(gap);
  if (options.json) {
    const { stopped, release } = head;
    return printJson({ entity, feeds, stopped, release } satisfies z.infer<typeof changesSchema>);
  }
  printOut(feeds.length > 0 ? feeds.map(feedText).join('\n') : noFeedText(entity, head, since));
  for (const line of stopText(entity, head, options)) printErr(line);
}

/**
 * The head, the records of the current chain in its order, and whether the bucket still has the chain from `since` on.
 * @param since feeds after this sequence; without it, the newest feed
 * @throws RunError `StorageConflict` (the head cannot be read), `StorageDenied`, `StorageUnavailable`
 */
export async function feedRecords(bucket: Bucket, entity: Entity, since?: number) {
  // The head is read first: a run writes a feed before the head that points to it.
  const { head } = await readHead(bucket, entity);
  const chain = chainOf(await recordsOf(bucket, entity), head);
  const feeds = since === undefined ? chain.slice(-1) : chain.filter(({ sequence }) => sequence > since);
  return { head, feeds, kept: feeds.length < chain.length || chain[0]?.from === null };
}

/** A feed on one line: its sequence, its first and last date, and its counts. */
function feedText({ entity, sequence, kind, from, to, inserts, deletes, updates, rows }: FeedRecord): string {
  const between = from ? `${from.date} to ${to.date}` : to.date;
  const what =
    kind === 'snapshot'
      ? `all ${countText(rows, 'row')}, which replace everything`
      : `${inserts} inserted, ${deletes} deleted, ${updates} updated`;
  return `${entity}, feed ${sequence}, ${between}: ${what} (${to.run})`;
}

/**
 * The feeds up to the head, oldest first. Each feed names the run of the feed before it. Sequence numbers do not lead to
 * the previous feed, because a snapshot may skip numbers, and feeds of a former chain remain with equal numbers.
 */
function chainOf(records: FeedRecord[], { sequence, end }: FeedHead): FeedRecord[] {
  const chain: FeedRecord[] = [];
  let feed = records.find((each) => each.sequence === sequence && each.to.run === end?.run);
  while (feed) {
    const { sequence: place, from }: FeedRecord = feed;
    chain.push(feed);
    feed = records.find((each) => each.sequence < place && each.to.run === from?.run);
  }
  return chain.toReversed();
}

async function recordsOf(bucket: Bucket, entity: Entity): Promise<FeedRecord[]> {
  const listed = await bucket.list(`${feedsOf(entity)}date=`);
  const ofRecords = listed.map(({ key }) => key).filter((key) => feedObjectOfKey(key)?.kind === 'record');
  const texts = await eachOf(ofRecords, async (key) => (await bucket.read(key))?.text);
  return texts.flatMap((text) => parseJson(feedRecordSchema, text) ?? []);
}

/**
 * Releases the next feed of a stopped chain, however many keys are gone.
 * @throws CommandError: 2 if the chain is not stopped, 1 if a run wrote the head at the same moment
 */
async function release(bucket: Bucket, entity: Entity, reason: string): Promise<void> {
  if (reason.trim() === '' || reason.length > 500)
    throw usageError('--reason takes a sentence of at most 500 characters.');
  const standing = await readHead(bucket, entity);
  const { head } = standing;
  if (!head.stopped) throw usageError(`No feed of ${entity} is stopped: there is nothing to release.`);
  if (!(await writeHead(bucket, entity, standing, { ...head, release: reason })))
    throw new CommandError(`A run wrote a feed of ${entity} at the same time. Run the command again.`, RUN_FAILED);
  const { gone, of, date } = head.stopped;
  printErr(
    `The next feed of ${entity} will be written, no matter how many ${of} are missing then. On ${date}, ${countText(gone, of === 'keys' ? 'key' : 'row')} were missing.`,
  );
}

/** Why no feed matches the request. */
function noFeedText(entity: Entity, { sequence }: FeedHead, since = 0): string {
  if (sequence === 0)
    return `There is no feed of ${entity} yet. A run writes the first feed after its table, if the configuration has \`changes\` for ${entity}.`;
  const anew = since > sequence ? ' If the chain was started again, read it from its start: --since 0.' : '';
  return `There is no feed of ${entity} after feed ${since}: the last one was feed ${sequence}.${anew}`;
}

/** Which feeds after the requested sequence are no longer kept; `undefined` if all are kept. */
function gapText(feeds: FeedRecord[], { sequence }: FeedHead, since?: number): string | undefined {
  if (since === undefined) return undefined;
  const first = feeds[0]?.sequence ?? sequence + 1;
  if (first <= since + 1) return undefined;
  const whole = feeds.find(({ kind }) => kind === 'snapshot');
  const then = whole ? ` Feed ${whole.sequence} has all rows: begin with that feed.` : '';
  const gone = first === since + 2 ? `Feed ${since + 1} is` : `Feeds ${since + 1} to ${first - 1} are`;
  return `${gone} no longer stored.${then}`;
}

/** The lines about a stopped mass deletion: which keys are gone, and how to release the next feed. */
function stopText(entity: Entity, { stopped, release, end }: FeedHead, place: TargetOptions): string[] {
  if (!stopped) return [];
  const { gone, keys, of, date } = stopped;
  const what = [`Stopped: ${gone} of ${keys} ${of} were missing in the table of ${date}.`];
  // A later file of that date may have replaced the file that caused the stop.
  if (end && end.date !== date) {
    const [name] = end.key.length === 1 ? end.key : [];
    const key = name === undefined || name === 'id' ? '' : ` --key ${quoted(name)}`;
    const dates = `--from ${end.date} --to ${date}`;
    what.push(`To list them: ${commandFor(`diff ${entity} ${dates}${key} --show-keys`, place)}`);
  }
  if (release !== null) return [...what, 'A person has released the next feed, so the next run writes it.'];
  return [...what, `To release the next feed: ${commandFor(`changes ${entity} --release --reason WHY`, place)}`];
}
