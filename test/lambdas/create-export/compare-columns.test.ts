import { describe, expect, test } from 'vitest';
import { fieldsOf } from '../../../core/columns/column-changes.ts';
import { RunError } from '../../../core/errors.ts';
import { LAYOUT } from '../../../core/export/layout.ts';
import { asStep } from '../../../core/step/export-run.ts';
import { createExport } from '../../../lambdas/create-export/create-export.ts';
import { deployment, EXPORT_ID, newState } from '../../support/builders.ts';
import { composed, lambdaContext } from '../../support/deps.ts';
import { createDeps } from '../../support/export-records.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { manifestKeyOf, manifestOf, pointerTo } from '../../support/manifests.ts';
import { expectTexts } from '../../support/screen.ts';

const LATEST = 'published/entity=leads/latest.json';
const SINCE = { date: '2026-11-19', execution: 'night-0' };
const MANIFEST = manifestKeyOf(SINCE.execution);
const POINTER = pointerTo(manifestOf(SINCE));
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
    ...createDeps(crm, { deployment: deployment({ entities: { leads: plan } }) }),
    read: bucket.read,
  };
  const handler = asStep('CreateExport', createExport, ...composed(deps));
  return { crm, bucket, deps, answer: handler(newState({ entity: 'leads', ...input }), lambdaContext()) };
}

const runOf = async (listed: ReturnType<typeof field>[], given: Case = {}) => {
  const { run, outcome } = await compare(listed, given).answer;
  expect(outcome).toBe('CREATED');
  return run;
};

const NOTHING = { added: [], removed: [], retyped: [], unnamed: 0 };

test('ends in SchemaChanged and requests no export if the configuration stops at the change', async () => {
  const { crm, answer } = compare([...BEFORE, field('email')], { plan: { drift: { added: 'stop' } } });

  expect(await answer).toMatchObject({ outcome: 'FAILED', failure: { error: 'SchemaChanged' } });
  expect(crm.calls.map(({ line }) => line)).toEqual(['get /leads/fields']);
});

describe('if there is nothing to compare with', () => {
  test('continues without a warning if nothing is published yet', async () => {
    const run = await runOf(BEFORE, { bucket: fakeBucket() });

    expect(run).toMatchObject({ drift: null, remarks: [], schemaChanges: 0 });
  });

  const early = JSON.stringify({ ...POINTER, schemaVersion: 1 });

  const denied = new RunError('StorageDenied', 'It answered 403.');
  const UNKNOWN: [what: string, bucket: ReturnType<typeof fakeBucket>][] = [
    ['latest.json is not a pointer', fakeBucket({ objects: { [LATEST]: '{"a":1}' } })],
    ['latest.json is of an earlier release', fakeBucket({ objects: { [LATEST]: early } })],
    ['its manifest is gone', fakeBucket({ objects: { [LATEST]: JSON.stringify(POINTER) } })],
    [
      'its manifest is denied, as S3 answers for a missing object',
      published(BEFORE, { before: failing('read', '_manifest', denied) }),
    ],
    ['its manifest is broken', publishedWith({ schemaVersion: LAYOUT })],
    ['its manifest has too many columns to list', published(null)],
  ];

  test('continues with a warning if that is unknown, even if the configuration stops at changes', async () => {
    const warnings: [string, string][] = [];
    for (const [what, bucket] of UNKNOWN) {
      const run = await runOf(BEFORE, { bucket, plan: { drift: { added: 'stop', removed: 'stop', retyped: 'stop' } } });

      expect([what, run]).toMatchObject([what, { drift: null, schemaChanges: 0 }]);
      warnings.push([what, run?.remarks.join('\n') ?? '']);
    }
    await expectTexts('columns-not-compared', warnings);
  });

  test('waits for a bucket that does not answer, before it requests an export', async () => {
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

test('does not repeat labels and types that another program wrote into a manifest', async () => {
  const secret = 'sk-4eC39HqLyjWDarjtT1zdp7dc';

  const run = await runOf(BEFORE, { bucket: published([field('id', secret, secret), ...BEFORE.slice(1)]) });

  expect(run?.drift).toEqual({ since: SINCE, ...NOTHING });
});

test('keeps the last known type of a column, and compares the next known one with it', async () => {
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
