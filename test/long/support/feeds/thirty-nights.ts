import { setImmediate as nextTurn } from 'node:timers/promises';
import { baseKey, headKey } from '../../../../core/changes/feed-keys.ts';
import type { Draw, List } from '../../../../sandbox/data/draw.ts';
import type { FeedNights, FeedSettings } from '../../../support/feed-nights.ts';
import { mortal } from '../../../support/mortal.ts';
import { type Fault, type FaultScript, TROUBLE } from '../../../support/strict-store/types.ts';
import type { Dialect } from '../gate/service.ts';
import { csvText, encoded, packed } from '../gate/write-csv.ts';
import { COLUMNS, drawLeads, type Lead, nextDay, shuffled, TYPES } from './leads.ts';

/** The events of a night. Each occurs at least once in thirty nights. */
const EVENTS = [
  ...['failed', 'withheld', 'released', 'released late', 'without a table'],
  ...['killed', 'killed and left', 'killed often', 'two at once', 'run again', 'run again at once'],
  ...['told again', 'an older date', 'mass deletion', 'lost for a night'],
  ...['base expired', 'head expired', 'begun anew', 'other ignored', 'other key', 'other types', 'reordered'],
] as const;
export type Event = (typeof EVENTS)[number] | 'ordinary';

/** The approximate number of requests of a feed: some kills come too late. */
const REQUESTS = 28;
/** The number of rows of a night that the gate stops. */
const FEW = 3;
const FAULTS: List<Fault> = ['reset', 'lostAnswer', TROUBLE.slowDown];
const FIRST_DAY = Date.UTC(2026, 9, 1);
const dateOf = (night: number) => new Date(FIRST_DAY + night * 86_400_000).toISOString().slice(0, 10);

/** The events of nights from the second on. */
export function drawEvents(count: number, draw: Draw): Event[] {
  const ordinary = Array.from({ length: count - EVENTS.length }, (): Event => 'ordinary');
  return shuffled([...EVENTS, ...ordinary], draw);
}

const LIKE = { separatorLine: false, finalBreak: true, titles: 0, trailing: 'none', emptyRows: 0 } as const;
const UNICODE: List<Dialect> = [
  { ...LIKE, separator: ',', lineBreak: '\n', encoding: 'utf-8', byteOrderMark: false, quoting: 'needed' },
  { ...LIKE, separator: ';', lineBreak: '\r\n', encoding: 'utf-16le', byteOrderMark: true, quoting: 'all' },
  { ...LIKE, separator: '\t', lineBreak: '\r\n', encoding: 'utf-8', byteOrderMark: true, quoting: 'needed' },
];
const DIALECTS: List<Dialect> = [
  ...UNICODE,
  { ...LIKE, separator: ',', lineBreak: '\r\n', encoding: 'windows-1255', byteOrderMark: false, quoting: 'all' },
];

/** Nights of leads with their events. */
export class ThirtyNights {
  readonly world: FeedNights;
  readonly #draw: Draw;
  #leads: Lead[];
  /** Records that return on the next night. */
  #lost: Lead[] = [];
  #nextId = 1;
  #night = 0;
  #runs = 0;
  #settings: FeedSettings = { tables: { columns: TYPES }, changes: { key: 'id', ignore: ['updatedAt'] } };
  /** Actions after the next night. */
  #late: (() => Promise<void>)[] = [];
  /** Whether a feed may be stopped. */
  #gone = false;
  /** The results of the feeds. */
  readonly ends = new Map<string, number>();

  constructor(world: FeedNights, draw: Draw) {
    this.world = world;
    this.#draw = draw;
    this.#leads = drawLeads(120, 1, draw);
    this.#nextId = 121;
  }

