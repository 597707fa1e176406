import { expect, test } from 'vitest';
import { LAYOUT } from '../../../core/export/layout.ts';
import { asStep } from '../../../core/step/export-run.ts';
import type { Run } from '../../../core/step/states.ts';
import { createExport } from '../../../lambdas/create-export/create-export.ts';
import { deployment, EXPORT_ID, newState } from '../../support/builders.ts';
import { composed, lambdaContext, testDeps, unclaimed } from '../../support/deps.ts';
import { exportRecords } from '../../support/export-records.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { manifestOf } from '../../support/manifests.ts';

const LATEST = 'published/entity=leads/latest.json';
const MANIFEST = 'runs/entity=leads/run=night-0/_manifest.json';
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

const field = (fieldName: string, label: string | null = null) => ({ fieldName, label, type: 'text' });
const FIELDS = [field('id'), field('IdNumber', 'מספר זהות'), field('phone')];
const WITHOUT = FIELDS.filter(({ fieldName }) => fieldName !== 'IdNumber');

/** The manifest of a published run. */
const manifestWith = ({ plan, request, listed, excepted }: Run) =>
  manifestOf({ date: '2026-11-19', execution: 'night-0', plan, request, listed, excepted });

/** A night after the one that published `before`, and its calls. */
async function night(listed: ReturnType<typeof field>[], columns: object, before?: Run, input: object = {}) {
  const crm = fakeCrm(['get /leads/fields', listed], ['post /leads/exports', { id: EXPORT_ID }]);
  const objects: Record<string, string> = before
    ? { [LATEST]: JSON.stringify(POINTER), [MANIFEST]: JSON.stringify(manifestWith(before)) }
    : {};
  const deps = {
    ...testDeps({ deployment: deployment({ entities: { leads: { columns } } }) }),
    crm,
    read: fakeBucket({ objects }).read,
    records: exportRecords(),
    claimSlot: unclaimed,
    softwareVersion: '1.2.3',
  };
  const handler = asStep('CreateExport', createExport, ...composed(deps));
  const { run, outcome, failure } = await handler(newState({ entity: 'leads', ...input }), lambdaContext());
  return { run, outcome, failure, calls: crm.calls.map(({ line }) => line) };
}

/** The run of a night that requested an export. */
async function requested(...given: Parameters<typeof night>): Promise<Run> {
  const { run, outcome } = await night(...given);
  expect(outcome).toBe('CREATED');
  if (!run) throw new Error('no run');
  return run;
}

const except = { except: ['id_number'] };

test('a column that is left out is not requested, however the CRM writes it', async () => {
  const run = await requested(FIELDS, except);

  expect(run.request.columns).toEqual(['id', 'phone']);
  expect(run.excepted).toEqual([{ entry: 'id_number', name: 'IdNumber', label: 'מספר זהות' }]);
  expect(run.remarks).toEqual([]);
});

test('an entry that means several columns leaves out all of them, and the run says so', async () => {
  const run = await requested([...FIELDS, field('ID-number')], except);

  expect(run.request.columns).toEqual(['id', 'phone']);
  expect(run.remarks).toEqual([expect.stringContaining('"id_number" of columns.except means 2 columns')]);
});

test('a typo stops the run before anything is requested', async () => {
  const { failure, outcome, calls } = await night(FIELDS, { except: ['idNumbr'] });

  expect({ outcome, error: failure?.error }).toEqual({ outcome: 'FAILED', error: 'ConfigInvalid' });
  expect(failure?.cause).toContain('"idNumbr" (did you mean "IdNumber"?)');
  expect(calls).toEqual(['get /leads/fields']);
});

test('a column that went away stays left out, night after night, until another comes', async () => {
  const first = await requested(FIELDS, except);

  const second = await requested(WITHOUT, except, first);
  const third = await requested(WITHOUT, except, second);
  const fourth = await night([...WITHOUT, field('nationalId')], except, third);
  const back = await requested(FIELDS, except, third);

  expect(third.excepted).toEqual(first.excepted);
  expect(third.remarks).toEqual([expect.stringMatching(/^The CRM no longer lists .*"id_number"\. No column has come/)]);
  expect(fourth.failure?.error).toBe('ConfigInvalid');
  expect(back).toMatchObject({ excepted: first.excepted, remarks: [] });
});

test('a column stays left out whose label has gone to another one, and the run says so', async () => {
  const byLabel = { except: ['מספר זהות'] };
  const moved = [field('id'), field('IdNumber', 'Number'), field('phone', 'מספר זהות')];
  const first = await requested(FIELDS, byLabel);

  const second = await requested(moved, byLabel, first);
  const third = await requested(moved, byLabel, second);

  expect(second.request.columns).toEqual(['id']);
  expect(third).toMatchObject({ request: { columns: ['id'] }, remarks: second.remarks });
  expect(second.remarks).toEqual([
    expect.stringMatching(/named "IdNumber" in the export of 2026-11-19, and names another column now: both/),
  ]);
});

test('where all columns are left out, nothing is requested: no column may mean every column', async () => {
  const { failure, calls } = await night([field('idNumber')], except);

  expect(failure?.error).toBe('ConfigInvalid');
  expect(failure?.cause).toContain('leaves out all columns');
  expect(calls).toEqual(['get /leads/fields']);
});

test('a run with a filter of its own goes on like the night', async () => {
  const first = await requested(FIELDS, except);

  const run = await requested(WITHOUT, except, first, { filters: [{ field: 'phone' }] });

  expect(run).toMatchObject({ kind: 'partial', excepted: first.excepted });
});

test.each<[string, object, object, string]>([
  ['an input asks for it', except, { columns: ['IdNumber'] }, 'InvalidInput'],
  ['an input filters by it', except, { filters: [{ field: 'מספר זהות' }] }, 'InvalidInput'],
  ['the configuration requests it', { except: ['מספר זהות'], only: ['IdNumber'] }, {}, 'ConfigInvalid'],
])('where %s, nothing is requested', async (_, columns, input, error) => {
  const { failure, calls } = await night(FIELDS, columns, undefined, input);

  expect(failure?.error).toBe(error);
  expect(calls).not.toContain('post /leads/exports');
});

test('a list of columns beside those that are left out is requested as it is', async () => {
  const run = await requested(FIELDS, { only: ['phone', 'id'], except: ['idNumber'] });

  expect(run.request.columns).toEqual(['phone', 'id']);
  expect(run.excepted).toMatchObject([{ name: 'IdNumber' }]);
});
