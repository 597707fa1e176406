import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import { changedColumns } from './change-text.ts';
import type { Version } from './documents.ts';
import type { Row, RowChange } from './row-changes.ts';

/** The versions of the rows of one key, feed by feed. A key that stands more than once has several at a time. */
export class Versions {
  /** In the order in which they began. */
  readonly all: Version[] = [];
  #standing: Version[] = [];

  /** Adds what the next feed of the chain says of the key. */
  add(feed: FeedRecord, changes: RowChange[]): void {
    if (feed.kind === 'snapshot') this.#replace(feed, changes);
    else for (const change of changes) this.#change(feed, change);
  }

  #change(feed: FeedRecord, { before, after }: RowChange): void {
    if (before) this.#take(before, feed, after ? 'update' : 'delete');
    if (after) this.#begin(after, feed, before ? 'update' : 'insert', before);
  }

  /** A feed of all rows: what it has already goes on, and what it lacks has ended. */
  #replace(feed: FeedRecord, changes: RowChange[]): void {
    const recent = changes.flatMap(({ after }) => (after ? [after] : []));
    const other = this.#standing.filter(({ row }) => {
      const same = recent.findIndex((each) => changedColumns(row, each, feed.ignore).length === 0);
      if (same >= 0) recent.splice(same, 1);
      return same < 0;
    });
    for (const version of other) {
      const next = recent.shift();
      this.#end(version, feed, next ? 'update' : 'snapshot');
      if (next) this.#begin(next, feed, 'snapshot', version.row);
    }
    for (const row of recent) this.#begin(row, feed, 'snapshot', null);
  }

  #take(row: Row, feed: FeedRecord, how: 'update' | 'delete'): void {
    const standing = this.#standing.find((each) => changedColumns(each.row, row, feed.ignore).length === 0);
    this.#end(standing ?? this.#unseen(row), feed, how);
  }

  #begin(row: Row, { sequence, to, ignore }: FeedRecord, began: Version['began'], before: Row | null): void {
    const changed = before ? changedColumns(before, row, ignore) : [];
    const from = { validFrom: to.date, validTo: null, fromSequence: sequence, toSequence: null };
    this.#put({ ...from, began, ended: null, changed, row });
  }

  /** One that stood before the first feed that is known. */
  #unseen(row: Row): Version {
    const from = { validFrom: null, validTo: null, fromSequence: null, toSequence: null };
    return this.#put({ ...from, began: 'before', ended: null, changed: [], row });
  }

  #put(version: Version): Version {
    this.all.push(version);
    this.#standing.push(version);
    return version;
  }

  #end(version: Version, { sequence, to }: FeedRecord, ended: Version['ended']): void {
    Object.assign(version, { validTo: to.date, toSequence: sequence, ended });
    this.#standing = this.#standing.filter((each) => each !== version);
  }
}