  get date(): string {
    return dateOf(this.#night);
  }

  /** One night of an entity, from its file to its feed. */
  async night(event: Event): Promise<void> {
    this.#night += 1;
    this.#leads = event === 'reordered' ? shuffled(this.#leads, this.#draw) : this.#nextDay();
    const late = this.#late.splice(0);
    // A person releases a feed that is stopped for a second night.
    if ((await this.world.head()).stopped) late.push(() => this.#letThrough());
    await this.#befall(event);
    for (const action of late) await action();
  }

  #nextDay(): Lead[] {
    const leads = [...nextDay(this.#leads, this.#nextId, this.#draw), ...this.#lost.splice(0)];
    this.#nextId += 10;
    return leads;
  }

  async #befall(event: Event): Promise<void> {
    const { world } = this;
    if (event === 'failed') return;
    if (event === 'base expired') await this.#expireBase();
    if (event === 'head expired' || event === 'begun anew') await world.expire(headKey('leads'));
    // Its feed replaces that of the former chain.
    if (event === 'begun anew') await this.#tellNewest();
    if (event.startsWith('other ')) this.#change(event);
    if (event === 'mass deletion' || event === 'lost for a night') this.#lose(event);
    const few = event === 'withheld' || event.startsWith('released');
    // A column of a type that fits none of its few values would end the table.
    const fit = this.#leads.filter((lead) => !lead.includes('n/a'));
    const run = await this.#publish(few ? fit.slice(0, FEW) : this.#leads, few ? 'FileQuarantined' : 'TABLE_DUE');
    if (event === 'released') await this.#release(run);
    if (event === 'released late') this.#late.push(() => this.#release(run));
    if (few || event === 'without a table') return;
    await this.#table(run);
    await this.#tellAs(event, run);
  }

  /** Changes the settings from this night on. */
  #change(event: Event): void {
    const { tables, changes } = this.#settings;
    if (event === 'other ignored') this.#settings = { tables, changes: { key: changes.key } };
    else if (event === 'other key') this.#settings = { tables, changes: { ...changes, key: ['id', 'branch'] } };
    else this.#settings = { tables: { columns: { ...TYPES, score: 'integer' } }, changes };
  }

  async #expireBase(): Promise<void> {
    const { end } = await this.world.head();
    if (end) await this.world.expire(baseKey('leads', end.run));
  }

