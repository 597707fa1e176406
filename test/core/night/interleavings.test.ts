import { expect, test } from 'vitest';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { manifestText } from '../../../core/export/manifest.ts';
import { datePointerKey, movePointer, readPointer } from '../../../core/export/pointer.ts';
import { completeKey, type Night, nightKey } from '../../../core/night/night-record.ts';
import { nightStore, recordNight } from '../../../core/night/night-store.ts';
import { tableKey } from '../../../core/table/stored-table.ts';
import { deployment } from '../../support/builders.ts';
import { type FakeBucket, fakeBucket } from '../../support/fake-bucket.ts';
import { manifestKeyOf, manifestOf, pointerTo } from '../../support/manifests.ts';
import { runs } from '../../support/runs.ts';
import { randomFrom } from '../../support/seeds.ts';

/** Runs the seven runs of a date and other events in a thousand orders of their requests to the bucket. */
const INTERLEAVINGS = runs(1000);
const DATE = '2026-11-20';
const TABLED: Entity[] = ['leads', 'customers'];
const settings = deployment({ entities: Object.fromEntries(TABLED.map((entity) => [entity, { tables: {} }])) });

class Killed extends Error {}

/** A run from its publication on: of the nightly start, or a later retry or release. */
interface Life {
  entity: Entity;
  /** Its position among the starts. */
  start: number;
  fails: boolean;
  /** The request before which its process dies; after its last request, it survives. */
  diesAt: number;
}

test('announces no night early, misses none, and ends with the true revision, for any order of requests', {
  timeout: 300_000,
}, async () => {
  const seen = { complete: 0, killed: 0, again: 0 };
  for (let seed = 1; seed <= INTERLEAVINGS; seed += 1) await interleaving(randomFrom(seed), seen, `seed ${seed}`);

  expect(Math.min(...Object.values(seen)), 'each kind of case occurs often').toBeGreaterThan(INTERLEAVINGS / 20);
});

async function interleaving(random: () => number, seen: Record<'complete' | 'killed' | 'again', number>, seed: string) {
  const bucket = fakeBucket();
  const lives = livesOf(random);
  const ends = await Promise.all(lives.map((life) => live(life, bucket, random)));
  const killed = ends.includes('killed');
  // The check writes the parts that a killed run left out. No other case needs it.
  if (killed) await recordNight(nightStore(DATE, { bucket, deployment: settings }));
  const night = json<Night>(bucket, nightKey(DATE));
  const standing = new Map(ENTITIES.map((entity) => [entity, standingOf(bucket, entity)]));
  const isWhole = ENTITIES.every((entity) => isDone(entity, standing.get(entity)));

  for (const [entity, { run, table }] of standing) {
    const marked = night?.entities[entity];
    expect([marked?.file?.run, marked?.table != null], `${seed}, ${entity}`).toEqual([run, table]);
  }
  expect(night?.complete ?? false, seed).toBe(isWhole);
  if (night) expect(json(bucket, completeKey(night)), seed).toEqual(isWhole ? night : undefined);
  seen.killed += Number(killed);
  seen.again += Number(lives.length > ENTITIES.length);
  seen.complete += Number(isWhole);
}

function json<T>(bucket: FakeBucket, key: string): T | undefined {
  const text = bucket.text(key);
  return text === undefined ? undefined : (JSON.parse(text) as T);
}

/** The published run of an entity, and whether the table of the date is of this run. */
function standingOf(bucket: FakeBucket, entity: Entity) {
  const run = json<{ execution: string }>(bucket, datePointerKey(entity, DATE))?.execution;
  return { run, table: run !== undefined && bucket.text(tableKey(entity, DATE, 1)) === run };
}

const isDone = (entity: Entity, { run, table }: Partial<ReturnType<typeof standingOf>> = {}) =>
  run !== undefined && (table || !TABLED.includes(entity));

function livesOf(random: () => number): Life[] {
  const again = ENTITIES.filter(() => random() < 0.15);
  const mayFail = random() < 0.5;
  const mayDie = random() < 0.5;
  return [...ENTITIES, ...again].map((entity, start) => ({
    entity,
    start,
    fails: mayFail && random() < 0.15,
    diesAt: mayDie && random() < 0.2 ? Math.floor(random() * 25) : Number.POSITIVE_INFINITY,
  }));
}

/** Runs a life; requests of other lives interleave with its requests. */
async function live(life: Life, whole: FakeBucket, random: () => number): Promise<'ended' | 'killed'> {
  const { entity, fails, diesAt } = life;
  let requests = 0;
  const turn = async () => {
    for (let waits = Math.floor(random() * 12); waits > 0; waits -= 1) await undefined;
    requests += 1;
    if (requests > diesAt) throw new Killed();
  };
  const bucket: FakeBucket = {
    ...whole,
    read: (key) => turn().then(() => whole.read(key)),
    head: (key) => turn().then(() => whole.head(key)),
    replace: (...of) => turn().then(() => whole.replace(...of)),
    putOnce: async (key, text) => {
      await turn();
      if (key.includes('/complete/')) expectNotEarly(JSON.parse(text), whole);
      return whole.putOnce(key, text);
    },
  };
  try {
    // Some runs start after others have ended.
    for (let waits = random() < 0.5 ? 0 : Math.floor(random() * 400); waits > 0; waits -= 1) await undefined;
    await turn();
    if (!fails) await publish(life, bucket, turn);
    const failure = fails ? { entity, error: 'CrmUnavailable' } : undefined;
    await recordNight(nightStore(DATE, { bucket, deployment: settings }), failure);
    return 'ended';
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    return 'killed';
  }
}

/** Publishes if the start is later. Writes a table if the pointer names its run. */
async function publish({ entity, start }: Life, bucket: FakeBucket, turn: () => Promise<void>): Promise<void> {
  const execution = `${entity}-${start}`;
  const startedAt = `${DATE}T01:00:${String(start).padStart(2, '0')}.000Z`;
  const manifest = manifestOf({ entity, date: DATE, execution, startedAt });
  bucket.put(manifestKeyOf(execution, entity), manifestText(manifest));
  const key = datePointerKey(entity, DATE);
  const isNewest = await movePointer(bucket, await readPointer(bucket, key), pointerTo(manifest));
  if (!isNewest || !TABLED.includes(entity)) return;
  await turn();
  if (standingOf(bucket, entity).run === execution)
    bucket.put(tableKey(entity, DATE, 1), execution, { run: execution });
}

/** Expects the announced data to exist: a file, and for entities with tables a written table. */
function expectNotEarly(night: Night, bucket: FakeBucket): void {
  const startOf = (run: string | undefined) => Number(run?.split('-').at(-1));
  const early = ENTITIES.filter((entity) => {
    const { file, table } = night.entities[entity] ?? {};
    const isPublished = startOf(file?.run) <= startOf(standingOf(bucket, entity).run);
    return !isPublished || (TABLED.includes(entity) && !table);
  });
  if (early.length > 0) throw new Error(`announced early: ${early}`);
}
