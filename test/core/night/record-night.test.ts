import { describe, expect, test } from 'vitest';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { RunError } from '../../../core/errors.ts';
import { manifestText } from '../../../core/export/manifest.ts';
import { datePointerKey } from '../../../core/export/pointer.ts';
import { completeKey, lackingIn, nightKey, nightSchema } from '../../../core/night/marker.ts';
import { nightStore, recordNight } from '../../../core/night/night-store.ts';
import type { ObjectHead } from '../../../core/storage/bucket.ts';
import { deployment } from '../../support/builders.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';
import { type ManifestChanges, manifestKeyOf, manifestOf, pointerTo } from '../../support/manifests.ts';

const DATE = '2026-11-20';
const withTables = deployment({ entities: { leads: { tables: {} } } });

/** A bucket with published runs and written tables of the date. */
function nightOf(options: Parameters<typeof fakeBucket>[0] = {}) {
  const bucket = fakeBucket(options);
  const tables = new Map<string, ObjectHead>();
  const setTable = (key: string, run: string, etag: string) => tables.set(key, { etag, bytes: 1, metadata: { run } });
  const publish = (entity: Entity, changes: ManifestChanges = {}) => {
    const manifest = manifestOf({ entity, date: DATE, execution: `${entity}-1`, ...changes });
    bucket.put(manifestKeyOf(manifest.execution, entity), manifestText(manifest));
    bucket.put(datePointerKey(entity, DATE), JSON.stringify(pointerTo(manifest)));
  };
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
  test('names run, manifest, rows, bytes and checksum of each file, and is complete with the last of them', async () => {
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

  test('is told once for each revision that is complete, and never before', async () => {
    const night = nightOf();
    night.publish('leads');
    const first = await night.record();
    publishAll(night);
    await night.record();
    await night.record();
    night.publish('leads', { execution: 'leads-2' });
    await night.record();

    const told = (revision: number) => night.bucket.text(completeKey({ date: DATE, revision }));
    expect([first?.complete, told(1)]).toEqual([false, undefined]);
    expect([2, 3].map((revision) => JSON.parse(told(revision) ?? '').entities.leads.file.run)).toEqual([
      'leads-1',
      'leads-2',
    ]);
    expect(told(3)).toBe(night.bucket.text(nightKey(DATE)));
    expect(told(4)).toBeUndefined();
  });

  test('of which nothing is known has no object', async () => {
    const night = nightOf();

    expect(await night.record()).toBeUndefined();
    expect(night.bucket.keys()).toEqual([]);
  });

  test('has no file of a partial run', async () => {
    const night = nightOf();
    publishAll(night);
    night.publish('leads', { kind: 'partial' });

    expect(await night.record()).toMatchObject({ complete: false, entities: { leads: { file: null } } });
  });

  test('keeps the entities that its first run found, whatever is configured later', async () => {
    const night = nightOf();
    night.publish('leads');
    await night.record(deployment({ entities: { workflows: { enabled: false } } }));
    publishAll(night);

    expect(await night.record()).toMatchObject({ complete: true });
    expect(Object.keys(night.standing().entities)).not.toContain('workflows');
  });

  test('keeps the error of a run until its file is there', async () => {
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

  test('is complete with the table of the run that readers have', async () => {
    const night = nightOf();
    publishAll(night);
    night.setTable(KEY, 'leads-0', '"a"');
    expect(await night.record(withTables, { entity: 'leads', error: 'TableNotWritten' })).toMatchObject({
      complete: false,
      entities: { leads: { table: null, error: 'TableNotWritten' } },
    });

    night.setTable(KEY, 'leads-1', '"b"');
    expect(await night.record(withTables)).toMatchObject({
      complete: true,
      entities: { leads: { tableVersion: 1, table: { key: KEY, etag: '"b"' }, error: null } },
    });
  });

  test('takes the table of the version with which it began, and of that of today', async () => {
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

  test('waits for no table that is not configured any more, and for none that was not when it began', async () => {
    const [began, later] = [nightOf(), nightOf()];
    for (const night of [began, later]) publishAll(night);
    await began.record(withTables);
    await later.record();

    expect(await began.record()).toMatchObject({ complete: true });
    expect(await later.record(withTables)).toMatchObject({ revision: 1, complete: true });
  });

  test('that are not configured any more names none of them as lacking', async () => {
    const night = nightOf();
    night.publish('leads');
    await night.record(withTables);
    expect(lackingIn(night.standing())).toContain('leads (table)');

    await night.record();
    expect(lackingIn(night.standing())).toEqual(ENTITIES.filter((entity) => entity !== 'leads'));
  });
});

describe('what a later release wrote', () => {
  test('of a complete night is told under the same revision, and stays', async () => {
    const night = nightOf();
    publishAll(night);
    await night.record();
    const later = JSON.stringify({ ...night.standing(), schemaVersion: 4, more: true });
    night.bucket.put(nightKey(DATE), later);

    expect(await night.record()).toMatchObject({ revision: 1, complete: true });
    expect(night.bucket.text(nightKey(DATE))).toBe(later);
  });

  test.each([true, false])(
    'of an entity that this one does not know stays, and is waited for (file: %s)',
    async (has) => {
      const night = nightOf();
      publishAll(night);
      await night.record();
      const { entities, ...standing } = night.standing();
      const invoices = { ...entities.leads, file: has ? entities.leads?.file : null };
      night.bucket.put(nightKey(DATE), JSON.stringify({ ...standing, entities: { ...entities, invoices } }));
      night.publish('leads', { execution: 'leads-2' });

      expect(await night.record()).toMatchObject({ revision: 2, complete: has, entities: { invoices } });
    },
  );
});

describe('where others write at the same time', () => {
  const conflict = new RunError('StorageUnavailable', 'Conflict.', {
    cause: Object.assign(new Error('conflict'), { $metadata: { httpStatusCode: 409 } }),
  });

  test('a conditional write that S3 answers with 409 begins again', async () => {
    const night = nightOf({ before: failing('putOnce', 'nights/date', conflict, 2) });
    night.publish('leads');

    expect(await night.record()).toMatchObject({ revision: 1 });
    expect(night.bucket.calls.filter((call) => call === `read ${nightKey(DATE)}`)).toHaveLength(3);
  });

  test('so does one of the telling: nobody comes by a date that is long past', async () => {
    const night = nightOf({ before: failing('putOnce', 'nights/complete', conflict) });
    publishAll(night);

    expect(await night.record()).toMatchObject({ revision: 1 });
    expect(night.bucket.text(completeKey({ date: DATE, revision: 1 }))).toBe(night.bucket.text(nightKey(DATE)));
  });

  test('the run that reads pointers again sees what came in between', async () => {
    const night = nightOf({
      before: (operation, key) => {
        if (operation !== 'putOnce' || night.bucket.text(nightKey(DATE)) !== undefined || key !== nightKey(DATE))
          return;
        night.publish('workflows');
        const entities = { leads: { file: null, tableVersion: null, table: null, error: null } };
        const other = { schemaVersion: 2, date: DATE, revision: 7, complete: false, entities };
        night.bucket.put(key, JSON.stringify({ ...other, entities: { ...entities, workflows: entities.leads } }));
      },
    });
    night.publish('leads');

    expect(await night.record()).toMatchObject({ revision: 8, complete: true });
    expect(night.standing().entities.workflows?.file?.run).toBe('workflows-1');
  });

  test('what is no night stops it, and stays', async () => {
    const night = nightOf({ objects: { [nightKey(DATE)]: '{"schemaVersion":2}' } });

    await expect(night.record()).rejects.toMatchObject({ name: 'StorageConflict' });
    expect(night.bucket.text(nightKey(DATE))).toBe('{"schemaVersion":2}');
  });
});
