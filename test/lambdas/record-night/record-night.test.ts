import { expect, test } from 'vitest';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { RunError } from '../../../core/errors.ts';
import { manifestText } from '../../../core/export/manifest.ts';
import { datePointerKey } from '../../../core/export/pointer.ts';
import { completeKey, nightKey, nightSchema } from '../../../core/night/night-record.ts';
import { checkNights } from '../../../lambdas/record-night/check-nights.ts';
import { recordNight } from '../../../lambdas/record-night/record-night.ts';
import { newState, runState } from '../../support/builders.ts';
import { testDeps } from '../../support/deps.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';
import { manifestKeyOf, manifestOf, pointerTo } from '../../support/manifests.ts';

function nights(options: Parameters<typeof fakeBucket>[0] = {}) {
  const bucket = fakeBucket(options);
  const publish = (entity: Entity, date: string) => {
    const manifest = manifestOf({ entity, date, execution: `${entity}-${date}` });
    bucket.put(manifestKeyOf(manifest.execution, entity), manifestText(manifest));
    bucket.put(datePointerKey(entity, date), JSON.stringify(pointerTo(manifest)));
  };
  const deps = { ...testDeps(), bucket, objects: { head: async () => undefined } };
  const night = (date: string) => {
    const text = bucket.text(nightKey(date));
    return text === undefined ? undefined : nightSchema.parse(JSON.parse(text));
  };
  return { bucket, publish, deps, night };
}

test('a run that ends writes the record of its night, with its error if its file is missing', async () => {
  const { deps, publish, night } = nights();
  publish('workflows', '2026-11-20');

  await recordNight(runState({ failure: { error: 'ExportFailed', cause: 'It is so.' } }), deps);

  expect(night('2026-11-20')).toMatchObject({
    complete: false,
    entities: { leads: { file: null, error: 'ExportFailed' }, workflows: { file: { rows: 1 }, error: null } },
  });
  expect(deps.log.lines).toMatchObject([
    { message: 'night', fields: { revision: 1, missing: ENTITIES.filter((entity) => entity !== 'workflows') } },
  ]);
});

test('logs a failure to record the night, and does not fail the run', async () => {
  const before = failing('read', 'nights', new RunError('StorageUnavailable', 'Down.'));
  const { deps, bucket } = nights({ before });

  await recordNight(runState(), deps);

  expect(deps.log.lines).toMatchObject([{ message: 'night not recorded', fields: { error: 'StorageUnavailable' } }]);
  expect(bucket.keys()).toEqual([]);
});

test('reads nothing for a run without a date', async () => {
  const { deps, bucket } = nights();

  await recordNight(newState({ entity: 'lead' }), deps);

  expect(bucket.calls).toEqual([]);
});

test('the check records complete nights that killed runs left out, for seven dates', async () => {
  const { deps, publish, night, bucket } = nights();
  const dates = ['2026-11-13', '2026-11-14', '2026-11-20'];
  for (const date of dates) for (const entity of ENTITIES) publish(entity, date);

  await checkNights(new Date('2026-11-20T12:30:00Z'), deps);

  expect(dates.map((date) => night(date)?.complete)).toEqual([undefined, true, true]);
  expect(bucket.text(completeKey({ date: '2026-11-20', revision: 1 }))).toBe(bucket.text(nightKey('2026-11-20')));
  expect(bucket.keys().filter((key) => key.startsWith('published/nights/date='))).toHaveLength(2);
});

test('the check continues with the other dates if one cannot be read', async () => {
  const before = failing('read', 'nights/date=2026-11-20', new RunError('StorageConflict', 'It is none.'));
  const { deps, publish, night } = nights({ before });
  for (const date of ['2026-11-19', '2026-11-20']) publish('leads', date);

  await checkNights(new Date('2026-11-20T12:30:00Z'), deps);

  expect([night('2026-11-19')?.revision, night('2026-11-20')]).toEqual([1, undefined]);
});
