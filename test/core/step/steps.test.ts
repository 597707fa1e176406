import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { type Answer, asStep } from '../../../core/step/export-run.ts';
import { type RunState, runStateSchema } from '../../../core/step/states.ts';
import type { Invocation } from '../../../core/step/step.ts';
import { STEPS, type StepName, type StepOutcome } from '../../../core/step/steps.ts';
import { checkStatus } from '../../../lambdas/check-status/check-status.ts';
import { createExport } from '../../../lambdas/create-export/create-export.ts';
import { downloadFile } from '../../../lambdas/download-file/download-file.ts';
import { publishFile } from '../../../lambdas/publish-file/publish-file.ts';
import { writeTable } from '../../../lambdas/write-table/write-table.ts';
import { crc32Text } from '../../../transfer/base/crc32.ts';
import { deployment, EXPORT_ID, newState, run, runState, storedFile } from '../../support/builders.ts';
import { composed, lambdaContext, testDeps } from '../../support/deps.ts';
import { createDeps } from '../../support/export-records.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { fakeTransfer, NO_STORE } from '../../support/fake-transfer.ts';
import { manifestKeyOf } from '../../support/manifests.ts';
import { publishedRuns } from '../../support/published-run.ts';
import type { Fault } from '../../support/strict-store/types.ts';

const CSV = Buffer.from('id\n1\n');
const DOWN = new RunError('CrmUnavailable', 'Down.');
const FIELDS: [string, unknown] = ['get /leads/fields', [{ fieldName: 'id' }]];

const create = (...answers: [string, unknown][]) => begin(newState(), ...answers);
const begin = (state: RunState, ...answers: [string, unknown][]) => {
  const night = deployment({ timeZone: 'Asia/Jerusalem', nightly: { at: '03:00' } });
  const deps = { ...createDeps(fakeCrm(...answers), { deployment: night }), claimSlot: async () => 'night-0' };
  return asStep('CreateExport', createExport, ...composed(deps))(state, lambdaContext());
};
const byRule = (scheduledFor: string) => begin(newState({ entity: 'leads', scheduledFor }));
const check = (answer: unknown) =>
  asStep(
    'CheckStatus',
    checkStatus,
    ...composed({ ...testDeps(), crm: fakeCrm(['get /leads/exports/{id}', answer]) }),
  )(runState(), lambdaContext());
const download = (answer: unknown) => {
  const crm = fakeCrm(['post /leads/exports/{id}/download', answer]);
  const deps = { ...testDeps(), crm, store: NO_STORE, transfer: fakeTransfer(CSV), abortUpload: async () => {} };
  return asStep('DownloadFile', downloadFile, ...composed(deps))(runState(), lambdaContext());
};
const withTables = deployment({ entities: { leads: { tables: {} } } });
const publish = (trouble?: Error, overrides: Partial<RunState> = {}, configured = deployment()) => {
  const file = storedFile({ bytes: CSV.length, crc32: crc32Text(crc32(CSV)) });
  const bucket = fakeBucket({
    objects: { [file.key]: CSV },
    // The fault repeats each time the object is opened.
    ...(trouble && { before: failing('stream', '', trouble, Number.POSITIVE_INFINITY) }),
  });
  return asStep(
    'PublishFile',
    publishFile,
    ...composed({ ...testDeps({ deployment: configured }), bucket }),
  )(runState({ file, ...overrides }), lambdaContext());
};

const withFeeds = deployment({ entities: { leads: { tables: {}, changes: { key: 'id' } } } });

const table = async (pointed: string, trouble?: Fault, configured = withTables) => {
  const { publish, point, stored } = await publishedRuns({
    faults: ({ operation }) => (operation === 'HeadObject' ? trouble : undefined),
  });
  await publish(CSV);
  await point(pointed);
  const deps = { ...testDeps({ deployment: configured }), ...stored(), hashKey: async () => '' };
  const state = runState({ manifestKey: manifestKeyOf('night-1') });
  return asStep('WriteTable', writeTable, ...composed(deps))(state, lambdaContext());
};

