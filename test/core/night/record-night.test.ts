import { describe, expect, test } from 'vitest';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { RunError } from '../../../core/errors.ts';
import { completeKey, lackingIn, nightKey, nightSchema } from '../../../core/night/night-record.ts';
import { nightStore, recordNight } from '../../../core/night/night-store.ts';
import type { ObjectHead } from '../../../core/storage/bucket.ts';
import { deployment } from '../../support/builders.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';
import type { ManifestChanges } from '../../support/manifests.ts';
import { publishRun } from '../../support/recorded-night.ts';

const DATE = '2026-11-20';
const withTables = deployment({ entities: { leads: { tables: {} } } });

/** A bucket with published runs and written tables of the date. */
function nightOf(options: Parameters<typeof fakeBucket>[0] = {}) {
  const bucket = fakeBucket(options);
  const tables = new Map<string, ObjectHead>();
  const setTable = (key: string, run: string, etag: string) => tables.set(key, { etag, bytes: 1, metadata: { run } });
  const publish = (entity: Entity, changes: ManifestChanges = {}) =>
    publishRun(bucket, { entity, date: DATE, execution: `${entity}-1`, ...changes });
  const record = (settings = deployment(), failure?: Parameters<typeof recordNight>[1]) =>
    recordNight(
      nightStore(DATE, { bucket: { ...bucket, head: async (key) => tables.get(key) }, deployment: settings }),
      failure,
    );
  const standing = () => nightSchema.parse(JSON.parse(bucket.text(nightKey(DATE)) ?? 'null'));
  return { bucket, setTable, publish, record, standing };
}

const publishAll = ({ publish }: ReturnType<typeof nightOf>) => {
  for (const entity of ENTITIES) publish(entity);
};

describe('a night', () => {
  test('contains run, manifest, rows, bytes and checksum of each file, and is complete with the last file', async () => {
    const night = nightOf();
    night.publish('leads', { file: { rows: 3, bytes: 40, crc32: 'BBBBBB==' } });

    expect(await night.record()).toMatchObject({ revision: 1, complete: false });
    publishAll(night);
    expect(await night.record()).toMatchObject({ revision: 2, complete: true });
    expect(Object.keys(night.standing().entities)).toEqual(ENTITIES);
    expect(night.standing().entities.leads).toEqual({
      file: {
        run: 'leads-1',
        manifestKey: 'runs/entity=leads/run=leads-1/_manifest.json',
        key: 'runs/entity=leads/run=leads-1/leads.csv',
        ...{ rows: 3, bytes: 40, crc32: 'BBBBBB==' },
      },
      ...{ tableVersion: null, table: null, feed: null, error: null },
    });
  });

  test('has no object before any file is published', async () => {
    const night = nightOf();

    expect(await night.record()).toBeUndefined();
    expect(night.bucket.keys()).toEqual([]);
  });

  test('does not contain the file of a partial run', async () => {
    const night = nightOf();
    publishAll(night);
    night.publish('leads', { kind: 'partial' });

    expect(await night.record()).toMatchObject({ complete: false, entities: { leads: { file: null } } });
  });

  test('keeps the entities of its first run, even if the configuration changes', async () => {
    const night = nightOf();
    night.publish('leads');
    await night.record(deployment({ entities: { workflows: { enabled: false } } }));
    publishAll(night);

    expect(await night.record()).toMatchObject({ complete: true });
    expect(Object.keys(night.standing().entities)).not.toContain('workflows');
  });

  test('keeps the error of a run until its file is published', async () => {
    const night = nightOf();
    await night.record(deployment(), { entity: 'leads', error: 'CrmUnavailable' });
    night.publish('workflows');
    await night.record();
    expect(night.standing().entities.leads).toMatchObject({ file: null, error: 'CrmUnavailable' });
    night.publish('leads');

    await night.record();
    expect(night.standing().entities.leads?.error).toBeNull();
  });
});

