import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import type { Marked, Night } from '../../../core/night/marker.ts';
import { type NightStore, recordNight } from '../../../core/night/night-store.ts';
import { runs } from '../../support/runs.ts';
import { randomFrom } from '../../support/seeds.ts';

/** Seven runs of a date, and what else happens to it, in ten thousand orders of their calls. */
const INTERLEAVINGS = runs(10_000);
const TABLED: Entity[] = ['leads', 'customers'];
const WAITED = new Map(ENTITIES.map((entity) => [entity, TABLED.includes(entity) ? 1 : null]));

class Killed extends Error {}

/** A run from its publication on: the night of its entity, or a later one, be it a retry or a release. */
interface Life {
  entity: Entity;
  /** Its place among the starts. */
  start: number;
  fails: boolean;
  /** The call before which its process dies; beyond its last one, it does not. */
  diesAt: number;
}

/** What S3 holds of the date. Every part is read and written at once. */
class Place {
  night: Night | undefined;
  readonly told = new Map<number, Night>();
  readonly pointers = new Map<Entity, number>();
  readonly tables = new Map<Entity, number>();

  file(entity: Entity): Marked['file'] {
    const start = this.pointers.get(entity);
    return start === undefined ? null : { run: String(start), manifestKey: '', key: '', rows: 1, bytes: 1, crc32: '' };
  }

  table(entity: Entity): Marked['table'] {
    const start = this.tables.get(entity);
    return start !== undefined && start === this.pointers.get(entity) ? { key: entity, etag: String(start) } : null;
  }

  whole(): boolean {
    return ENTITIES.every((entity) => this.file(entity) && (!TABLED.includes(entity) || this.table(entity)));
  }
}

test('whatever the order of their calls, no night is told early, none is missing, and the last revision is true', async () => {
  const seen = { complete: 0, killed: 0, again: 0 };
  for (let seed = 1; seed <= INTERLEAVINGS; seed += 1) await interleaving(randomFrom(seed), seen, `seed ${seed}`);

  expect(Math.min(...Object.values(seen)), 'each was tried often').toBeGreaterThan(INTERLEAVINGS / 20);
});

async function interleaving(random: () => number, seen: Record<'complete' | 'killed' | 'again', number>, seed: string) {
  const place = new Place();
  const lives = livesOf(random);
  const ends = await Promise.all(lives.map((life) => live(life, place, random)));
  const killed = ends.includes('killed');
  // What a killed run left out, the check writes. Nothing else needs it.
  if (killed) await recordNight(storeOf(place, async () => {}));
  const { night, told } = place;
  const said = ENTITIES.flatMap((entity) => {
    const { file, table } = night?.entities[entity] ?? {};
    return [file?.run, table?.etag];
  });
  const standing = ENTITIES.flatMap((entity) => [place.file(entity)?.run, place.table(entity)?.etag]);
  const whole = place.whole();
  // One comparison: there are ten thousand of them.
  const held = [...said, night?.complete ?? false, told.get(night?.revision ?? 0)];
  if (!isDeepStrictEqual(held, [...standing, whole, whole ? night : undefined]))
    expect(held, seed).toEqual([...standing, whole, whole ? night : undefined]);
  seen.killed += Number(killed);
  seen.again += Number(lives.length > ENTITIES.length);
  seen.complete += Number(night?.complete === true);
}

function livesOf(random: () => number): Life[] {
  const again = ENTITIES.filter(() => random() < 0.15);
  const mayFail = random() < 0.5;
  const mayDie = random() < 0.5;
  return [...ENTITIES, ...again].map((entity, start) => ({
    entity,
    start,
    fails: mayFail && random() < 0.15,
    diesAt: mayDie && random() < 0.2 ? Math.floor(random() * 16) : Number.POSITIVE_INFINITY,
  }));
}

/** Between its calls come those of the others. */
async function live({ entity, start, fails, diesAt }: Life, place: Place, random: () => number) {
  let calls = 0;
  const turn = async () => {
    for (let waits = Math.floor(random() * 12); waits > 0; waits -= 1) await undefined;
    calls += 1;
    if (calls > diesAt) throw new Killed();
  };
  try {
    // Some begin when others are through.
    for (let waits = random() < 0.5 ? 0 : Math.floor(random() * 200); waits > 0; waits -= 1) await undefined;
    await turn();
    if (!fails) await publish(entity, start, place, turn);
    await recordNight(storeOf(place, turn), fails ? { entity, error: 'CrmUnavailable' } : undefined);
    return 'ended';
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    return 'killed';
  }
}

/** The later start counts; a table is written where the pointer names its run. */
async function publish(entity: Entity, start: number, place: Place, turn: () => Promise<void>): Promise<void> {
  if ((place.pointers.get(entity) ?? -1) < start) place.pointers.set(entity, start);
  if (!TABLED.includes(entity)) return;
  await turn();
  if (place.pointers.get(entity) === start) place.tables.set(entity, start);
}

function storeOf(place: Place, turn: () => Promise<void>): NightStore {
  return {
    date: '2026-11-20',
    expected: () => WAITED,
    writesTables: (entity) => TABLED.includes(entity),
    read: async () => {
      await turn();
      return { night: place.night, etag: place.night && String(place.night.revision) };
    },
    look: async (entity, tableVersion) => {
      await turn();
      const file = place.file(entity);
      if (tableVersion === null) return { file, table: null, feed: null };
      await turn();
      const table = place.table(entity);
      return { file, table: table?.etag === file?.run ? table : null, feed: null };
    },
    write: async (night, etag) => {
      await turn();
      if (etag !== (place.night && String(place.night.revision))) return false;
      place.night = night;
      return true;
    },
    tell: async (night) => {
      await turn();
      expectNotEarly(night, place);
      if (!place.told.has(night.revision)) place.told.set(night.revision, night);
      return true;
    },
  };
}

/** What an event tells of can be had by then: there is a file, and of those with tables one was written. */
function expectNotEarly(night: Night, place: Place): void {
  const early = ENTITIES.filter((entity) => {
    const { file, table } = night.entities[entity] ?? {};
    const tableDue = TABLED.includes(entity);
    return !file || Number(file.run) > (place.pointers.get(entity) ?? -1) || (tableDue && !table);
  });
  if (early.length > 0) throw new Error(`told early: ${early}`);
}
