import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { advanceChain } from '../../../../core/changes/chain/advance-chain.ts';
import { feedBucket } from '../../../../core/changes/chain/feed-bucket.ts';
import type { FeedRecord } from '../../../../core/changes/chain/feed-record.ts';
import {
  type FeedDraft,
  type FeedEnd,
  type FeedHead,
  type FeedPair,
  NO_FEEDS,
} from '../../../../core/changes/chain/head.ts';
import { baseKey, feedKey, headKey, recordKey } from '../../../../core/changes/feed-keys.ts';
import type { FeedInput, WrittenFeed } from '../../../../core/changes/write-feed.ts';
import { RunError } from '../../../../core/errors.ts';
import { latestPointerKey, type OrderedRun } from '../../../../core/export/pointer.ts';
import { inFolder } from '../../../../core/table/engine.ts';
import { tableKey } from '../../../../core/table/stored-table.ts';
import { fakeBucket } from '../../../support/fake-bucket.ts';
import { manifestOf, pointerTo } from '../../../support/manifests.ts';
import { runs } from '../../../support/runs.ts';
import { randomFrom } from '../../../support/seeds.ts';

/** A table or a feed as a file: the real ones need DuckDB, which takes too long for so many nights. */
interface Table {
  /** Identifies the origin of its rows. */
  identity: number;
  /** Keys and their values. */
  rows: [key: number, value: number][];
}
interface Feed extends Pick<FeedDraft, 'sequence' | 'from' | 'to'> {
  kind: FeedPair['kind'];
  /** Rows of the newer table. */
  rows: number;
  changes: [key: number, value: number | null][];
}

/** The turn of a function that waits before a request. */
type Turn = PromiseWithResolvers<void>;
class Killed extends Error {}

const HEAD = headKey('leads');
const LATEST = latestPointerKey('leads');

