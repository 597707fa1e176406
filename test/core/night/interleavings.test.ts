import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import type { EntityOfNight, Night } from '../../../core/night/night-record.ts';
import { type NightStore, recordNight } from '../../../core/night/night-store.ts';
import { runs } from '../../support/runs.ts';
import { randomFrom } from '../../support/seeds.ts';

/** Simulates seven runs of a date and other events in ten thousand orders of their calls. */
const INTERLEAVINGS = runs(10_000);
const TABLED: Entity[] = ['leads', 'customers'];
const WAITED = new Map(ENTITIES.map((entity) => [entity, TABLED.includes(entity) ? 1 : null]));

class Killed extends Error {}

/** A run from its publication on: of the nightly start, or a later retry or release. */
interface Life {
  entity: Entity;
  /** Its position among the starts. */
  start: number;
  fails: boolean;
  /** The call before which its process dies; after its last call, it survives. */
  diesAt: number;
}

/** The S3 objects of the date. Each is read and written atomically. */
class Place {
  night: Night | undefined;
  readonly told = new Map<number, Night>();
  readonly pointers = new Map<Entity, number>();
  readonly tables = new Map<Entity, number>();

  file(entity: Entity): EntityOfNight['file'] {
    const start = this.pointers.get(entity);
    return start === undefined ? null : { run: String(start), manifestKey: '', key: '', rows: 1, bytes: 1, crc32: '' };
  }

  table(entity: Entity): EntityOfNight['table'] {
    const start = this.tables.get(entity);
    return start !== undefined && start === this.pointers.get(entity) ? { key: entity, etag: String(start) } : null;
  }

  whole(): boolean {
    return ENTITIES.every((entity) => this.file(entity) && (!TABLED.includes(entity) || this.table(entity)));
  }
}

test('announces no night early, misses none, and ends with the true revision, for any order of calls', async () => {
  const seen = { complete: 0, killed: 0, again: 0 };
  for (let seed = 1; seed <= INTERLEAVINGS; seed += 1) await interleaving(randomFrom(seed), seen, `seed ${seed}`);

  expect(Math.min(...Object.values(seen)), 'each kind of case occurs often').toBeGreaterThan(INTERLEAVINGS / 20);
});

async function interleaving(random: () => number, seen: Record<'complete' | 'killed' | 'again', number>, seed: string) {
  const place = new Place();
  const lives = livesOf(random);
  const ends = await Promise.all(lives.map((life) => live(life, place, random)));
  const killed = ends.includes('killed');
  // The check writes the parts that a killed run left out. No other case needs it.
  if (killed) await recordNight(storeOf(place, async () => {}));
  const { night, told } = place;
  const said = ENTITIES.flatMap((entity) => {
    const { file, table } = night?.entities[entity] ?? {};
    return [file?.run, table?.etag];
  });
  const standing = ENTITIES.flatMap((entity) => [place.file(entity)?.run, place.table(entity)?.etag]);
  const whole = place.whole();
  // One comparison for all, because it runs ten thousand times.
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

/** Runs a life; calls of other lives interleave with its calls. */
async function live({ entity, start, fails, diesAt }: Life, place: Place, random: () => number) {
  let calls = 0;
  const turn = async () => {
    for (let waits = Math.floor(random() * 12); waits > 0; waits -= 1) await undefined;
    calls += 1;
    if (calls > diesAt) throw new Killed();
  };
  try {
    // Some runs start after others have ended.
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

/** Publishes if the start is later. Writes a table if the pointer names its run. */
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
    find: async (entity, tableVersion) => {
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
    announce: async (night) => {
      await turn();
      expectNotEarly(night, place);
      if (!place.told.has(night.revision)) place.told.set(night.revision, night);
      return true;
    },
  };
}

/** Expects the announced data to exist: a file, and for entities with tables a written table. */
function expectNotEarly(night: Night, place: Place): void {
  const early = ENTITIES.filter((entity) => {
    const { file, table } = night.entities[entity] ?? {};
    const tableDue = TABLED.includes(entity);
    return !file || Number(file.run) > (place.pointers.get(entity) ?? -1) || (tableDue && !table);
  });
  if (early.length > 0) throw new Error(`announced early: ${early}`);
}
