import { describe, expect, test } from 'vitest';
import { fieldsOf } from '../../../core/columns/column-changes.ts';
import { RunError } from '../../../core/errors.ts';
import { LAYOUT } from '../../../core/export/layout.ts';
import { asStep } from '../../../core/step/export-run.ts';
import { createExport } from '../../../lambdas/create-export/create-export.ts';
import { deployment, EXPORT_ID, newState } from '../../support/builders.ts';
import { composed, lambdaContext, testDeps, unclaimed } from '../../support/deps.ts';
import { exportRecords } from '../../support/export-records.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { manifestOf } from '../../support/manifests.ts';

const LATEST = 'published/entity=leads/latest.json';
const MANIFEST = 'runs/entity=leads/run=night-0/_manifest.json';
const SINCE = { date: '2026-11-19', execution: 'night-0' };

const POINTER = {
  schemaVersion: LAYOUT,
  entity: 'leads',
  date: '2026-11-19',
  startedAt: '2026-11-19T01:00:00.000Z',
  execution: 'night-0',
  manifestKey: MANIFEST,
  keptUntil: '2027-02-17',
  kind: 'full',
  released: false,
  newNormal: false,
};
const field = (name: string, type: string | null = 'text', label: string | null = null) => ({ name, type, label });
const BEFORE = [field('id', 'uuid', 'מזהה'), field('name', 'text', 'שם'), field('phone')];

/** A bucket with this manifest as the newest export of leads. */
const publishedWith = (manifest: object, options: Parameters<typeof fakeBucket>[0] = {}) =>
  fakeBucket({ objects: { [LATEST]: JSON.stringify(POINTER), [MANIFEST]: JSON.stringify(manifest) }, ...options });
const published = (fields: typeof BEFORE | null = BEFORE, options = {}) =>
  publishedWith(manifestOf({ ...SINCE, plan: 'p', ...(fields && { fields }) }), options);

interface Case {
  bucket?: ReturnType<typeof fakeBucket>;
  plan?: object;
  input?: object;
}

/** The result of CreateExport for the columns that the CRM lists now. */
function compare(listed: ReturnType<typeof field>[], { bucket = published(), plan = {}, input = {} }: Case = {}) {
  const fields = listed.map(({ name, type, label }) => ({ fieldName: name, type, label }));
  const crm = fakeCrm(['get /leads/fields', fields], ['post /leads/exports', { id: EXPORT_ID }]);
  const deps = {
    ...testDeps({ deployment: deployment({ entities: { leads: plan } }) }),
    crm,
    read: bucket.read,
    records: exportRecords(),
    claimSlot: unclaimed,
    softwareVersion: '1.2.3',
  };
  const handler = asStep('CreateExport', createExport, ...composed(deps));
  return { crm, bucket, deps, answer: handler(newState({ entity: 'leads', ...input }), lambdaContext()) };
}

const runOf = async (listed: ReturnType<typeof field>[], given: Case = {}) => {
  const { run, outcome } = await compare(listed, given).answer;
  expect(outcome).toBe('CREATED');
  return run;
};

const NOTHING = { added: [], removed: [], retyped: [], relabelled: [], unnamed: 0 };