describe('a night with tables', () => {
  const KEY = `tables/entity=leads/date=${DATE}/leads.parquet`;

  test('is complete with the table of the published run', async () => {
    const night = nightOf();
    publishAll(night);
    night.setTable(KEY, 'leads-0', '"a"');
    expect(await night.record(withTables, { entity: 'leads', error: 'TableNotWritten' })).toMatchObject({
      complete: false,
      entities: { leads: { table: null, error: 'TableNotWritten' } },
    });
    expect(lackingIn(night.standing())).toEqual(['leads (table)']);

    night.setTable(KEY, 'leads-1', '"b"');
    expect(await night.record(withTables)).toMatchObject({
      complete: true,
      entities: { leads: { tableVersion: 1, table: { key: KEY, etag: '"b"' }, error: null } },
    });
  });

  test('accepts a table of the version it began with or of the current version', async () => {
    const later = deployment({ entities: { leads: { tables: { version: 2 } } } });
    const night = nightOf();
    publishAll(night);
    night.setTable(KEY, 'leads-1', '"a"');
    await night.record(withTables);
    expect(await night.record(later)).toMatchObject({ revision: 1, complete: true });

    night.publish('leads', { execution: 'leads-2' });
    const key = KEY.replace('tables/', 'tables/v2/');
    night.setTable(key, 'leads-2', '"b"');
    expect(await night.record(later)).toMatchObject({ complete: true, entities: { leads: { table: { key } } } });
  });

  test('does not wait for a table that is no longer configured, or was not configured when it began', async () => {
    const [began, later] = [nightOf(), nightOf()];
    for (const night of [began, later]) publishAll(night);
    await began.record(withTables);
    await later.record();

    expect(await began.record()).toMatchObject({ complete: true });
    expect(await later.record(withTables)).toMatchObject({ revision: 1, complete: true });
  });
});

describe('the object of a later release', () => {
  test('is not changed, and a complete night keeps its revision', async () => {
    const night = nightOf();
    publishAll(night);
    await night.record();
    const later = JSON.stringify({ ...night.standing(), schemaVersion: 4, more: true });
    night.bucket.put(nightKey(DATE), later);

    expect(await night.record()).toMatchObject({ revision: 1, complete: true });
    expect(night.bucket.text(nightKey(DATE))).toBe(later);
  });

  test.each([true, false])('keeps an unknown entity, and the night waits for its file (file: %s)', async (has) => {
    const night = nightOf();
    publishAll(night);
    await night.record();
    const { entities, ...standing } = night.standing();
    const invoices = { ...entities.leads, file: has ? entities.leads?.file : null };
    night.bucket.put(nightKey(DATE), JSON.stringify({ ...standing, entities: { ...entities, invoices } }));
    night.publish('leads', { execution: 'leads-2' });

    expect(await night.record()).toMatchObject({ revision: 2, complete: has, entities: { invoices } });
  });
});

describe('with concurrent writers', () => {
  const conflict = new RunError('StorageUnavailable', 'Conflict.', {
    cause: Object.assign(new Error('conflict'), { $metadata: { httpStatusCode: 409 } }),
  });

  test('repeats a conditional write that S3 answers with 409', async () => {
    const night = nightOf({ before: failing('putOnce', 'nights/date', conflict, 2) });
    night.publish('leads');

    expect(await night.record()).toMatchObject({ revision: 1 });
    expect(night.bucket.calls.filter((call) => call === `read ${nightKey(DATE)}`)).toHaveLength(3);
  });

  test('repeats the write of the announcement that S3 answers with 409', async () => {
    const night = nightOf({ before: failing('putOnce', 'nights/complete', conflict) });
    publishAll(night);

    expect(await night.record()).toMatchObject({ revision: 1 });
    expect(night.bucket.text(completeKey({ date: DATE, revision: 1 }))).toBe(night.bucket.text(nightKey(DATE)));
  });

  test('is not announced before it is recorded, because another run may record this revision otherwise', async () => {
    const down = new RunError('StorageUnavailable', 'Down.');
    const night = nightOf({ before: failing('putOnce', 'nights/date', down) });
    publishAll(night);

    await expect(night.record()).rejects.toThrow(down);
    expect(night.bucket.text(completeKey({ date: DATE, revision: 1 }))).toBeUndefined();
  });

  test('reports StorageConflict for an object that is not a night, and does not change it', async () => {
    const night = nightOf({ objects: { [nightKey(DATE)]: '{"schemaVersion":2}' } });

    await expect(night.record()).rejects.toMatchObject({ name: 'StorageConflict' });
    expect(night.bucket.text(nightKey(DATE))).toBe('{"schemaVersion":2}');
  });
});
