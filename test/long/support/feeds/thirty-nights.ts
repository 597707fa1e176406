import { baseKey, headKey } from '../../../../core/changes/feed-keys.ts';
import { writeChanges } from '../../../../lambdas/write-changes/write-changes.ts';
import type { Draw } from '../../../../sandbox/data/draw.ts';
import {
  depsOn,
  expire,
  type FeedSettings,
  type FeedWorld,
  headOf,
  publish,
  stateOf,
} from '../../../support/feed-runs.ts';
import { COLUMNS, drawLeads, type Lead, nextDay, shuffled, TYPES } from './leads.ts';

/** The events of a night that readers of feeds notice. Each occurs at least once in thirty nights. */
const EVENTS = [
  ...['failed', 'without a table', 'without a feed', 'run again', 'mass deletion', 'lost for a night'],
  ...['base expired', 'head expired', 'begun anew', 'other ignored', 'other key', 'other types', 'reordered'],
] as const;
export type Event = (typeof EVENTS)[number] | 'ordinary';

const FIRST_DAY = Date.UTC(2026, 9, 1);
const dateOf = (night: number) => new Date(FIRST_DAY + night * 86_400_000).toISOString().slice(0, 10);

/** The events of nights from the second on. */
export function drawEvents(count: number, draw: Draw): Event[] {
  const ordinary = Array.from({ length: count - EVENTS.length }, (): Event => 'ordinary');
  return shuffled([...EVENTS, ...ordinary], draw);
}

/** Nights of leads with their events. */
export class ThirtyNights {
  readonly world: FeedWorld;
  readonly #draw: Draw;
  #leads: Lead[];
  /** Records that return on the next night. */
  #lost: Lead[] = [];
  #nextId = 121;
  #night = 0;
  #settings: FeedSettings = { tables: { columns: TYPES }, changes: { ignore: ['updatedAt'] } };
  #newest = '';
  /** The number of feeds that a mass deletion stopped. */
  stops = 0;

  constructor(world: FeedWorld, draw: Draw) {
    this.world = world;
    this.#draw = draw;
    this.#leads = drawLeads(120, 1, draw);
  }

  get date(): string {
    return dateOf(this.#night);
  }

  /** Whether the last feed ended at the table of the newest run. */
  get isCurrent(): boolean {
    const { end } = headOf(this.world);
    const table = this.world.store.object(`tables/entity=leads/date=${this.date}/leads.parquet`);
    return end?.run === this.#newest && table?.headers['x-amz-meta-run'] === this.#newest;
  }

  /** One night of an entity, from its file to its feed. */
  async night(event: Event): Promise<void> {
    this.#night += 1;
    this.#leads = event === 'reordered' ? shuffled(this.#leads, this.#draw) : this.#nextDay();
    const wasStopped = headOf(this.world).stopped;
    await this.#befall(event);
    // A person releases a feed that is stopped for a second night.
    if (wasStopped) await this.#letThrough();
  }

  #nextDay(): Lead[] {
    const leads = [...nextDay(this.#leads, this.#nextId, this.#draw), ...this.#lost.splice(0)];
    this.#nextId += 10;
    return leads;
  }

  async #befall(event: Event): Promise<void> {
    if (event === 'failed') return;
    const { end } = headOf(this.world);
    if (event === 'base expired' && end) await expire(this.world, baseKey('leads', end.run));
    if (event === 'head expired' || event === 'begun anew') await expire(this.world, headKey('leads'));
    // Its feed replaces that of the former chain.
    if (event === 'begun anew') await this.#tell(this.#newest);
    if (event.startsWith('other ')) this.#change(event);
    if (event === 'mass deletion' || event === 'lost for a night') this.#lose(event);
    await this.#publish(event, 1);
    if (event !== 'run again') return;
    this.#leads = this.#nextDay();
    await this.#publish('ordinary', 2);
  }

  #change(event: Event): void {
    const { tables, changes } = this.#settings;
    if (event === 'other ignored') this.#settings = { tables, changes: {} };
    else if (event === 'other key') this.#settings = { tables, changes: { ...changes, key: ['id', 'branch'] } };
    else this.#settings = { tables: { columns: { ...TYPES, score: 'integer' } }, changes };
  }

  #lose(event: Event): void {
    const kept = this.#leads.filter(() => !this.#draw.chance(0.4));
    if (event === 'lost for a night') this.#lost = this.#leads.filter((lead) => !kept.includes(lead));
    this.#leads = kept;
  }

  async #publish(event: Event, number: number): Promise<void> {
    const run = `lead's-${this.date}-(${number})!`;
    const quoted = this.#leads.map((lead) => lead.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(','));
    const csv = `${[COLUMNS.join(','), ...quoted].join('\n')}\n`;
    this.#newest = run;
    // A run whose table does not have today's settings counts as one without a table.
    const settings = event === 'without a table' ? { tables: { version: 2 } } : this.#settings;
    await publish(this.world, run, this.date, csv, settings);
    if (event !== 'without a table' && event !== 'without a feed') await this.#tell(run);
  }

  /** A person releases the deletions and requests the feed. */
  async #letThrough(): Promise<void> {
    const head = headOf(this.world);
    if (!head.stopped) return;
    await this.world.put(headKey('leads'), JSON.stringify({ ...head, release: 'They were test records.' }));
    await this.#tell(this.#newest);
  }

  async #tell(run: string): Promise<void> {
    await writeChanges(stateOf(run), depsOn(this.world, this.#settings)).catch((error: Error) => {
      if (error.name !== 'ChangesStopped') throw error;
      this.stops += 1;
    });
  }
}
