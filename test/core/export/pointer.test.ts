import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  latestPointerKey,
  movePointer,
  type Pointer,
  pointerSchema,
  readPointer,
} from '../../../core/export/pointer.ts';
import { CANARY } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import { type FakeBucket, fakeBucket } from '../../support/fake-bucket.ts';
import { manifestOf, pointerTo } from '../../support/manifests.ts';

const KEY = latestPointerKey('leads');
const pointer = (overrides: Partial<Pointer> = {}): Pointer => ({
  ...pointerTo(manifestOf({ date: '2026-11-20', execution: 'night-1' })),
  ...overrides,
});
const standingIn = (bucket: FakeBucket) => pointerSchema.parse(JSON.parse(bucket.text(KEY) ?? 'null'));

/** Moves the pointer as PublishFile does: reads and checks the current one, then moves it. */
const move = async (bucket: FakeBucket, to: Pointer) => movePointer(bucket, await readPointer(bucket, KEY), to);

test('replaces a pointer of an earlier release, even one with a later date', async () => {
  for (const early of [{ date: '2030-01-01', newNormal: true }, { date: 'of another layout' }, { execution: null }]) {
    const text = JSON.stringify({ ...pointer(), ...early, schemaVersion: 1 });
    const bucket = fakeBucket({ objects: { [KEY]: text } });

    expect((await readPointer(bucket, KEY)).run).toBeUndefined();
    expect(await move(bucket, pointer())).toBe(true);

    expect(standingIn(bucket)).toEqual(pointer());
  }
});

test('writes nothing if the pointer already names the run', async () => {
  const bucket = fakeBucket();
  await move(bucket, pointer());
  bucket.calls.length = 0;

  // The pointer names this run, as the log says.
  expect(await move(bucket, pointer())).toBe(true);

  expect(bucket.calls).toEqual([`read ${KEY}`]);
});

const pointers = fc.array(
  fc.record({
    date: fc.constantFrom('2026-11-19', '2026-11-20', '2026-11-21'),
    startedAt: fc.constantFrom('2026-11-20T01:00:00.000Z', '2026-11-20T01:00:00Z', '2026-11-20T02:00:00.500Z'),
    execution: fc.constantFrom('a', 'b', 'c'),
    kind: fc.constantFrom('full', 'window', 'partial'),
  }),
  { minLength: 1, maxLength: 6 },
);
const placeOf = ({ date, kind, startedAt, execution }: Pick<Pointer, 'date' | 'kind' | 'startedAt' | 'execution'>) =>
  `${date} ${kind === 'partial' ? 'partial' : 'plan'} ${new Date(startedAt).toISOString()} ${execution}`;

test('the pointer names the latest run after concurrent publishing, for any order of requests', async () => {
  await fc.assert(
    fc.asyncProperty(pointers, fc.scheduler(), async (places, scheduler) => {
      const bucket = fakeBucket({
        before: (operation, key) => scheduler.schedule(Promise.resolve(), `${operation} ${key}`),
      });

      const moves = Promise.all(places.map((place) => move(bucket, pointer(place))));
      await scheduler.waitFor(moves);

      expect(placeOf(standingIn(bucket) ?? pointer())).toBe(places.map(placeOf).sort().at(-1));
    }),
  );
});

test('reports StorageUnavailable if the pointer changes ten times in a row', async () => {
  let round = 0;
  const bucket: FakeBucket = fakeBucket({
    objects: { [KEY]: JSON.stringify(pointer({ date: '2026-01-01' })) },
    before: (operation) => {
      round += 1;
      if (operation === 'replace')
        bucket.put(KEY, JSON.stringify(pointer({ date: '2026-01-01', execution: `x${round}` })));
    },
  });

  const error = await failureOf(move(bucket, pointer()), 'StorageUnavailable');

  expect(error.message).toContain('10 times');
});

const withoutPlace = (['date', 'startedAt', 'execution', 'kind', 'newNormal'] as const).map((key) => {
  const { [key]: _, ...rest } = pointer();
  return rest;
});
test.each([
  ...[CANARY, '{}', 'null', '[]', '"2026-11-20"', JSON.stringify([pointer()])],
  ...withoutPlace.map((part) => JSON.stringify(part)),
  ...[{ date: '20.11.2026' }, { date: '2026-02-30' }, { startedAt: 'soon' }, { startedAt: 7 }, { execution: null }].map(
    (wrong) => JSON.stringify({ ...pointer(), ...wrong }),
  ),
])('reports StorageConflict for an invalid pointer, and neither quotes nor overwrites it: %#', async (text) => {
  const bucket = fakeBucket({ objects: { [KEY]: text } });

  const error = await failureOf(readPointer(bucket, KEY), 'StorageConflict');

  expect(error.message).not.toContain(CANARY);
  expect(bucket.text(KEY)).toBe(text);
});

const later = [
  { schemaVersion: 4 },
  { schemaVersion: '3.1', note: { by: 'a later release' } },
  { manifestKey: undefined, manifest: { key: 'm', bytes: 7 } },
  { keptUntil: undefined, entity: 'eighth-entity' },
];
test.each(later)('reads a pointer of a later release, and moves it: %j', async (more) => {
  const bucket = fakeBucket({ objects: { [KEY]: JSON.stringify({ ...pointer(), ...more }) } });

  expect(await move(bucket, pointer({ date: '2026-11-19' }))).toBe(false);
  expect(await move(bucket, pointer({ date: '2026-11-21' }))).toBe(true);

  // The new pointer keeps no unknown field of the old one.
  expect(standingIn(bucket)).toEqual(pointer({ date: '2026-11-21' }));
});

test.each([{ colour: 1 }, { date: '20.11.2026' }, { startedAt: '2026-11-20T01:00:00+02:00' }, { schemaVersion: 4 }])(
  'does not write a pointer with %j',
  async (wrong) => {
    const bucket = fakeBucket();

    await expect(move(bucket, { ...pointer(), ...wrong })).rejects.toThrow();

    expect(bucket.keys()).toEqual([]);
  },
);