describe('the columns that the CRM lists, against those of the last published export', () => {
  test('1: are the same, in whatever order', async () => {
    const run = await runOf(BEFORE.toReversed());

    expect(run).toMatchObject({ drift: { since: SINCE, ...NOTHING }, remarks: [], schemaChanges: 0 });
  });

  test('2: have one more: it is warned of, and requested', async () => {
    const run = await runOf([...BEFORE, field('email')]);

    expect(run).toMatchObject({ drift: { ...NOTHING, added: ['email'] }, schemaChanges: 1 });
    expect(run?.remarks).toEqual(['Columns that the CRM lists newly since the export of 2026-11-19: "email".']);
    expect(run?.request.columns).toContain('email');
  });

  test('3: lack one', async () => {
    const run = await runOf(BEFORE.slice(0, 2));

    expect(run).toMatchObject({ drift: { ...NOTHING, removed: ['phone'] }, schemaChanges: 1 });
    expect(run?.remarks).toEqual(['Columns that the CRM no longer lists since the export of 2026-11-19: "phone".']);
  });

  test('4: have one of another type; a type that was not known, or is not any more, is no change', async () => {
    const run = await runOf([field('id', null, 'מזהה'), field('name', 'html', 'שם'), field('phone')]);

    expect(run?.drift).toMatchObject({ ...NOTHING, retyped: [{ name: 'name', from: 'text', to: 'html' }] });
    expect(run?.remarks).toEqual([
      'Columns with another type than at the export of 2026-11-19: "name" (html, was text).',
    ]);
  });

  test('5: have one with another label, which is kept and warns of nothing', async () => {
    const run = await runOf([field('id', 'uuid', 'מזהה'), field('name', 'text', 'שם מלא'), field('phone')]);

    const relabelled = [{ name: 'name', from: 'שם', to: 'שם מלא' }];
    expect(run).toMatchObject({ drift: { ...NOTHING, relabelled }, remarks: [], schemaChanges: 0 });
  });

  test('6: a renamed one is one that went and one that came', async () => {
    const run = await runOf([...BEFORE.slice(0, 2), field('mobile')]);

    expect(run).toMatchObject({ drift: { added: ['mobile'], removed: ['phone'] }, schemaChanges: 2 });
  });

  test('7: what the configuration accepts is kept without a warning', async () => {
    const plan = { drift: { added: 'accept', removed: 'accept' } };

    const run = await runOf([...BEFORE.slice(0, 2), field('mobile')], { plan });

    expect(run).toMatchObject({ drift: { added: ['mobile'], removed: ['phone'] }, remarks: [], schemaChanges: 0 });
  });

  test.each([
    ['added', [...BEFORE, field('email')], '"email"'],
    ['removed', BEFORE.slice(0, 2), '"phone"'],
    ['retyped', [BEFORE[0], field('name', 'html', 'שם'), BEFORE[2]], '"name" (html, was text)'],
  ])(
    '8: where it stops at one that is %s, nothing is requested, and the cause names it',
    async (kind, listed, named) => {
      const { crm, answer } = compare(listed as typeof BEFORE, { plan: { drift: { [kind]: 'stop' } } });

      const { outcome, failure } = await answer;

      expect({ outcome, error: failure?.error }).toEqual({ outcome: 'FAILED', error: 'SchemaChanged' });
      expect(failure?.cause).toContain(`${named}. (drift.${kind})`);
      expect(failure?.cause).toContain('npx --no -- crm-export start leads --accept-schema');
      expect(crm.calls.map(({ line }) => line)).toEqual(['get /leads/fields']);
    },
  );

  test('9: once accepted it is exported, with the warning, and a missing required column is refused all the same', async () => {
    const plan = { drift: { removed: 'stop' }, columns: { required: ['phone'] } };
    const input = { acceptSchema: true };

    const run = await runOf(BEFORE.slice(0, 2), { plan: { drift: { removed: 'stop' } }, input });

    expect(run).toMatchObject({ drift: { removed: ['phone'] }, schemaChanges: 1, kind: 'full', publish: true });
    const refused = await compare(BEFORE.slice(0, 2), { plan, input }).answer;
    expect(refused.failure).toMatchObject({
      error: 'SchemaChanged',
      cause: expect.stringContaining('must have "phone"'),
    });
  });

  test('10: an excepted column that comes, or is left out from today on, is in no difference', async () => {
    const plan = { columns: { except: ['nationalId', 'PHONE'] }, drift: { added: 'stop', removed: 'stop' } };

    const run = await runOf([...BEFORE, field('nationalId', 'text', 'תעודת זהות')], { plan });

    expect(run?.drift).toEqual({ since: SINCE, ...NOTHING });
    expect(run?.excepted).toEqual([
      { entry: 'nationalId', name: 'nationalId', label: 'תעודת זהות' },
      { entry: 'PHONE', name: 'phone', label: null },
    ]);
    expect(run?.request.columns).toEqual(['id', 'name']);
  });

  test('10b: a column that is no longer left out is not new to the CRM', async () => {
    const excepted = [{ entry: 'nationalId', name: 'nationalId', label: 'תעודת זהות' }];
    const bucket = publishedWith(manifestOf({ ...SINCE, fields: BEFORE, plan: 'p', excepted }));

    const run = await runOf([...BEFORE, field('nationalId', 'text', 'תעודת זהות')], { bucket });

    expect(run).toMatchObject({ drift: { since: SINCE, ...NOTHING }, remarks: [], schemaChanges: 0 });
    expect(run?.request.columns).toContain('nationalId');
  });

  test('11: 3,000 changes are counted, as many are named as the state carries', async () => {
    const many = Array.from({ length: 3000 }, (_, place) => field(`column${place}`));

    const run = await runOf([...BEFORE, ...many]);

    expect(run?.schemaChanges).toBe(3000);
    expect(run?.drift?.added.length).toBeGreaterThan(100);
    expect((run?.drift?.added.length ?? 0) + (run?.drift?.unnamed ?? 0)).toBe(3000);
    expect(run?.remarks[0]).toMatch(/"column9" and 2990 more\.$/);
    expect(Buffer.byteLength(JSON.stringify(run))).toBeLessThan(96_000);
  });

  test('12: a name that is not plain is counted and not repeated; one that nobody requests is not compared', async () => {
    const secret = 'sk-4eC39HqLyjWDarjtT1zdp7dc';
    const listed = [...BEFORE, field(secret)];

    const all = await runOf(listed);
    const some = await runOf(listed, { plan: { columns: ['id'] } });

    expect(all).toMatchObject({ drift: { ...NOTHING, unnamed: 1 }, schemaChanges: 1 });
    expect(JSON.stringify([all?.drift, all?.remarks])).not.toContain(secret);
    expect(some).toMatchObject({ drift: NOTHING, schemaChanges: 0 });
  });
});

