import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { advanceChain, type FeedStore, type NewestTable } from '../../../../core/changes/chain/advance-chain.ts';
import type { FeedRecord } from '../../../../core/changes/chain/feed-record.ts';
import type { FeedEnd, FeedHead, FeedPair } from '../../../../core/changes/chain/head.ts';
import type { WrittenFeed } from '../../../../core/changes/write-feed.ts';
import { RunError } from '../../../../core/errors.ts';
import { pairDigest } from '../../../../lambdas/write-changes/feed-bucket.ts';
import { runs } from '../../../support/runs.ts';
import { randomFrom } from '../../../support/seeds.ts';

/** Values by their keys. */
type Rows = Map<number, number>;
interface Table {
  run: string;
  etag: string;
  /** Identifies the origin of its rows. */
  identity: number;
  rows: Rows;
}
interface Feed {
  pair: FeedPair;
  etag: string;
  rows: number;
  changes: Map<number, number | null>;
}

/** A bucket, its clock, and its active processes. Every request waits for its turn. */
class World {
  readonly #random: () => number;
  readonly #waiting: (() => void)[] = [];
  readonly #slow: (() => void)[] = [];
  head: { head: FeedHead; etag: string } | undefined;
  latest: Pick<NewestTable['end'], 'run' | 'date' | 'startedAt' | 'kind'> | undefined;
  readonly tables = new Map<string, Table>();
  readonly bases = new Map<string, Table & { copied: string }>();
  readonly feeds = new Map<string, Feed>();
  /** Feeds of a chain whose head was lost. */
  readonly left = new Set<Feed>();
  readonly records: FeedRecord[] = [];
  readonly bugs: unknown[] = [];
  /** Releases by a person since the last feed. */
  releases = 0;
  identity = 0;
  ignore: string[] = [];
  now = Date.parse('2026-11-20T02:00:00Z');
  #tags = 0;
  #nights = 0;
  #orderly = false;
  #rowsOfNight: Rows = new Map(keys(30).map((key) => [key, key]));

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  below(most: number): number {
    return Math.floor(this.#random() * most);
  }

  tag(): string {
    this.#tags += 1;
    return `"${this.#tags}"`;
  }

  turn(): Promise<void> {
    if (this.#orderly) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Resumes a waiting process. */
  resume(): void {
    this.#waiting.splice(this.below(this.#waiting.length), 1)[0]?.();
  }

  /** Lets a waiting process wait until `wake`. */
  stall(): void {
    this.#slow.push(...this.#waiting.splice(this.below(this.#waiting.length), 1));
  }

  wake(): void {
    this.#waiting.push(...this.#slow.splice(0));
  }

  /** Kills a waiting process: it never continues. */
  kill(): void {
    this.#waiting.splice(this.below(this.#waiting.length), 1);
  }

  /** Moves the clock by more than any function's duration. */
  hoursPass(): void {
    this.#waiting.length = 0;
    this.#slow.length = 0;
    this.now += 3 * 3_600_000;
  }

  invoke(): Promise<void> {
    return advanceChain(storeOf(this, this.ignore), '', 0.2).then(
      () => undefined,
      (error: unknown) => {
        // The step is retried, as the next run does.
        const waits = error instanceof RunError && error.name === 'StorageUnavailable' && !this.#orderly;
        if (!waits && !(error instanceof RunError && error.name === 'ChangesStopped')) this.bugs.push(error);
      },
    );
  }

  /** Publishes a table with a few differences or without half of the keys, on a new date or again on the same date. */
  publish(massDeletion: boolean): void {
    this.#nights += 1;
    const sameDate = this.below(4) === 0 && this.latest !== undefined;
    const before = this.#rowsOfNight;
    const rows = new Map([...before].filter(([key]) => !massDeletion || key % 2 === 0));
    for (let change = 0; change < 3; change += 1) rows.set(this.below(40), this.below(1000));
    const date = sameDate ? (this.latest?.date ?? '') : this.#dateOf(this.#nights);
    const run = `night-${String(this.#nights).padStart(3, '0')}`;
    this.#rowsOfNight = rows;
    this.tables.set(date, { run, etag: this.tag(), identity: this.identity, rows });
    this.latest = { date, startedAt: new Date(this.now + this.#nights).toISOString(), run, kind: 'full' };
  }

  /** A person removed `latest.json`, and an older date was published again. */
  publishOlder(): void {
    const date = this.#dateOf(Math.max(1, this.#nights - 1 - this.below(3)));
    this.#nights += 1;
    const run = `older-${String(this.#nights).padStart(3, '0')}`;
    this.tables.set(date, { run, etag: this.tag(), identity: this.identity, rows: new Map([[1, 1]]) });
    this.latest = { date, startedAt: new Date(this.now + this.#nights).toISOString(), run, kind: 'full' };
  }

  #dateOf(night: number): string {
    return new Date(Date.UTC(2026, 0, night)).toISOString().slice(0, 10);
  }

  /** `table RUN`: writes the same rows to a new object, with the current settings. */
  writeTableAgain(): void {
    const table = this.tables.get(this.latest?.date ?? '');
    if (table && this.latest)
      this.tables.set(this.latest.date, { ...table, etag: this.tag(), identity: this.identity });
  }

  /** Checks the rules that every head must keep. */
  watch({ sequence, pair, end }: FeedHead): void {
    const before = this.head?.head;
    if (!before) return;
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
    if (this.head?.head.stopped) this.releases += 1;
    if (this.head?.head.stopped) this.head = { head: { ...this.head.head, release: 'Right.' }, etag: this.tag() };
  }

  /** Removes the table copy of the last feed or of the feed in progress. */
  expireBase(): void {
    const { end, pair } = this.head?.head ?? {};
    const run = this.below(2) === 0 ? end?.run : pair?.to.run;
    if (run !== undefined) this.bases.delete(run);
  }

  /** Removes the copies of the feed in progress, while slow processes still store it. */
  replacePair(): void {
    const { pair } = this.head?.head ?? {};
    if (!pair) return;
    this.bases.delete(pair.to.run);
    if (this.below(2) === 0) this.publish(false);
    for (let calls = 0; calls < 3; calls += 1) void this.invoke();
  }

  /** Removes the head while no process is active; the feeds stay. */
  loseHead(): void {
    this.hoursPass();
    this.head = undefined;
    for (const feed of this.feeds.values()) this.left.add(feed);
    this.records.length = 0;
    this.releases = 0;
  }

  /** Lets the processes run one at a time from now on. A pair whose copies are gone stays until the next night. */
  async settle(): Promise<void> {
    this.hoursPass();
    this.#orderly = true;
    await this.invoke();
    const { pair } = this.head?.head ?? {};
    if (!pair || this.hasCopies(pair)) return;
    this.publish(false);
    await this.invoke();
  }

  /** The copy of a table, if it has the bytes that the chain ends at. */
  base({ run, etag }: FeedEnd): Table | undefined {
    const found = this.bases.get(run);
    return found?.etag === etag ? found : undefined;
  }

  hasCopies({ kind, from, to }: FeedPair): boolean {
    return this.base(to) !== undefined && (kind === 'snapshot' || from === null || this.base(from) !== undefined);
  }
}

const keys = (count: number) => Array.from({ length: count }, (_, key) => key);
/** A snapshot without a comparison with the previous table. */
const isUnjudged = (pair: FeedPair | null) => pair?.kind === 'snapshot' && pair.counts.keys === 0;
/** Orders runs in time. */
const placeInTime = ({ date, startedAt, run }: Pick<FeedEnd, 'run' | 'date' | 'startedAt'>) =>
  `${date} ${startedAt} ${run}`;
const placeOf = ({ date, run }: { date: string; run: string }) => `${date} ${run}`;

function storeOf(world: World, ignore: string[]): FeedStore {
  let compared: Feed['changes'] = new Map();
  /** The last comparison. Its feed is on the disk, so that it needs the copies no more. */
  let last: { of: string; made: WrittenFeed } | undefined;
  const compare: FeedStore['compare'] = async ({ sequence, from: end, to }, asSnapshot) => {
    if (last?.of === JSON.stringify([sequence, end, to, asSnapshot])) return last.made;
    await world.turn();
    const from = end ? world.base(end) : undefined;
    await world.turn();
    const table = world.base(to);
    if (!table) return undefined;
    const { rows, identity } = table;
    const asBefore = !asSnapshot && isDeepStrictEqual(end?.ignore, to.ignore);
    const kind = from?.identity === identity && asBefore ? 'changes' : 'snapshot';
    const before = [...(from?.rows.keys() ?? [])];
    const gone = before.filter((key) => !rows.has(key)).length;
    compared = new Map(
      kind === 'snapshot'
        ? rows
        : [
            ...[...rows].filter(([key, value]) => from?.rows.get(key) !== value),
            ...before.filter((key) => !rows.has(key)).map((key) => [key, null] as const),
          ],
    );
    const made: WrittenFeed = {
      ...COUNTS,
      kind,
      of: from ? 'keys' : 'rows',
      keys: before.length,
      gone,
      rows: rows.size,
    };
    last = { of: JSON.stringify([sequence, end, to, kind === 'snapshot']), made };
    return made;
  };
  return {
    entity: 'leads',
    now: () => new Date(world.now),
    readHead: async () => {
      await world.turn();
      const none = { schemaVersion: 2, sequence: 0, end: null, pair: null, stopped: null, release: null };
      return world.head ?? { head: none, etag: undefined };
    },
    writeHead: async ({ etag }, next) => {
      await world.turn();
      if (world.head?.etag !== etag) return false;
      world.watch(next);
      world.head = { head: next, etag: world.tag() };
      return true;
    },
    newest: async () => {
      await world.turn();
      const { latest } = world;
      await world.turn();
      const table = latest && world.tables.get(latest.date);
      if (!latest || table?.run !== latest.run) return undefined;
      const end = { ...latest, key: ['id'], ignore, settings: '' };
      return { end, table: { key: latest.date, etag: table.etag, bytes: 1 } };
    },
    copyBase: async ({ end: { run }, table: { key, etag } }) => {
      await world.turn();
      const standing = world.bases.get(run);
      if (standing?.copied === etag) return standing.etag;
      await world.turn();
      const table = world.tables.get(key);
      if (table?.etag !== etag) return undefined;
      await world.turn();
      if (world.bases.get(run)?.etag === standing?.etag)
        world.bases.set(run, { ...table, etag: world.tag(), copied: etag });
      await world.turn();
      const now = world.bases.get(run);
      return now?.copied === etag ? now.etag : undefined;
    },
    compare,
    storeFeed: async (pair) => {
      const { counts, to } = pair;
      await world.turn();
      const standing = world.feeds.get(placeOf(to));
      if (!standing || !isOf(pair, standing)) {
        if ((await compare(pair, pair.kind === 'snapshot'))?.kind !== pair.kind) return false;
        await world.turn();
        if (world.feeds.get(placeOf(to))?.etag === standing?.etag)
          world.feeds.set(placeOf(to), { pair, etag: world.tag(), rows: counts.rows, changes: compared });
        await world.turn();
      }
      const stored = world.feeds.get(placeOf(to));
      if (!stored || !isOf(pair, stored)) throw new RunError('StorageUnavailable', 'Another came.');
      const feed = { etag: stored.etag, bytes: 1 };
      await world.turn();
      const { key, ignore, settings } = to;
      const record: FeedRecord = { ...pair, ...counts, schemaVersion: 3, entity: 'leads', key, ignore, settings, feed };
      const same = world.records.find(({ sequence }) => sequence === record.sequence);
      if (!same) world.records.push(record);
      else expect({ ...record, feed: null }).toEqual({ ...same, feed: null });
      return true;
    },
    readRecord: async ({ run }) => world.records.find(({ to }) => to.run === run),
  };
}

const isOf = (pair: FeedPair, feed: Feed) => pairDigest(feed.pair) === pairDigest(pair);

const COUNTS = { inserts: 0, deletes: 0, updates: 0, unmatched: 0, rows: 0, keys: 0, gone: 0 };

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
const EVENTS_OF_ONE = 250;

async function played(seed: number): Promise<World> {
  const world = new World(seed);
  world.publish(false);
  for (let event = 0; event < EVENTS_OF_ONE; event += 1) {
    EVENTS[world.below(EVENTS.length)]?.(world);
    // A resumed process reaches its next request.
    for (let tick = 0; tick < 8; tick += 1) await Promise.resolve();
  }
  await world.settle();
  return world;
}

/** The rows of a reader who applies all feeds from the first one on. */
function folded(feeds: Feed[]): Rows {
  const rows: Rows = new Map();
  for (const { pair, changes } of feeds) {
    if (pair.kind === 'snapshot') rows.clear();
    for (const [key, value] of changes) {
      if (value === null) rows.delete(key);
      else rows.set(key, value);
    }
  }
  return rows;
}

/** The recorded feeds from the head back to the first one. */
function chainOf(world: World): Feed[] {
  const feeds: Feed[] = [];
  for (let end = world.head?.head.end; end; ) {
    const feed = world.feeds.get(placeOf(end));
    if (!feed || !world.records.some((record) => record.feed.etag === feed.etag)) break;
    feeds.unshift(feed);
    end = feed.pair.from;
  }
  return feeds;
}

function whatIsWrong(world: World): unknown[] {
  const { head } = world.head ?? {};
  const feeds = chainOf(world);
  const last = feeds.at(-1);
  // A slow function stored the feed of a pair that was replaced.
  const late = [...world.feeds.values()].filter((feed) => !world.left.has(feed) && !feeds.includes(feed));
  const etags = [...world.feeds.values()].map(({ etag }) => etag);
  const stopped = head?.stopped && head.release === null;
  // After `latest.json` was restored, the table at the end of the feeds is the newest.
  const { latest } = world;
  const furthest = head?.pair?.to ?? head?.end;
  const ahead = !latest || !furthest || placeInTime(latest) >= placeInTime(furthest);
  const newest = ahead ? world.tables.get(latest?.date ?? '') : undefined;
  const ofEnd = [...world.tables.values(), ...world.bases.values()].find(({ run }) => run === head?.end?.run);
  const rules: [holds: boolean, what: string][] = [
    [head?.pair === null || Boolean(stopped) || !ahead, 'a pair is open'],
    [feeds.every(({ pair }, place) => follows(pair, feeds[place - 1]?.pair)), 'a sequence number is missing'],
    [late.every(({ pair }) => isReplaced(pair, feeds)), 'a feed outside the chain has no snapshot after it'],
    [(last?.pair.sequence ?? 0) === (head?.sequence ?? 0), 'the head has another sequence number'],
    [world.records.every(({ feed }) => etags.includes(feed.etag)), 'a record has no feed'],
    [
      feeds.every(({ pair }, place) => isDeepStrictEqual(pair.from, endOf(feeds[place - 1]))),
      'a feed does not begin where the previous one ended',
    ],
    [isDeepStrictEqual(endOf(last), head?.end ?? null), 'the head is not the end of the last feed'],
    [Boolean(stopped) || !ahead || last?.pair.to.run === latest?.run, 'the newest table is in no feed'],
    [
      Boolean(stopped) || !newest || sameRows(folded(feeds), newest.rows),
      'the feeds have other rows than the newest table',
    ],
    [!ofEnd || sameRows(folded(feeds), ofEnd.rows), 'the feeds have other rows than the table that they end at'],
  ];
  return [...world.bugs, ...rules.flatMap(([holds, what]) => (holds ? [] : [what]))];
}

/** Only a snapshot may skip sequence numbers: those of pairs whose copies were gone. */
function follows({ sequence, kind }: FeedPair, before?: FeedPair): boolean {
  const skipped = sequence - 1 - (before?.sequence ?? 0);
  return skipped === 0 || (skipped > 0 && kind === 'snapshot');
}

const isReplaced = ({ sequence }: FeedPair, feeds: Feed[]) =>
  feeds.every(({ pair }) => pair.sequence !== sequence) &&
  feeds.some(({ pair }) => pair.kind === 'snapshot' && pair.sequence > sequence);

const endOf = (feed: Feed | undefined) => (feed ? { ...feed.pair.to, rows: feed.rows } : null);

function sameRows(one: Rows, other: Rows): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value);
}

test('feeds are one chain to the newest table for any order of runs, retries, kills, releases and reruns', async () => {
  const seeds = runs(10_000);
  let feeds = 0;
  let stops = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    const world = await played(seed);
    expect(whatIsWrong(world), `seed ${seed}`).toEqual([]);
    feeds += world.feeds.size;
    stops +=
      Number(world.records.some(({ released }) => released !== null)) + Number(world.head?.head.stopped !== null);
  }
  expect(feeds).toBeGreaterThan(seeds);
  expect(stops).toBeGreaterThan(seeds / 50);
});
