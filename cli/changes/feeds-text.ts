import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { manyText } from '../support/text.ts';
import { changeText, keyText } from './change-text.ts';
import { rowChanges } from './row-changes.ts';

/** Rows on a terminal, of all feeds together; elsewhere all are printed. */
const SHOWN_ROWS = 20;

/**
 * Feeds for a person, line by line: what each counts, and its rows, which are read while they are printed.
 * @param width of the terminal, or infinite
 * @throws what reading feeds throws
 */
export async function* feedsText(bucket: Bucket, feeds: FeedRecord[], width: number): AsyncGenerator<string> {
  let room = width === Number.POSITIVE_INFINITY ? width : SHOWN_ROWS;
  for (const feed of feeds) {
    yield `${headingOf(feed)}\n`;
    let left = feed.inserts + feed.deletes + feed.updates;
    const most = Math.min(room, left);
    for await (const text of rowsText(bucket, feed, most, width)) yield text;
    room -= most;
    left -= most;
    if (left > 0) yield `… ${manyText(left, 'more row')}: all of them in a pipe (| less), and with --json.\n`;
  }
}

/** The rows of one key for a person, below the feeds that have some. As `feedsText` besides. */
export async function* rowsOfKeyText(
  bucket: Bucket,
  feeds: FeedRecord[],
  key: string[],
  width: number,
): AsyncGenerator<string> {
  let found = false;
  for (const feed of feeds) {
    let heading = `${headingOf(feed)}\n`;
    for await (const text of rowsText(bucket, feed, Number.POSITIVE_INFINITY, width, key)) {
      yield `${heading}${text}`;
      heading = '';
      found = true;
    }
  }
  if (!found) yield `No row with ${wordsOf(feeds, key)} is in ${manyText(feeds.length, 'feed')}.\n`;
}

async function* rowsText(
  bucket: Bucket,
  feed: FeedRecord,
  most: number,
  width: number,
  key?: string[],
): AsyncGenerator<string> {
  if (most === 0) return;
  let shown = 0;
  for await (const change of rowChanges(bucket, feed, key)) {
    yield `${changeText(change, feed, width)}\n`;
    shown += 1;
    if (shown === most) return;
  }
}

function headingOf({ entity, sequence, kind, from, to, inserts, deletes, updates, rows }: FeedRecord): string {
  const between = from ? `${from.date} to ${to.date}` : to.date;
  const what =
    kind === 'snapshot'
      ? `all ${manyText(rows, 'row')}, which replace everything`
      : `${inserts} inserted, ${deletes} deleted, ${updates} updated`;
  return `${entity}, feed ${sequence}, ${between}: ${what} (${to.run})`;
}

function wordsOf(feeds: FeedRecord[], values: string[]): string {
  const names = feeds.at(-1)?.key ?? [];
  return keyText(names.map((name, part) => [name, values[part] ?? null]));
}