describe('where there is nothing to compare with, the night goes on', () => {
  test('nothing is published yet: without a warning', async () => {
    const run = await runOf(BEFORE, { bucket: fakeBucket() });

    expect(run).toMatchObject({ drift: null, remarks: [], schemaChanges: 0 });
  });

  const early = JSON.stringify({ ...POINTER, schemaVersion: 1 });

  const denied = new RunError('StorageDenied', 'It answered 403.');
  test.each([
    ['latest.json is no pointer', fakeBucket({ objects: { [LATEST]: '{"a":1}' } })],
    ['it is of an earlier release', fakeBucket({ objects: { [LATEST]: early } })],
    ['its manifest is gone', fakeBucket({ objects: { [LATEST]: JSON.stringify(POINTER) } })],
    [
      'its manifest may not be read, as S3 answers where it is gone',
      published(BEFORE, { before: failing('read', '_manifest', denied) }),
    ],
    ['its manifest is broken', publishedWith({ schemaVersion: LAYOUT })],
    ['they were too many to be kept', published(null)],
  ])('%s: a warning says so, whatever the configuration stops at', async (_, bucket) => {
    const run = await runOf(BEFORE, { bucket, plan: { drift: { added: 'stop', removed: 'stop', retyped: 'stop' } } });

    expect(run).toMatchObject({ drift: null, schemaChanges: 0 });
    expect(run?.remarks).toEqual([expect.stringContaining('The columns are not compared')]);
  });

  test('but a bucket that does not answer is waited out, before anything is requested', async () => {
    const down = new RunError('StorageUnavailable', 'It answered 503.');
    const { crm, answer } = compare(BEFORE, { bucket: published(BEFORE, { before: failing('read', LATEST, down) }) });

    expect(await answer).toMatchObject({
      outcome: 'RETRY',
      unansweredCreates: 0,
      trouble: { error: 'StorageUnavailable' },
    });
    expect(crm.calls).toHaveLength(1);
  });
});

test('labels and types that another program wrote into a manifest are not repeated', async () => {
  const secret = 'sk-4eC39HqLyjWDarjtT1zdp7dc';

  const run = await runOf(BEFORE, { bucket: published([field('id', secret, secret), ...BEFORE.slice(1)]) });

  expect(run?.drift).toEqual({ since: SINCE, ...NOTHING });
});

test('a type that was not known for a night is carried on, and compared with the next one that is', async () => {
  const [id, , phone] = BEFORE;
  const night = (type: string | null, before: typeof BEFORE | null = null) =>
    runOf([id, field('name', type, 'שם'), phone] as typeof BEFORE, { bucket: published(before) });

  const blind = await night(null, BEFORE);
  const fields = blind && fieldsOf(blind);
  const seeing = await night('html', fields ?? null);

  expect(blind).toMatchObject({ schemaChanges: 0, drift: NOTHING });
  expect(fields).toContainEqual(field('name', 'text', 'שם'));
  expect(seeing?.drift?.retyped).toEqual([{ name: 'name', from: 'text', to: 'html' }]);
});