  #lose(event: Event): void {
    const kept = this.#leads.filter(() => !this.#draw.chance(0.4));
    if (event === 'lost for a night') this.#lost = this.#leads.filter((lead) => !kept.includes(lead));
    this.#leads = kept;
    this.#gone = true;
  }

  /** @returns the name of the run */
  async #publish(leads: readonly Lead[], ends: string, date = this.date): Promise<string> {
    this.#runs += 1;
    const execution = `leads-${date}-${this.#runs}`;
    // A few rows may have too little Hebrew for its detection.
    const dialect = this.#draw.pick(leads.length > FEW ? DIALECTS : UNICODE);
    const table = { header: COLUMNS, rows: leads.map((lead) => [...lead]), tail: [] };
    const compression = this.#draw.pick([null, null, 'gzip'] as const);
    const bytes = packed(encoded(csvText(table, dialect), dialect), { compression, kind: 'csv' });
    const listed = { others: [], labels: COLUMNS.map(() => null), types: null, complete: true };
    const run = { request: { columns: COLUMNS }, listed };
    const night = { date, execution, startedAt: this.#startedAt(), bytes, run };
    const { ended, cause } = await this.#steadily(() => this.world.publish(night, this.#settings));
    if (ended !== ends) throw new Error(`${execution} ended in ${ended}, not in ${ends}: ${cause}`);
    return execution;
  }

  /** Runs of a date follow each other. */
  #startedAt(minutes = 0): string {
    return new Date(FIRST_DAY + this.#night * 86_400_000 + (this.#runs * 5 + minutes) * 60_000).toISOString();
  }

  #deps() {
    return this.world.depsOf(this.#settings, this.#startedAt(3));
  }

  async #table(run: string): Promise<void> {
    const { outcome } = await this.#steadily(() => this.world.table(run, this.#deps()));
    if (outcome !== 'CHANGES_DUE') throw new Error(`The table of ${run} ended in ${outcome}.`);
  }

  async #tellAs(event: Event, run: string): Promise<void> {
    if (event === 'killed and left') return this.#kill(run);
    if (event === 'killed often') {
      await this.#kill(run);
      return this.#kill(run);
    }
    if (event === 'killed') await this.#kill(run);
    if (event === 'two at once') await Promise.all([this.#tell(run), this.#tell(run)]);
    else if (event !== 'run again at once') await this.#tell(run);
    if (event === 'told again') await this.#again(run);
    if (event === 'an older date') await this.#olderDate();
    if (event.startsWith('run again')) await this.#runAgain(event, run);
  }

  async #again(run: string): Promise<void> {
    await this.#table(run);
    await this.#tell(run);
  }

  async #olderDate(): Promise<void> {
    await this.#again(await this.#publish(this.#leads.slice(5), 'TABLE_DUE', dateOf(this.#night - 2)));
  }

  async #runAgain(event: Event, first: string): Promise<void> {
    this.#leads = this.#nextDay();
    const run = await this.#publish(this.#leads, 'TABLE_DUE');
    await this.#table(run);
    await Promise.all([this.#tell(run), ...(event === 'run again' ? [] : [this.#tell(first)])]);
  }

  async #release(execution: string): Promise<void> {
    this.#gone = true;
    const { ended, cause } = await this.#steadily(() => this.world.release(execution, this.#settings));
    if (ended !== 'TABLE_DUE') throw new Error(`The release of ${execution} ended in ${ended}: ${cause}`);
    await this.#again(execution);
  }

  /** A person releases the deletions and requests the feed. */
  async #letThrough(): Promise<void> {
    const { stopped } = await this.world.head();
    if (!stopped) return;
    await this.world.letThrough('They were test records.');
    await this.#tellNewest();
  }

  async #tellNewest(): Promise<void> {
    const newest = await this.world.newest();
    if (newest) await this.#tell(newest.execution);
  }

  /** The function dies before or after a request. */
  async #kill(run: string): Promise<void> {
    const { world } = this;
    const deps = mortal(this.#deps(), ['bucket'], this.#draw.int(1, REQUESTS), this.#draw.chance(0.5));
    await world.tell(run, deps).then(
      () => this.#count('killed too late'),
      (error: unknown) => this.#count(String(error instanceof Error ? error.message : error).slice(0, 20)),
    );
  }

  async #tell(run: string): Promise<void> {
    try {
      this.#count((await this.#steadily(() => this.world.tell(run, this.#deps()))).outcome);
    } catch (error) {
      const name = error instanceof Error ? error.name : '';
      if (name !== 'ChangesStopped' || !this.#gone) throw error;
      this.#count(name);
    }
  }

  /** Repeats a step as the state machine does, while S3 drops, delays and loses some of its requests. */
  async #steadily<T extends object>(step: () => Promise<T>): Promise<T> {
    const isTransient = (name: unknown) => name === 'StorageUnavailable';
    for (;;) {
      const result = await this.world.under(this.#fault, step).catch((error: unknown) => {
        if (error instanceof Error && isTransient(error.name)) return undefined;
        throw error;
      });
      if (result && !('ended' in result && isTransient(result.ended))) return result;
      this.#count('repeated');
    }
  }

  /** The fault of a request. The test itself stores the files. */
  readonly #fault: FaultScript = ({ operation, key }) => {
    if (operation === 'PutObject' && key.endsWith('/leads.csv')) return undefined;
    if (this.#draw.chance(0.1)) return { waitFor: nextTurn() };
    return this.#draw.chance(0.03) ? this.#draw.pick(FAULTS) : undefined;
  };

  #count(end: string): void {
    this.ends.set(end, (this.ends.get(end) ?? 0) + 1);
  }
}