/** A bucket, its clock, and the active functions. Every request to the bucket waits for its turn. */
class World {
  readonly #random: () => number;
  readonly #folder: string;
  readonly #waiting: Turn[] = [];
  readonly #slow: Turn[] = [];
  /** Functions between two requests, and who waits until there is none. */
  #running = 0;
  #idle = () => {};
  readonly bucket = fakeBucket({ before: () => this.#turn() });
  #head = NO_FEEDS;
  /** The objects of a chain whose head was lost. */
  readonly #left = new Set<string>();
  readonly bugs: unknown[] = [];
  /** Releases by a person since the last feed. */
  releases = 0;
  identity = 0;
  ignore: string[] = [];
  now = Date.parse('2026-11-20T02:00:00Z');
  #nights = 0;
  #orderly = false;
  #rowsOfNight = new Map(keys(30).map((key) => [key, key]));

  constructor(seed: number, folder: string) {
    this.#random = randomFrom(seed);
    this.#folder = folder;
  }

  below(most: number): number {
    return Math.floor(this.#random() * most);
  }

  get head(): FeedHead {
    return this.json(HEAD) ?? NO_FEEDS;
  }

  get latest(): OrderedRun | undefined {
    return this.json(LATEST);
  }

  json<T>(key: string): T | undefined {
    const text = this.bucket.text(key);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  }

  #turn(): Promise<void> {
    if (this.#orderly) return Promise.resolve();
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn);
    this.#paused();
    return turn.promise;
  }

  #paused(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#idle();
  }

  /** Waits until each active function waits for its turn. */
  async untilIdle(): Promise<void> {
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  resume(): void {
    const next = this.#drawn();
    if (next) this.#running += 1;
    next?.resolve();
  }

  #drawn(): Turn | undefined {
    return this.#waiting.splice(this.below(this.#waiting.length), 1)[0];
  }

  /** Lets a waiting function wait until `wake`. */
  stall(): void {
    const next = this.#drawn();
    if (next) this.#slow.push(next);
  }

  wake(): void {
    this.#waiting.push(...this.#slow.splice(0));
  }

  /** Kills a waiting function: it makes no further request. */
  kill(killed = this.#drawn()): void {
    if (killed) this.#running += 1;
    killed?.reject(new Killed());
  }

  /** Moves the clock by more than any function's duration. */
  hoursPass(): void {
    for (const each of [...this.#waiting.splice(0), ...this.#slow.splice(0)]) this.kill(each);
    this.now += 3 * 3_600_000;
  }

  async invoke(): Promise<void> {
    this.#running += 1;
    const { bucket } = this;
    const replaced: typeof bucket.replace = async (key, ...more) =>
      this.#watched(key, await bucket.replace(key, ...more));
    const putOnce: typeof bucket.putOnce = async (key, ...more) =>
      this.#watched(key, await bucket.putOnce(key, ...more));
    const store = feedBucket(
      {
        ...{
          entity: 'leads',
          version: 1,
          settings: 's',
          key: ['id'],
          ignore: this.ignore,
          now: () => new Date(this.now),
        },
        bucket: { ...bucket, putOnce, replace: replaced },
        folder: mkdtempSync(join(this.#folder, 'function-')),
        ...{ bufferMB: 900, diskBytes: 1e9, onProgress: () => undefined },
      },
      writeChanges,
    );
    await advanceChain(store, '', 0.2).catch((error: unknown) => {
      // The step is retried, as the next run does.
      const waits = error instanceof RunError && error.name === 'StorageUnavailable' && !this.#orderly;
      const isStopped = error instanceof RunError && error.name === 'ChangesStopped';
      if (!waits && !isStopped && !(error instanceof Killed)) this.bugs.push(error);
    });
    this.#paused();
  }

  #watched(key: string, written: boolean): boolean {
    if (written && key === HEAD) this.#watch(this.head);
    return written;
  }

  /** Publishes a table with a few differences or without half of the keys, on a new date or again on the same date. */
  publish(massDeletion: boolean): void {
    this.#nights += 1;
    const sameDate = this.below(4) === 0 ? this.latest?.date : undefined;
    const rows = new Map([...this.#rowsOfNight].filter(([key]) => !massDeletion || key % 2 === 0));
    for (let change = 0; change < 3; change += 1) rows.set(this.below(40), this.below(1000));
    this.#rowsOfNight = rows;
    this.#putTable('night', sameDate ?? this.#dateOf(this.#nights), [...rows]);
  }

  /** A person removed `latest.json`, and an older date was published again. */
  publishOlder(): void {
    const date = this.#dateOf(Math.max(1, this.#nights - 1 - this.below(3)));
    this.#nights += 1;
    this.#putTable('older', date, [[1, 1]]);
  }

  #dateOf(night: number): string {
    return new Date(Date.UTC(2026, 0, night)).toISOString().slice(0, 10);
  }

  #putTable(name: string, date: string, rows: Table['rows']): void {
    const execution = `${name}-${String(this.#nights).padStart(3, '0')}`;
    const table: Table = { identity: this.identity, rows };
    this.bucket.put(tableKey('leads', date, 1), JSON.stringify(table), { run: execution, settings: 's' });
    const startedAt = new Date(this.now + this.#nights).toISOString();
    this.bucket.put(LATEST, JSON.stringify(pointerTo(manifestOf({ date, execution, startedAt }))));
  }

  /** `table RUN`: writes the same records to a new object, whose values the current settings show in another form. */
  writeTableAgain(): void {
    const { date = '', execution = '' } = this.latest ?? {};
    const key = tableKey('leads', date, 1);
    const { identity } = this;
    const rows = recordsOf(this.json<Table>(key)).map(([id, value]): [number, number] => [id, value + identity / 2]);
    this.bucket.put(key, JSON.stringify({ identity, rows }), { run: execution, settings: 's' });
  }

  /** Checks the rules that every head must keep. */
  #watch(next: FeedHead): void {
    const before = this.#head;
    this.#head = next;
    const { sequence, pair, end } = next;
    const { end: from } = before;
    const older = end && from && placeOf(end) !== placeOf(from) && placeInTime(end) < placeInTime(from);
    if (older) this.bugs.push('a feed contains an older run');
    const fewer = from?.rows !== undefined && from.rows >= 20 && (end?.rows ?? 0) < 0.8 * from.rows;
    if (sequence > before.sequence && fewer && before.pair?.released === null)
      this.bugs.push('a feed contains a mass deletion');
    const unasked = pair && pair.released !== before.release && pair.released !== before.pair?.released;
    if (unasked) this.bugs.push('a release that no person gave, or that was given for another feed');
    const passed = sequence > before.sequence && before.stopped && isUnjudged(before.pair);
    if (passed && before.pair?.released === null) this.bugs.push('all rows passed a stopped head');
    if (sequence > before.sequence && this.releases === 0 && before.pair?.released) this.bugs.push('released twice');
    if (sequence > before.sequence) this.releases = 0;
  }

  release(): void {
    if (!this.head.stopped) return;
    this.releases += 1;
    this.#head = { ...this.head, release: 'Right.' };
    this.bucket.put(HEAD, JSON.stringify(this.#head));
  }

  /** Removes the table copy of the last feed or of the feed in progress. */
  expireBase(): void {
    const { end, pair } = this.head;
    const run = this.below(2) === 0 ? end?.run : pair?.to.run;
    if (run !== undefined) this.bucket.remove(baseKey('leads', run));
  }

  /** Removes the copies of the feed in progress, while slow functions still store it. */
  replacePair(): void {
    const { pair } = this.head;
    if (!pair) return;
    this.bucket.remove(baseKey('leads', pair.to.run));
    if (this.below(2) === 0) this.publish(false);
    for (let calls = 0; calls < 3; calls += 1) void this.invoke();
  }

  /** Removes the head while no function is active; the feeds stay. */
  loseHead(): void {
    this.hoursPass();
    this.bucket.remove(HEAD);
    this.#head = NO_FEEDS;
    for (const key of this.bucket.keys()) this.#left.add(this.bucket.text(key) ?? '');
    this.releases = 0;
  }

  /** The feeds or records of the current chain, also those of pairs that were replaced. */
  written<T>(kind: RegExp): T[] {
    const texts = this.bucket.keys().map((key) => (kind.test(key) ? this.bucket.text(key) : undefined));
    return texts.flatMap((text) => (text === undefined || this.#left.has(text) ? [] : [JSON.parse(text) as T]));
  }

  /** Lets the functions run one at a time from now on. A pair whose copies are gone stays until the next night. */
  async settle(): Promise<void> {
    this.hoursPass();
    this.#orderly = true;
    await this.invoke();
    const { pair } = this.head;
    if (!pair || (await this.#hasCopies(pair))) return;
    this.publish(false);
    await this.invoke();
  }

  async #hasCopies({ kind, from, to }: FeedPair): Promise<boolean> {
    const isThere = async ({ run, etag }: FeedEnd) => (await this.bucket.head(baseKey('leads', run)))?.etag === etag;
    return (await isThere(to)) && (kind === 'snapshot' || from === null || (await isThere(from)));
  }
}

const FEED = /changes\.parquet$/;
const RECORD = /_feed\.json$/;
const keys = (count: number) => Array.from({ length: count }, (_, key) => key);
/** The values of a table in every form of the settings. */
const recordsOf = (table: Pick<Table, 'rows'> | undefined) =>
  (table?.rows ?? []).map(([key, value]): [number, number] => [key, Math.floor(value)]);
/** A snapshot without a comparison with the previous table. */
const isUnjudged = (pair: FeedPair | null) => pair?.kind === 'snapshot' && pair.counts.keys === 0;
const placeInTime = ({ date, startedAt, run }: Pick<FeedEnd, 'run' | 'date' | 'startedAt'>) =>
  `${date} ${startedAt} ${run}`;
const placeOf = ({ date, run }: { date: string; run: string }) => `${date} ${run}`;

/** Stands for DuckDB: writes the feed between two tables in JSON. */
async function writeChanges({ before, after, feed, asSnapshot, ...place }: FeedInput): Promise<WrittenFeed> {
  const read = (path: string): Table => JSON.parse(readFileSync(path, 'utf8'));
  const [now, was] = [read(after), before === null ? undefined : read(before)];
  const asBefore = !asSnapshot && isDeepStrictEqual(place.from?.ignore, place.to.ignore);
  const kind = was?.identity === now.identity && asBefore ? 'changes' : 'snapshot';
  const [rows, old] = [new Map(now.rows), new Map(was?.rows)];
  const gone = [...old.keys()].filter((key) => !rows.has(key));
  const changed = now.rows.filter(([key, value]) => old.get(key) !== value);
  const changes: Feed['changes'] =
    kind === 'snapshot' ? now.rows : [...changed, ...gone.map((key): [number, null] => [key, null])];
  writeFileSync(feed, JSON.stringify({ ...place, kind, rows: rows.size, changes }));
  const counts = {
    inserts: 0,
    deletes: 0,
    updates: 0,
    unmatched: 0,
    rows: rows.size,
    keys: old.size,
    gone: gone.length,
  };
  return { kind, of: was ? 'keys' : 'rows', ...counts };
}

/** Events, each as frequent as it is listed. */
const EVENTS: ((world: World) => unknown)[] = [
  ...Array(40).fill((world: World) => world.resume()),
  ...Array(8).fill((world: World) => void world.invoke()),
  ...Array(3).fill((world: World) => world.publish(false)),
  ...Array(3).fill((world: World) => world.kill()),
  (world) => world.publish(true),
  (world) => world.release(),
  (world) => world.hoursPass(),
  (world) => world.writeTableAgain(),
  (world) => world.expireBase(),
  ...Array(2).fill((world: World) => world.replacePair()),
  ...Array(2).fill((world: World) => world.stall()),
  (world) => world.wake(),
  (world) => world.below(4) === 0 && world.publishOlder(),
  (world) => world.below(4) === 0 && world.loseHead(),
  (world) => {
    world.identity = world.below(2);
    world.ignore = world.below(2) === 0 ? [] : ['at'];
  },
];
const EVENTS_OF_ONE = 350;

async function played(seed: number, folder: string): Promise<World> {
  const world = new World(seed, folder);
  world.publish(false);
  for (let event = 0; event < EVENTS_OF_ONE; event += 1) {
    EVENTS[world.below(EVENTS.length)]?.(world);
    await world.untilIdle();
  }
  await world.settle();
  return world;
}

/** The rows of a reader who applies all feeds from the first one on. */
function folded(feeds: Feed[]): Table['rows'] {
  const rows = new Map<number, number>();
  for (const { kind, changes } of feeds) {
    if (kind === 'snapshot') rows.clear();
    for (const [key, value] of changes) {
      if (value === null) rows.delete(key);
      else rows.set(key, value);
    }
  }
  return [...rows];
}

/** The recorded feeds from the head back to the first one. */
function chainOf(world: World): Feed[] {
  const feeds: Feed[] = [];
  for (let { end } = world.head; end; ) {
    const feed = world.json<Feed>(feedKey('leads', end));
    const record = world.json<FeedRecord>(recordKey('leads', end));
    if (!feed || record?.sequence !== feed.sequence || record.kind !== feed.kind) break;
    feeds.unshift(feed);
    end = feed.from;
  }
  return feeds;
}

async function whatIsWrong(world: World): Promise<unknown[]> {
  const { head, latest, bucket } = world;
  const feeds = chainOf(world);
  const last = feeds.at(-1);
  // A slow function stored the feed of a pair that was replaced.
  const late = world.written<Feed>(FEED).filter(({ to }) => !feeds.some((feed) => isDeepStrictEqual(feed.to, to)));
  const records = world.written<FeedRecord>(RECORD);
  const recorded = records.map(async ({ to, feed }) => (await bucket.head(feedKey('leads', to)))?.etag === feed.etag);
  const stopped = head.stopped && head.release === null;
  // While a mass deletion stops the chain, a pair may stay open.
  const awaited = stopped && head.pair ? [head.pair] : [];
  // After `latest.json` was restored, the table at the end of the feeds is the newest.
  const furthest = head.pair?.to ?? head.end;
  const ahead = !latest || !furthest || placeInTime({ ...latest, run: latest.execution }) >= placeInTime(furthest);
  const newest = ahead ? world.json<Table>(tableKey('leads', latest?.date ?? '', 1)) : undefined;
  const ofEnd = head.end ? world.json<Table>(baseKey('leads', head.end.run)) : undefined;
  const rules: [holds: boolean, what: string][] = [
    [head.pair === null || Boolean(stopped) || !ahead, 'a pair is open'],
    [feeds.every((feed, place) => follows(feed, feeds[place - 1])), 'a sequence number is missing'],
    [
      late.every((feed) => isReplaced(feed, [...feeds, ...awaited])),
      'a feed outside the chain has no snapshot after it',
    ],
    [(last?.sequence ?? 0) === head.sequence, 'the head has another sequence number'],
    [new Set(records.map(({ sequence }) => sequence)).size === records.length, 'two records have one sequence number'],
    [(await Promise.all(recorded)).every(Boolean), 'a record has no feed'],
    [
      feeds.every(({ from }, place) => isDeepStrictEqual(from, endOf(feeds[place - 1]))),
      'a feed does not begin where the previous one ended',
    ],
    [isDeepStrictEqual(endOf(last), head.end), 'the head is not the end of the last feed'],
    [Boolean(stopped) || !ahead || last?.to.run === latest?.execution, 'the newest table is in no feed'],
    [
      Boolean(stopped) || !newest || sameRows(recordsOf({ rows: folded(feeds) }), recordsOf(newest)),
      'the feeds have other rows than the newest table',
    ],
    [!ofEnd || sameRows(folded(feeds), ofEnd.rows), 'the feeds have other rows than the table that they end at'],
  ];
  return [...world.bugs, ...rules.flatMap(([holds, what]) => (holds ? [] : [what]))];
}

/** Only a snapshot may skip sequence numbers: those of pairs whose copies were gone. */
function follows({ sequence, kind }: Feed, before?: Feed): boolean {
  const skipped = sequence - 1 - (before?.sequence ?? 0);
  return skipped === 0 || (skipped > 0 && kind === 'snapshot');
}

const isReplaced = ({ sequence }: Feed, feeds: Pick<Feed, 'sequence' | 'kind'>[]) =>
  feeds.every((feed) => feed.sequence !== sequence) &&
  feeds.some((feed) => feed.kind === 'snapshot' && feed.sequence > sequence);

const endOf = (feed: Feed | undefined) => (feed ? { ...feed.to, rows: feed.rows } : null);

function sameRows(one: Table['rows'], other: Table['rows']): boolean {
  return isDeepStrictEqual(new Map(one), new Map(other));
}

test('feeds are one chain to the newest table for any order of runs, retries, kills, releases and reruns', {
  timeout: 300_000,
}, async () => {
  const seeds = runs(1000);
  let feeds = 0;
  let stops = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    await inFolder('feeds-', async (folder) => {
      const world = await played(seed, folder);
      expect(await whatIsWrong(world), `seed ${seed}`).toEqual([]);
      const isReleased = world.written<FeedRecord>(RECORD).some(({ released }) => released !== null);
      feeds += world.bucket.keys().filter((key) => FEED.test(key)).length;
      stops += Number(isReleased) + Number(world.head.stopped !== null);
    });
  }
  expect(feeds).toBeGreaterThan(seeds);
  expect(stops).toBeGreaterThan(seeds / 50);
});