const FEED = {
  ...{ run: 'night-1', date: '2026-11-20', key: 'changes/feed', sequence: 1, kind: 'snapshot' as const },
  ...{ inserts: 1, deletes: 0, updates: 0 },
};
/** The step's own tests cover its answers. This test covers its wrapper. */
const changes = (answer: Error | Answer<'WriteChanges'>) => {
  const step = async () => {
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return asStep<'WriteChanges', Invocation>(
    'WriteChanges',
    step,
    ...composed(testDeps()),
  )(runState({ manifestKey: manifestKeyOf('night-1') }), lambdaContext());
};

/** How to produce each outcome. A missing outcome does not compile. */
const PRODUCED: { [S in StepName]: Record<StepOutcome<S>, () => Promise<RunState>> } = {
  CreateExport: {
    CREATED: () => create(FIELDS, ['post /leads/exports', { id: EXPORT_ID }]),
    RETRY: () => create(['get /leads/fields', DOWN]),
    NOT_DUE: () => byRule('2026-11-20T00:00:00Z'),
    ALREADY_STARTED: () => byRule('2026-11-20T01:00:00Z'),
    FAILED: () => create(FIELDS, ['post /leads/exports', {}]),
  },
  CheckStatus: {
    READY: () => check({ status: 'PROCESSED' }),
    PENDING: () => check({ status: 'INITIATED' }),
    FAILED: () => check({ status: 'FAILED' }),
  },
  DownloadFile: {
    STORED: () => download({ url: 'https://files.test/x' }),
    NOT_READY: () => download(new RunError('ExportNotReady', 'Not yet.')),
    CONTINUE: () => download(DOWN),
    FAILED: () => download(new RunError('AuthRefused', 'No.')),
  },
  PublishFile: {
    PUBLISHED: () => publish(),
    TABLE_DUE: () => publish(undefined, {}, withTables),
    UNPUBLISHED: () => publish(undefined, { run: run({ differs: ['filters'], kind: 'partial', publish: false }) }),
    CONTINUE: () => publish(new RunError('StorageUnavailable', 'Down.')),
    FAILED: () => publish(new RunError('StorageDenied', 'No.')),
  },
  WriteTable: {
    WRITTEN: () => table('night-1'),
    SUPERSEDED: () => table('later'),
    CHANGES_DUE: () => table('night-1', undefined, withFeeds),
    CONTINUE: () => table('night-1', { status: 503, code: 'SlowDown' }),
    FAILED: () => table('night-1', { status: 403, code: 'AccessDenied' }),
  },
  WriteChanges: {
    CHANGES_WRITTEN: () => changes({ outcome: 'CHANGES_WRITTEN', feed: FEED }),
    UP_TO_DATE: () => changes({ outcome: 'UP_TO_DATE' }),
    CONTINUE: () => changes(new RunError('StorageUnavailable', 'Down.')),
    FAILED: () => changes(new RunError('ChangesNotWritten', 'No.')),
  },
};

const ALL = (Object.keys(STEPS) as StepName[]).flatMap((step) =>
  Object.entries(PRODUCED[step]).map(([outcome, produce]) => ({ step, outcome, produce })),
);

test.each(ALL)(
  '$step returns $outcome with a complete state that any next step can read',
  async ({ outcome, produce }) => {
    const state = await produce();

    expect(state.outcome).toBe(outcome);
    expect(runStateSchema.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
    expect(state.failure === null).toBe(outcome !== 'FAILED');
    expect(JSON.stringify(state).length).toBeLessThan(16 * 1024);
  },
);

test('the table of this test has exactly the declared outcomes of each step', () => {
  for (const step of Object.keys(STEPS) as StepName[])
    expect(Object.keys(PRODUCED[step]).sort()).toEqual([...STEPS[step].outcomes].sort());
});

test.each(ALL.filter(({ outcome }) => ['RETRY', 'PENDING', 'NOT_READY', 'CONTINUE'].includes(outcome)))(
  '$step returns $outcome with a wait of whole seconds, at least one',
  async ({ produce }) => {
    const { waitSeconds } = await produce();

    expect(Number.isInteger(waitSeconds) && waitSeconds >= 1).toBe(true);
  },
);
